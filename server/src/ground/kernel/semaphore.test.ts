import { expect, test } from 'vitest'
import { semaphore } from './semaphore.ts'

const turn = () => new Promise((resolve) => setImmediate(resolve))

test('TI-23 so many at a time, in the order in which they came, also past one that fails', async () => {
  const inTurn = semaphore(2)
  const begun: number[] = []
  const ends: PromiseWithResolvers<void>[] = []
  const all = Array.from({ length: 5 }, (_, n) =>
    inTurn(() => {
      begun.push(n)
      ends[n] = Promise.withResolvers<void>()
      return ends[n].promise
    }),
  )
  const settled = Promise.allSettled(all)
  await turn()
  expect(begun).toEqual([0, 1])
  ends[1]!.reject(new Error('no'))
  await turn()
  expect(begun).toEqual([0, 1, 2])
  ends[0]!.resolve()
  ends[2]!.resolve()
  await turn()
  expect(begun).toEqual([0, 1, 2, 3, 4])
  ends[3]!.resolve()
  ends[4]!.resolve()
  expect((await settled).map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled'])
  expect(await inTurn(async () => 'again')).toBe('again')
})
