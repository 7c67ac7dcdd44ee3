import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Problem } from '#ground/kernel/problem.ts'
import { isWorthARow } from '#ground/kernel/worth-a-row.ts'
import { delayOf, type SlowDown, slowDownWrongs } from './slow-down.ts'

const figures: SlowDown = {
  first_delay_milliseconds: 20,
  longest_delay_milliseconds: 80,
  most_waiting: 2,
  most_waiting_in_all: 5,
  forget_seconds: 900,
}

const now = () => performance.now()
const guessed = { why: 'wrong_secret', is_right: false }

// The clock stands still unless a test moves it, so that each pause is as long as it is meant to be.
beforeEach(() => void vi.useFakeTimers({ toFake: ['performance'] }))
afterEach(() => void vi.useRealTimers())

/** Notes how long each pause is to be; each ends at once, or when the test lets it. */
const slowing = ({ most_entries = 100, until = Promise.resolve() } = {}) => {
  const pauses: number[] = []
  const pause = (milliseconds: number) => {
    pauses.push(milliseconds)
    return until
  }
  return { pauses, ...slowDownWrongs({ most_entries, pause }) }
}
const problemOf = (asking: Promise<void>): Promise<Problem | undefined> =>
  asking.then(
    () => undefined,
    (error: Problem) => error,
  )

test('TI-26 each wrong secret is answered later than the one before, up to a bound', async () => {
  expect([1, 2, 3, 4, 50, 5000].map((count) => delayOf(count, figures))).toEqual([20, 40, 80, 80, 80, 80])
  const { pauses, untilAnswered } = slowing()
  for (let n = 0; n < 4; n += 1) await untilAnswered('k', '192.0.2.1', now(), figures)
  expect(pauses).toEqual([20, 40, 80, 80])
})

test('TI-26 TI-11 the time counts from when it came: what was done meanwhile is not added', async () => {
  const { pauses, untilAnswered } = slowing()
  const late = { ...figures, first_delay_milliseconds: 3000, longest_delay_milliseconds: 3000 }
  for (const ago of [0, 1000, 3000, 5000]) await untilAnswered('k', '192.0.2.1', now() - ago, late)
  expect(pauses).toEqual([3000, 2000, 0, 0])
})

test('TI-26 another key, or the same from another network, begins anew', async () => {
  const { pauses, untilAnswered } = slowing()
  const long = { ...figures, first_delay_milliseconds: 100, longest_delay_milliseconds: 10_000 }
  for (let n = 0; n < 3; n += 1) await untilAnswered('k', '192.0.2.1', now(), long)
  await untilAnswered('k', '198.51.100.1', now(), long)
  await untilAnswered('other', '192.0.2.1', now(), long)
  // The same network, another address in it.
  await untilAnswered('k', '192.0.2.77', now(), long)
  expect(pauses).toEqual([100, 200, 400, 100, 100, 800])
})

test('TI-26 beyond so many that wait, one is told to come later; and when they are gone, one waits again', async () => {
  const end = Promise.withResolvers<void>()
  const { pauses, untilAnswered, waiting } = slowing({ until: end.promise })
  const asking = Array.from({ length: 4 }, () => problemOf(untilAnswered('k', '192.0.2.1', now(), figures)))
  expect(waiting()).toBe(4)
  end.resolve()
  const all = await Promise.all(asking)
  expect(all.map((problem) => problem?.code)).toEqual([undefined, undefined, 'rate_limit_exceeded', 'rate_limit_exceeded'])
  expect(all[2]!.details).toEqual({ retry_after_seconds: 1 })
  // No sooner than the first of all: how soon it comes must not tell whether there is such a key.
  expect(pauses).toEqual([20, 40, 20, 20])
  expect(waiting()).toBe(0)
  expect(await problemOf(untilAnswered('k', '192.0.2.1', now(), figures))).toBeUndefined()
})

test('TI-26 so many wait in all, whatever keys they name, and no more', async () => {
  const end = Promise.withResolvers<void>()
  const { untilAnswered, waiting } = slowing({ until: end.promise })
  const asking = Array.from({ length: 8 }, (_, n) => problemOf(untilAnswered(`k${n}`, '192.0.2.1', now(), figures)))
  expect(waiting()).toBe(5)
  end.resolve()
  expect((await Promise.all(asking)).filter((problem) => problem instanceof Problem)).toHaveLength(3)
})

test('TI-26 what was long ago is forgotten, and memory is bounded', async () => {
  const long = { ...figures, first_delay_milliseconds: 100, longest_delay_milliseconds: 10_000 }
  const { pauses, untilAnswered } = slowing({ most_entries: 2 })
  const pauseOf = async (key: string) => {
    await untilAnswered(key, '192.0.2.1', now(), long)
    return pauses.at(-1)
  }
  const three = async () => [await pauseOf('k'), await pauseOf('k'), await pauseOf('k')]
  expect(await three()).toEqual([100, 200, 400])
  vi.advanceTimersByTime(901_000)
  expect(await three()).toEqual([100, 200, 400])
  for (const other of ['a', 'b']) expect(await pauseOf(other)).toBe(100)
  expect(await three()).toEqual([100, 200, 400])
  // The control: without either it is the fourth.
  vi.advanceTimersByTime(899_000)
  expect(await pauseOf('k')).toBe(800)
})

test('TI-12 TI-26 a storm of wrong secrets leaves few rows, and each says how many there were', () => {
  const slow = slowDownWrongs()
  const rows = Array.from({ length: 10_000 }, () => slow.countOf('k', guessed, figures)).filter((count) => count !== null)
  expect(rows).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192])
  expect(isWorthARow(9)).toBe(false)
})

test('TI-12 TI-26 who has the secret of a key that has ended is not hidden by guesses, and leaves a row each time, so many a minute', () => {
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
})
