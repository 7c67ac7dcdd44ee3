import { setTimeout as sleep } from 'node:timers/promises'
import type { FreshReader } from '#ground/epochs/fresh.ts'
import { Problem } from '#ground/kernel/problem.ts'
import { recentlyUsed } from '#ground/kernel/recently-used.ts'
import { isWorthARow } from '#ground/kernel/worth-a-row.ts'
import { sourceOf } from '#rails/audit/auth-rejections.ts'
import { policyIn, wantPolicy } from '#rails/policies/read-policy.ts'

/** How wrong secrets are slowed; every figure is policy. */
export interface SlowDown {
  readonly first_delay_milliseconds: number
  readonly longest_delay_milliseconds: number
  readonly most_waiting: number
  readonly most_waiting_in_all: number
  readonly forget_seconds: number
}

const keys = [
  'auth.wrong_secret.first_delay_milliseconds',
  'auth.wrong_secret.longest_delay_milliseconds',
  'auth.wrong_secret.most_waiting',
  'auth.wrong_secret.most_waiting_in_all',
  'auth.wrong_secret.forget_seconds',
] as const
const wanted = keys.map((key) => wantPolicy(key))

export const readSlowDown = async (fresh: FreshReader): Promise<SlowDown> => {
  const { values } = await fresh.read(wanted)
  const [first_delay_milliseconds, longest_delay_milliseconds, most_waiting, most_waiting_in_all, forget_seconds] = keys.map((key, index) =>
    policyIn(key, values[index]),
  ) as [number, number, number, number, number]
  return { first_delay_milliseconds, longest_delay_milliseconds, most_waiting, most_waiting_in_all, forget_seconds }
}

interface Wrongs {
  count: number
  waiting: number
  last: number
}

/** Each wrong secret twice as late as the one before. */
export const delayOf = (count: number, { first_delay_milliseconds: first, longest_delay_milliseconds: longest }: SlowDown): number =>
  Math.min(longest, first * 2 ** Math.min(count - 1, 30))

const tooMany = (delay: number) => new Problem('rate_limit_exceeded', { retry_after_seconds: Math.max(1, Math.ceil(delay / 1000)) })

/** Why a key is refused. Right: whoever shows it has its secret, and it has ended, or what he shows was shown before. */
export interface Wrong {
  readonly why: string
  readonly is_right: boolean
}

/** Whoever has the secret of a key that has ended has it from somewhere: each time is worth a row, up to so many a minute. */
const most_rights_a_minute = 20

/**
 * Makes guessing slow without making anybody else slow: only what was found to be wrong waits, so the owner of the right secret is
 * answered at once wherever he sits, also behind the same address as who guesses. An unknown key is slowed as a known one is.
 */
export const slowDownWrongs = ({ most_entries = 50_000, pause = (milliseconds: number): Promise<void> => sleep(milliseconds) } = {}) => {
  const wrongs = recentlyUsed<Wrongs>(most_entries)
  const recorded = recentlyUsed<Wrongs>(most_entries)
  const minutes = recentlyUsed<{ readonly began: number; rows: number }>(most_entries)
  let waiting_in_all = 0

  const counted = (cache: typeof wrongs, name: string, { forget_seconds }: SlowDown): Wrongs => {
    const now = performance.now()
    let entry = cache.get(name)
    if (!entry || now - entry.last > forget_seconds * 1000) entry = { count: 0, waiting: entry?.waiting ?? 0, last: now }
    entry.count += 1
    entry.last = now
    cache.set(name, entry)
    return entry
  }

  const wait = async (entry: Wrongs, milliseconds: number): Promise<void> => {
    entry.waiting += 1
    waiting_in_all += 1
    try {
      await pause(Math.max(0, Math.ceil(milliseconds)))
    } finally {
      entry.waiting -= 1
      waiting_in_all -= 1
    }
  }

  const isWithinMinute = (name: string): boolean => {
    const now = performance.now()
    const known = minutes.get(name)
    const minute = known && now - known.began < 60_000 ? known : { began: now, rows: 0 }
    minute.rows += 1
    minutes.set(name, minute)
    return minute.rows <= most_rights_a_minute
  }

  return {
    /**
     * Waits until a wrong secret may be answered, counted from when it came, so that what it took to find it wrong does not show.
     * Throws where too many wait already.
     */
    untilAnswered: async (key_id: string, address: string, came_at: number, figures: SlowDown): Promise<void> => {
      const entry = counted(wrongs, `${key_id} ${sourceOf(address)}`, figures)
      const delay = delayOf(entry.count, figures)
      if (waiting_in_all >= figures.most_waiting_in_all) throw tooMany(delay)
      const isFull = entry.waiting >= figures.most_waiting
      await wait(entry, came_at + (isFull ? figures.first_delay_milliseconds : delay) - performance.now())
      if (isFull) throw tooMany(delay)
    },
    /**
     * How often a known key was refused for this, from wherever; null where one more is not worth a row. Each reason for itself, so that
     * guesses do not hide the one who has the secret.
     */
    countOf: (key_id: string, { why, is_right }: Wrong, figures: SlowDown): number | null => {
      const name = `${key_id} ${why}`
      const { count } = counted(recorded, name, figures)
      return (is_right ? isWithinMinute(name) : isWorthARow(count)) ? count : null
    },
    waiting: () => waiting_in_all,
  }
}
export type SlowDownWrongs = ReturnType<typeof slowDownWrongs>
