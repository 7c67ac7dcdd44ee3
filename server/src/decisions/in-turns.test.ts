import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { tenantTurns } from './in-turns.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

const items = (count: number) => Array.from({ length: count }, (_, n) => n)
const unlimited = 1e9

/** What was judged, in its order; judging one takes so many milliseconds of the processor. */
const judging = () => {
  const done: string[] = []
  const inTurns = tenantTurns()
  const ask = (tenant: string, count: number, each_ms: number, { name = tenant, limit_ms = unlimited } = {}) =>
    inTurns(
      items(count),
      limit_ms,
      () => tenant,
      (item) => {
        spent(each_ms)
        done.push(name)
        return item * 2
      },
    )
  return { done, ask }
}
let ahead = 0
const spent = (ms: number) => {
  ahead += ms
}
beforeEach(() => {
  ahead = 0
  const faked = performance.now.bind(performance)
  vi.spyOn(performance, 'now').mockImplementation(() => faked() + ahead)
})
afterEach(() => void vi.restoreAllMocks())
/** Lets so much time pass for timers. */
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

test('M5 questions: what is cheap → judged at once, in its order, without a turn', async () => {
  const { ask } = judging()
  const made = ask('a', 20, 0.01)
  expect(await made).toEqual(items(20).map((item) => item * 2))
  expect(vi.getTimerCount()).toBe(0)
  expect(await ask('a', 0, 1)).toEqual([])
  expect(await ask('b', 1, 5000)).toEqual([0])
})

test('M5 HO-10 questions: one tenant has many dear requests in flight → another is judged at once', async () => {
  const { ask, done } = judging()
  const noisy = items(8).map(() => ask('noisy', 50, 2))
  await pass(20)
  const before = done.length
  expect(await ask('quiet', 5, 0.1)).toHaveLength(5)
  expect(done.slice(before)).toEqual(Array(5).fill('quiet'))
  await pass(5000)
  expect((await Promise.all(noisy)).flat()).toHaveLength(400)
})

/** How many requests of the others are judged between two of this one, once all of them queue. */
const shareOf = async (tenantOf: (request: number) => string) => {
  const { ask, done } = judging()
  const noisy = items(4).map((request) => ask(tenantOf(request), 60, 2, { name: 'noisy' }))
  const steady = ask('steady', 20, 2)
  await pass(5000)
  await Promise.all([...noisy, steady])
  const queued = done.slice(done.indexOf('steady') + 1, done.lastIndexOf('steady'))
  return queued.filter((name) => name === 'noisy').length / queued.filter((name) => name === 'steady').length
}

test('M5 questions: a tenant with four batches beside a tenant with one → a turn each; control: turns by request give the one a fifth', async () => {
  expect(await shareOf(() => 'noisy')).toBeLessThan(1.5)
  expect(await shareOf((request) => `request ${request}`)).toBeGreaterThan(3)
})

test('M5 questions: between two turns of a tenant that queues → everybody else is heard', async () => {
  const { ask, done } = judging()
  const noisy = ask('noisy', 10, 2)
  await Promise.resolve()
  const first = done.length
  // No turn is taken before a timer has gone off, whatever else is ready.
  await new Promise((resolve) => setImmediate(resolve))
  expect(done).toHaveLength(first)
  await pass(1)
  expect(done).toHaveLength(first + 1)
  await pass(100)
  await noisy
})

test('DE-19 questions: the turns of a tenant take longer than the limit → its request is refused, and nothing of it is told', async () => {
  const { ask } = judging()
  const within = ask('a', 100, 5, { limit_ms: 1000 })
  await pass(3000)
  await expect(within).resolves.toHaveLength(100)
  const beyond = ask('b', 100, 12, { limit_ms: 1000 }).catch((error: unknown) => error)
  await pass(3000)
  expect(await beyond).toMatchObject({ code: 'dependency_unavailable' })
})
