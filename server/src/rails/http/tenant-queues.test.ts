import { expect, test } from 'vitest'
import { tenantQueues } from './tenant-queues.ts'

const held = () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { promise, release: resolve }
}

test('M5 HO-11 queues: one tenant has many under way → three at a time, in their order, and another is not kept waiting', async () => {
  const within = tenantQueues({ lent: 2, wait_ms: 60_000 })
  const began: number[] = []
  const locks = Array.from({ length: 10 }, held)
  const all = locks.map(({ promise }, n) =>
    within('noisy', () => {
      began.push(n)
      return promise
    }),
  )
  expect(await within('quiet', async () => 'answered')).toBe('answered')
  expect(began).toEqual([0, 1, 2])
  locks[2]!.release()
  await all[2]
  await expect.poll(() => began).toEqual([0, 1, 2, 3])
  for (const { release } of locks) release()
  await Promise.all(all)
  expect(began).toEqual(locks.map((_, n) => n))
  expect(await within('noisy', async () => 'answered')).toBe('answered')
})

test('M5 queues: it fails, or waits too long → its place is given on', async () => {
  const within = tenantQueues({ lent: 2, wait_ms: 20 })
  const { promise, release } = held()
  const all = Array.from({ length: 3 }, () => within('noisy', () => promise))
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

test('M5 HO-11 queues: six tenants with ten each under way → one each, two more are lent, and these go from tenant to tenant', async () => {
  const within = tenantQueues({ lent: 2, wait_ms: 60_000 })
  const began: string[] = []
  const locks: { tenant: string; release: () => void; done: Promise<unknown> }[] = []
  for (let tenant = 0; tenant < 6; tenant += 1)
    for (let n = 0; n < 10; n += 1) {
      const { promise, release } = held()
      const name = `t${tenant}`
      const done = within(name, () => {
        began.push(name)
        locks.push({ tenant: name, release, done })
        return promise
      })
    }
  await Promise.resolve()
  expect(began).toHaveLength(8)
  expect(new Set(began).size).toBe(6)
  // What the first tenant gives back goes to another.
  const lent = locks.filter(({ tenant }) => tenant === 't0')
  lent[0]!.release()
  lent[1]!.release()
  await expect.poll(() => began.length).toBe(10)
  expect(began.slice(8)).not.toEqual(['t0', 't0'])
  for (let done = 0; done < 60; done += 1) {
    await expect.poll(() => locks.length).toBeGreaterThan(done)
    locks[done]!.release()
    await Promise.resolve()
  }
  await expect.poll(() => began.length).toBe(60)
})

test('M5 queues: a tenant is past its share → it borrows no connection, and what it gives back is its own', async () => {
  const within = tenantQueues({ lent: 2, wait_ms: 60_000, mayBorrow: (tenant) => tenant !== 'noisy' })
  const began: number[] = []
  const locks = Array.from({ length: 3 }, held)
  const all = locks.map(({ promise }, n) =>
    within('noisy', () => {
      began.push(n)
      return promise
    }),
  )
  const other = Array.from({ length: 3 }, () => within('quiet', async () => 'answered'))
  expect(await Promise.all(other)).toHaveLength(3)
  // What was handed on to it would have begun by then.
  await new Promise((resolve) => setImmediate(resolve))
  expect(began).toEqual([0])
  for (const { release } of locks) release()
  await Promise.all(all)
  expect(began).toEqual([0, 1, 2])
})

test('M5 queues: more connections are lent, because the pool has more → so many more of a tenant are under way', async () => {
  const within = tenantQueues({ lent: 4, wait_ms: 60_000 })
  const { promise, release } = held()
  let began = 0
  const all = Array.from({ length: 10 }, () =>
    within('noisy', () => {
      began += 1
      return promise
    }),
  )
  await Promise.resolve()
  expect(began).toBe(5)
  release()
  await Promise.all(all)
})
