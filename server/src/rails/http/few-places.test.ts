import { expect, test } from 'vitest'
import { fewPlaces } from './few-places.ts'

test('HO-11 places: one is given back while somebody stands in the line → who has just come leaves it to them', async () => {
  const places = fewPlaces(1)
  const [first, second] = [places.line(), places.line()]
  expect(first.take()).toBe(true)
  expect(second.take()).toBe(false)
  const woken = second.untilOneIsFree()
  places.giveBack()
  const third = places.line()
  expect(third.take()).toBe(false)
  await woken
  expect(second.take()).toBe(true)
  // Now nobody is before the third.
  places.giveBack()
  await third.untilOneIsFree()
  expect(third.take()).toBe(true)
})

test('HO-11 places: who stands in the line cannot come for it → the next one has it', async () => {
  const places = fewPlaces(1)
  const [first, stuck] = [places.line(), places.line()]
  expect(first.take()).toBe(true)
  expect(stuck.take()).toBe(false)
  const next = places.line()
  expect(next.take()).toBe(false)
  const woken = next.untilOneIsFree()
  places.giveBack()
  await woken
  expect(next.take()).toBe(true)
  next.leave()
  stuck.leave()
  places.giveBack()
  expect(places.line().take()).toBe(true)
})
