import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Problem } from '#ground/kernel/problem.ts'
import { type Job, type Lane, lanePlaces, type Outcome, tenantLanes, type Way } from './lanes.ts'

const heldUp = () => new Problem('dependency_unavailable', undefined, Object.assign(new Error('lock'), { code: '55P03' }))

// Nobody's time is over unless a test lets it pass.
beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())
const places = () => lanePlaces({ connections: 10 })
const soon = () => performance.now() + 5000
const codeOf = (asking: Promise<unknown>) => asking.then(() => null).catch((error: Problem) => error.code)

/** A way that is held up so many times before it succeeds. */
const way = (times: number, waits: number[] = []): Way<Job> => {
  let left = times
  return {
    attempt: async (jobs, lock_wait_ms, outcomes) => {
      waits.push(lock_wait_ms)
      await new Promise((resolve) => setImmediate(resolve))
      if (left > 0) {
        left -= 1
        throw heldUp()
      }
      for (const job of jobs) outcomes.set(job, { is_committed: true })
    },
    most_jobs: 10,
    most_runs: 1,
  }
}

test('TI-23 what is held up is tried again, with more patience, until it succeeds; then the tenant is with the others again', async () => {
  const { within, alone } = tenantLanes(places())
  const waits: number[] = []
  let lane: Lane | undefined
  const outcome = await within('a', (its) => {
    lane = its
    return alone(way(2, waits), { lane: its, until: soon() })
  })
  expect(outcome).toEqual({ is_committed: true })
  expect(waits).toEqual([150, 400, 400])
  expect(lane!.state).toBe('together')
})

test('TI-23 whose time is over is told so, and his tenant stays apart', async () => {
  const { within, alone } = tenantLanes(places())
  let lane: Lane | undefined
  const asking = within('a', async (its) => {
    lane = its
    const endless = way(Number.POSITIVE_INFINITY)
    const attempt: typeof endless.attempt = (...asked) => {
      vi.advanceTimersByTime(40)
      return endless.attempt(...asked)
    }
    const outcome: Outcome = await alone({ ...endless, attempt }, { lane: its, until: performance.now() + 100 })
    if ('error' in outcome) throw outcome.error
  })
  expect(await codeOf(asking)).toBe('dependency_unavailable')
  expect(lane!.state).toBe('held_up')
  await within('a', async (its) => expect(its).toBe(lane))
})

test('TI-23 another error is not tried again', async () => {
  const { within, alone } = tenantLanes(places())
  const waits: number[] = []
  const broken: Way<Job> = { ...way(0, waits), attempt: () => Promise.reject(new Problem('internal_error')) }
  expect(await codeOf(within('a', (lane) => alone(broken, { lane, until: soon() })))).toBe('internal_error')
})

test('TI-23 a tenant has so many jobs and no more; others are not asked about it', async () => {
  const { within } = tenantLanes(places(), { most_jobs: 2 })
  const end = Promise.withResolvers<void>()
  const two = [within('a', () => end.promise), within('a', () => end.promise)]
  expect(await codeOf(within('a', async () => {}))).toBe('dependency_unavailable')
  expect(await codeOf(within('b', async () => {}))).toBe(null)
  end.resolve()
  await Promise.all(two)
  expect(await codeOf(within('a', async () => {}))).toBe(null)
})

test('TI-23 many tenants that are held up do not keep one from its turn that is not known to be', async () => {
  const { within, alone } = tenantLanes(places())
  const never: Way<Job> = {
    attempt: async () => {
      await new Promise((resolve) => setImmediate(resolve))
      throw heldUp()
    },
    most_jobs: 10,
    most_runs: 1,
  }
  const until = performance.now() + 500
  let others = 0
  const stuck = Array.from({ length: 20 }, (_, n) =>
    within(`stuck ${n}`, (lane) => {
      lane.state = 'held_up'
      return alone(never, { lane, until })
    }).catch(() => {
      others += 1
    }),
  )
  const outcome = await within('a', (lane) => {
    lane.state = 'apart'
    return alone(way(0), { lane, until: soon() })
  })
  expect(outcome).toEqual({ is_committed: true })
  expect(others).toBe(0)
  vi.advanceTimersByTime(501)
  await Promise.all(stuck)
})

test('HO-11 TI-23 many tenants write by themselves and nobody knows yet who is held up → four connections at a time', async () => {
  const { within, alone } = tenantLanes(places())
  let [under_way, most] = [0, 0]
  const counting: Way<Job> = {
    attempt: async (jobs, _lock_wait_ms, outcomes) => {
      under_way += 1
      most = Math.max(most, under_way)
      await new Promise((resolve) => setImmediate(resolve))
      under_way -= 1
      for (const job of jobs) outcomes.set(job, { is_committed: true })
    },
    most_jobs: 1,
    most_runs: 3,
  }
  const tenants = Array.from({ length: 12 }, (_, n) => `t${n}`)
  await Promise.all(tenants.map((tenant) => within(tenant, (lane) => alone(counting, { lane, until: soon() }))))
  expect(most).toBe(4)
})

test('HO-11 TI-23 tokens are issued and refused for tenants that are held up → both together wait for locks with two connections', async () => {
  const few = places()
  const [issuing, denying] = [tenantLanes(few), tenantLanes(few)]
  let [is_held, trying, most] = [true, 0, 0]
  let tries = 0
  const held: Way<Job> = {
    attempt: async (jobs, lock_wait_ms, outcomes) => {
      // The first time a tenant does not know yet that it is held up.
      const counts = lock_wait_ms === 400
      if (counts) trying += 1
      most = Math.max(most, trying)
      tries += 1
      try {
        await new Promise((resolve) => setImmediate(resolve))
        if (is_held) throw heldUp()
        for (const job of jobs) outcomes.set(job, { is_committed: true })
      } finally {
        if (counts) trying -= 1
      }
    },
    most_jobs: 1,
    most_runs: 1,
  }
  const all = ['a', 'b', 'c'].flatMap((tenant) =>
    [issuing, denying].map(({ within, alone }) => within(tenant, (lane) => alone(held, { lane, until: soon() }))),
  )
  await expect.poll(() => tries).toBeGreaterThan(40)
  is_held = false
  expect(await Promise.all(all)).toEqual(all.map(() => ({ is_committed: true })))
  expect(most).toBe(2)
})
