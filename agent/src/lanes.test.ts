import { expect, test } from 'vitest'
import { openLanes } from './lanes.ts'

const gate = () => Promise.withResolvers<void>()
const turn = () => new Promise((resolve) => setImmediate(resolve))
const now = () => new Date('2026-11-18T12:00:00.000Z')

test('SG-10 SG-25 one after the other in a lane, and no lane waits for another, however many hang', async () => {
  const lanes = openLanes(now)
  const gates = [gate(), gate()]
  const begun: string[] = []
  const add = (lane: string, at: number) =>
    lanes.add(lane, 'step', () => {
      begun.push(`${lane}${at}`)
      return gates[at]!.promise
    })
  for (let each = 0; each < 100; each += 1) lanes.add(`hangs-${each}`, 'hang', () => new Promise(() => {}))
  add('a', 0)
  add('a', 1)
  expect(begun).toEqual(['a0'])
  expect(lanes.isWaitedFor('a')).toBe(true)
  gates[0]!.resolve()
  await turn()
  expect(begun).toEqual(['a0', 'a1'])
  gates[1]!.resolve()
  await turn()
  expect([lanes.isBusy('a'), lanes.isBusy('hangs-7')]).toEqual([false, true])
})

test('SG-25 what is under way for long is told, and no more when it is done', async () => {
  const lanes = openLanes(now)
  const { promise, resolve } = gate()
  lanes.add('a', 'install', () => promise)
  expect(lanes.lasting(60_000)).toEqual([])
  expect(lanes.lasting(0)).toEqual([{ lane: 'a', step: 'install', since: '2026-11-18T12:00:00.000Z' }])
  resolve()
  await turn()
  expect(lanes.lasting(0)).toEqual([])
})

test('closed, it begins nothing new and waits for what is under way', async () => {
  const lanes = openLanes(now)
  const { promise, resolve } = gate()
  const begun: string[] = []
  lanes.add('a', 'step', () => promise)
  lanes.add('a', 'step', async () => void begun.push('a'))
  let is_closed = false
  const closed = lanes.close().then(() => {
    is_closed = true
  })
  lanes.add('c', 'step', async () => void begun.push('c'))
  await turn()
  expect(is_closed).toBe(false)
  resolve()
  await closed
  expect(begun).toEqual([])
})
