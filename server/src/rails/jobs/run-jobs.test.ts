import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import type { Job } from './job.ts'
import { prepareJobs } from './run-jobs.ts'

afterEach(() => {
  vi.useRealTimers()
})

const observed = () => {
  const ended: string[] = []
  const failures: string[] = []
  return {
    ended,
    failures,
    onEnded: (name: string, outcome: string) => ended.push(`${name} ${outcome}`),
    onFailed: (error: Error, { doing, every_seconds }: { doing: string; every_seconds: number }) =>
      failures.push(`${doing}: ${error.message}, again in ${every_seconds} s`),
  }
}
const job = (name: string, run: Job<{ readonly n: number }>['run'], more: Partial<Job<{ readonly n: number }>> = {}) => ({
  ...{ name, doing: `doing ${name}`, every_seconds: 10, run },
  ...more,
})

test('jobs: time passes → each is run at its own pace, with what it needs of the process', async () => {
  vi.useFakeTimers()
  const ran: string[] = []
  const jobs = prepareJobs(
    [
      job('often', async ({ n }) => ran.push(`often ${n}`)),
      job('seldom', async () => ran.push('seldom'), { every_seconds: ({ n }) => n * 10 }),
    ],
    { n: 3 },
    observed(),
  )
  await jobs.start()
  expect(ran).toEqual([])
  await vi.advanceTimersByTimeAsync(30_000)
  expect(ran.toSorted()).toEqual(['often 3', 'often 3', 'often 3', 'seldom'])
  await jobs.stop()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(ran).toHaveLength(4)
})

test('jobs: a run lasts longer than its pace → it is not begun a second time', async () => {
  vi.useFakeTimers()
  const released = Promise.withResolvers<void>()
  let begun = 0
  const slow = async () => {
    begun += 1
    await released.promise
  }
  const jobs = prepareJobs([job('slow', slow)], { n: 1 }, observed())
  await jobs.start()
  await vi.advanceTimersByTimeAsync(50_000)
  expect(begun).toBe(1)
  released.resolve()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(begun).toBe(2)
  await jobs.stop()
})

test('jobs: a run fails → it is told and counted, and the job is run again', async () => {
  vi.useFakeTimers()
  const seen = observed()
  let tries = 0
  const failing = async () => {
    tries += 1
    if (tries === 1) throw new Error('away')
  }
  const jobs = prepareJobs([job('shaky', failing)], { n: 1 }, seen)
  await jobs.start()
  await vi.advanceTimersByTimeAsync(20_000)
  expect(seen.failures).toEqual(['doing shaky: away, again in 10 s'])
  expect(seen.ended).toEqual(['shaky failed', 'shaky done'])
  await jobs.stop()
})

test('jobs: wanted soon while one is under way → run once more after it, however often it was wanted', async () => {
  const released = Promise.withResolvers<void>()
  let begun = 0
  const slow = async () => {
    begun += 1
    if (begun === 1) await released.promise
  }
  const jobs = prepareJobs([job('keys', slow, { at_start: true })], { n: 1 }, observed())
  const started = jobs.start()
  for (let times = 0; times < 5; times++) jobs.runSoon('keys')
  await sleep(0)
  expect(begun).toBe(1)
  released.resolve()
  await started
  await sleep(0)
  expect(begun).toBe(2)
  await jobs.stop()
})

test('jobs: start and end → what says so is run then, and a stop waits for what is under way', async () => {
  const ran: string[] = []
  const at = (name: string, more: Partial<Job<{ readonly n: number }>>) => job(name, async () => ran.push(name), more)
  const jobs = prepareJobs(
    [at('first', { at_start: true }), at('both', { at_start: true, at_end: true }), at('last', { at_end: true })],
    { n: 1 },
    observed(),
  )
  await jobs.start()
  expect(ran).toEqual(['first', 'both'])
  const released = Promise.withResolvers<void>()
  const slow = prepareJobs([job('slow', () => released.promise)], { n: 1 }, observed())
  slow.runSoon('slow')
  await sleep(0)
  let is_stopped = false
  const stopping = slow.stop().then(() => {
    is_stopped = true
  })
  await sleep(5)
  expect(is_stopped).toBe(false)
  released.resolve()
  await stopping
  await jobs.stop()
  await jobs.finish()
  expect(ran).toEqual(['first', 'both', 'both', 'last'])
})
