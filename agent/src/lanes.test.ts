import { expect, test } from 'vitest'
import { openLanes } from './lanes.ts'

const gate = () => Promise.withResolvers<void>()
const turn = () => new Promise((resolve) => setImmediate(resolve))

test('SG-10 one after the other in a lane, lanes beside each other, and no more at once than there are places', async () => {
  const lanes = openLanes(2)
  const gates = [gate(), gate(), gate(), gate()]
  const begun: string[] = []
  const add = (lane: string, at: number) =>
    lanes.add(lane, () => {
      begun.push(`${lane}${at}`)
      return gates[at]!.promise
    })
  add('a', 0)
  add('a', 1)
  add('b', 2)
  add('c', 3)
  expect(begun).toEqual(['a0', 'b2'])
  gates[2]!.resolve()
  await turn()
  expect(begun).toEqual(['a0', 'b2', 'c3'])
  gates[0]!.resolve()
  await turn()
  expect(begun).toEqual(['a0', 'b2', 'c3', 'a1'])
  expect([lanes.isBusy('a'), lanes.isBusy('b')]).toEqual([true, false])
})

test('closed, it begins nothing new and waits for what is under way', async () => {
  const lanes = openLanes(1)
  const { promise, resolve } = gate()
  const begun: string[] = []
  lanes.add('a', () => promise)
  lanes.add('b', async () => void begun.push('b'))
  let is_closed = false
  const closed = lanes.close().then(() => {
    is_closed = true
  })
  lanes.add('c', async () => void begun.push('c'))
  await turn()
  expect(is_closed).toBe(false)
  resolve()
  await closed
  expect(begun).toEqual([])
})
