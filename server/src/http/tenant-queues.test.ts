import { expect, test } from 'vitest'
import { tenantQueues } from './tenant-queues.ts'

const held = () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { promise, release: resolve }
}

test('M5 HO-11 queues: one tenant has many under way → four at a time, in their order, and another is not kept waiting', async () => {
  const within = tenantQueues(60_000)
  const began: number[] = []
  const locks = Array.from({ length: 10 }, held)
  const all = locks.map(({ promise }, n) =>
    within('noisy', () => {
      began.push(n)
      return promise
    }),
  )
  expect(await within('quiet', async () => 'answered')).toBe('answered')
  expect(began).toEqual([0, 1, 2, 3])
  locks[2]!.release()
  await all[2]
  await expect.poll(() => began).toEqual([0, 1, 2, 3, 4])
  for (const { release } of locks) release()
  await Promise.all(all)
  expect(began).toEqual(locks.map((_, n) => n))
  expect(await within('noisy', async () => 'answered')).toBe('answered')
})

test('M5 queues: it fails, or waits too long → its place is given on', async () => {
  const within = tenantQueues(20)
  const { promise, release } = held()
  const all = Array.from({ length: 4 }, () => within('noisy', () => promise))
  await expect(within('noisy', async () => 'late')).rejects.toMatchObject({ code: 'dependency_unavailable' })
  release()
  await Promise.all(all)
  for (let n = 0; n < 6; n += 1)
    await expect(
      within('noisy', async () => {
        throw new Error('failed')
      }),
    ).rejects.toThrow('failed')
  expect(await within('noisy', async () => 'answered')).toBe('answered')
})
