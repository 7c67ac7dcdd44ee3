import { expect, test, vi } from 'vitest'
import { Problem } from '../kernel/problem.ts'
import { isWorthARow } from '../kernel/worth-a-row.ts'
import { delayOf, type SlowDown, slowDownWrongs } from './slow-down.ts'

const figures: SlowDown = {
  first_delay_milliseconds: 20,
  longest_delay_milliseconds: 80,
  most_waiting: 2,
  most_waiting_in_all: 5,
  forget_seconds: 900,
}

/** From when it is said to have come, by the same clock: what the test itself takes before it asks is no part of it. */
const timed = async (wait: (came_at: number) => Promise<unknown>): Promise<{ took: number; problem: Problem | undefined }> => {
  const came_at = performance.now()
  const problem = await wait(came_at)
    .then(() => undefined)
    .catch((error: Problem) => error)
  return { took: performance.now() - came_at, problem }
}
const now = () => performance.now()
const guessed = { why: 'wrong_secret', is_right: false }

test('TI-26 each wrong secret is answered later than the one before, up to a bound', async () => {
  expect([1, 2, 3, 4, 50, 5000].map((count) => delayOf(count, figures))).toEqual([20, 40, 80, 80, 80, 80])
  const slow = slowDownWrongs()
  const took: number[] = []
  for (let n = 0; n < 4; n += 1) took.push((await timed((came_at) => slow.untilAnswered('k', '192.0.2.1', came_at, figures))).took)
  for (const [index, least] of [18, 38, 78, 78].entries()) expect(took[index]).toBeGreaterThanOrEqual(least)
})

test('TI-26 TI-11 the time counts from when it came: what was done meanwhile is not added', async () => {
  const slow = slowDownWrongs()
  const late = { ...figures, first_delay_milliseconds: 3000, longest_delay_milliseconds: 3000 }
  expect((await timed((came_at) => slow.untilAnswered('k', '192.0.2.1', came_at - 3000, late))).took).toBeLessThan(1500)
})

test('TI-26 another key, or the same from another network, begins anew', async () => {
  const slow = slowDownWrongs()
  const forever = { ...figures, first_delay_milliseconds: 100, longest_delay_milliseconds: 10_000 }
  for (let n = 0; n < 3; n += 1) await slow.untilAnswered('k', '192.0.2.1', now() - 10_000, forever)
  expect((await timed((came_at) => slow.untilAnswered('k', '198.51.100.1', came_at, forever))).took).toBeLessThan(700)
  expect((await timed((came_at) => slow.untilAnswered('other', '192.0.2.1', came_at, forever))).took).toBeLessThan(700)
  // The same network, another address in it.
  expect((await timed((came_at) => slow.untilAnswered('k', '192.0.2.77', came_at, forever))).took).toBeGreaterThanOrEqual(795)
})

test('TI-26 beyond so many that wait, one is told to come later; and when they are gone, one waits again', async () => {
  const slow = slowDownWrongs()
  const all = await Promise.all(Array.from({ length: 4 }, () => timed((came_at) => slow.untilAnswered('k', '192.0.2.1', came_at, figures))))
  expect(all.map(({ problem }) => problem?.code)).toEqual([undefined, undefined, 'rate_limit_exceeded', 'rate_limit_exceeded'])
  expect(all[2]!.problem!.details).toEqual({ retry_after_seconds: 1 })
  // No sooner than the first of all: how soon it comes must not tell whether there is such a key.
  expect(all[2]!.took).toBeGreaterThanOrEqual(18)
  expect(slow.waiting()).toBe(0)
  expect((await timed((came_at) => slow.untilAnswered('k', '192.0.2.1', came_at, figures))).problem).toBeUndefined()
})

test('TI-26 so many wait in all, whatever keys they name, and no more', async () => {
  const slow = slowDownWrongs()
  const all = await Promise.all(
    Array.from({ length: 8 }, (_, n) => timed((came_at) => slow.untilAnswered(`k${n}`, '192.0.2.1', came_at, figures))),
  )
  expect(all.filter(({ problem }) => problem instanceof Problem)).toHaveLength(3)
})

test('TI-26 what was long ago is forgotten, and memory is bounded', async () => {
  const long = { ...figures, first_delay_milliseconds: 100, longest_delay_milliseconds: 10_000 }
  const slow = slowDownWrongs({ most_entries: 2 })
  const three = async () => {
    for (let n = 0; n < 3; n += 1) await slow.untilAnswered('k', '192.0.2.1', now() - 10_000, long)
  }
  await three()
  await new Promise((resolve) => setTimeout(resolve, 2))
  expect((await timed((came_at) => slow.untilAnswered('k', '192.0.2.1', came_at, { ...long, forget_seconds: 0 }))).took).toBeLessThan(700)
  await three()
  for (const other of ['a', 'b']) await slow.untilAnswered(other, '192.0.2.1', now() - 10_000, long)
  expect((await timed((came_at) => slow.untilAnswered('k', '192.0.2.1', came_at, long))).took).toBeLessThan(700)
  // The control: without either it would be the fourth.
  await three()
  expect((await timed((came_at) => slow.untilAnswered('k', '192.0.2.1', came_at, long))).took).toBeGreaterThanOrEqual(795)
})

test('TI-12 TI-26 a storm of wrong secrets leaves few rows, and each says how many there were', () => {
  const slow = slowDownWrongs()
  const rows = Array.from({ length: 10_000 }, () => slow.countOf('k', guessed, figures)).filter((count) => count !== null)
  expect(rows).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192])
  expect(isWorthARow(9)).toBe(false)
})

test('TI-12 TI-26 who has the secret of a key that has ended is not hidden by guesses, and leaves a row each time, so many a minute', () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  try {
    const slow = slowDownWrongs()
    for (let n = 0; n < 1000; n += 1) slow.countOf('k', guessed, figures)
    const right = { why: 'key_revoked', is_right: true }
    const rows = () => Array.from({ length: 50 }, () => slow.countOf('k', right, figures)).filter((count) => count !== null)
    const upTo = (from: number) => Array.from({ length: 20 }, (_, n) => from + n)
    expect(rows()).toEqual(upTo(1))
    vi.advanceTimersByTime(59_000)
    expect(rows()).toEqual([])
    // What left no row is in the number of the next that does.
    vi.advanceTimersByTime(2000)
    expect(rows()).toEqual(upTo(101))
    expect(slow.countOf('k', { why: 'account_disabled', is_right: true }, figures)).toBe(1)
    expect(slow.countOf('other', right, figures)).toBe(1)
  } finally {
    vi.useRealTimers()
  }
})
