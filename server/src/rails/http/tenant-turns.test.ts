import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { tenantTurns } from './tenant-turns.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['performance', 'setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate'] }))
afterEach(() => void vi.useRealTimers())

const items = (count: number) => Array.from({ length: count }, (_, n) => n)
const unlimited = 1e9

/** What was judged, in its order; judging one takes so many milliseconds of the processor. */
const judging = () => {
  const done: string[] = []
  const turns = tenantTurns()
  const ask = (tenant: string, count: number, each_ms: number, { name = tenant, limit_ms = unlimited } = {}) =>
    turns.each(
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
  expect(vi.getTimerCount()).toBe(0)
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

test('M5 questions: a tenant within its share asks for much → others are heard between two slices', async () => {
  const { ask, done } = judging()
  const busy = ask('busy', 4, 2)
  await Promise.resolve()
  expect(done).toHaveLength(1)
  await pass(0)
  expect(done).toHaveLength(2)
  await pass(10)
  expect(await busy).toHaveLength(4)
})

test('M5 questions: between two turns of a tenant that queues → everybody else is heard', async () => {
  const { ask, done } = judging()
  const noisy = ask('noisy', 30, 2)
  await pass(0.5)
  const first = done.length
  // No turn is taken before a timer has gone off, whatever else is ready.
  await pass(0.25)
  expect(done).toHaveLength(first)
  await pass(100)
  expect(await noisy).toHaveLength(30)
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

test('M5 requests: a tenant has used up its share → its next ones wait for a turn, whatever they are; another tenant begins at once', async () => {
  const turns = tenantTurns()
  const begun: string[] = []
  const begin = (tenant: string) => turns.enter(tenant, unlimited).then(() => void begun.push(tenant))
  await begin('noisy')
  turns.charge('noisy', 500)
  const noisy = items(10).map(() => begin('noisy'))
  await begin('quiet')
  expect(begun).toEqual(['noisy', 'quiet'])
  // What it has taken is rested for twice over, while others ask.
  await pass(900)
  expect(begun).toEqual(['noisy', 'quiet'])
  await pass(5000)
  await Promise.all(noisy)
  expect(begun).toHaveLength(12)
})

test('M5 requests: its turn does not come in time → refused, and those behind it go on', async () => {
  const turns = tenantTurns(() => new Promise(() => {}))
  turns.charge('noisy', 500)
  const refused = turns.enter('noisy', 1000).catch((error: unknown) => error)
  await pass(1001)
  expect(await refused).toMatchObject({ code: 'dependency_unavailable' })
})

test('M5 rows: a tenant that has used up its share reads many → a slice in each turn, in their order', async () => {
  const turns = tenantTurns()
  let read = 0
  turns.charge('noisy', 500)
  await turns.enter('quiet', unlimited)
  const payer = turns.payer('noisy', unlimited)
  const rows = payer.each(items(160), (item) => {
    spent(0.1)
    read += 1
    return item
  })
  await pass(0)
  const first = read
  expect(first).toBeLessThan(33)
  await pass(10_000)
  expect(await rows).toEqual(items(160))
  payer.chargeStatement(5)
  expect(await payer.each([], () => 1)).toEqual([])
})

test('M5 shares: as many tenants ask as can be served → none of them queues', async () => {
  const turns = tenantTurns()
  const tenants = items(6).map((n) => `t${n}`)
  for (let round = 0; round < 50; round += 1) {
    for (const tenant of tenants) {
      let begun = false
      void turns.enter(tenant, unlimited).then(() => {
        begun = true
      })
      await Promise.resolve()
      await Promise.resolve()
      expect(begun).toBe(true)
      turns.charge(tenant, 0.6)
    }
    await pass(10)
  }
})
