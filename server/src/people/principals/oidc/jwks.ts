import { Problem } from '#ground/kernel/problem.ts'
import { type Fetch, fetchKeys } from './fetch-keys.ts'
import type { Issuer } from './issuer-settings.ts'
import type { VerificationKey } from './verification-keys.ts'

export type Clocks = {
  /** Wall time in milliseconds. */
  readonly now: () => number
  /** Milliseconds that never run backwards. */
  readonly elapsed: () => number
}

export type IssuerKeys = {
  /** The key of that name; undefined when the issuer has none; 503 when we have no fresh enough set to say so. */
  find(kid: string): Promise<VerificationKey | undefined>
  /** The key of that name if it is at hand, without asking anybody. */
  held(kid: string): VerificationKey | undefined
  ready(): boolean
  stop(): void
}

/** So long an issuer's answer is waited for. */
const usual_timeout_ms = 3000
const refetchPauseMs = 10_000
const emptyHandedPauseMs = 1000

type Moment = { readonly wall: number; readonly elapsed: number }
type Held = { readonly keys: ReadonlyMap<string, VerificationKey>; readonly at: Moment }

/** An issuer's keys: fetched on first use, refreshed behind the requests, and dead when nobody has confirmed them for too long. */
export const issuerKeys = (issuer: Issuer, fetch: Fetch, clocks: Clocks, timeout_ms = usual_timeout_ms): IssuerKeys => {
  const ending = new AbortController()
  let held: Held | undefined
  let running: Promise<void> | undefined
  let triedAt: Moment | undefined
  let lastFailure: unknown

  const moment = (): Moment => ({ wall: clocks.now(), elapsed: clocks.elapsed() })
  // The larger of two ages: a wall clock set back must not prolong a key's life, nor may a machine's sleep, which the other clock misses.
  const ageMs = (then: Moment) => Math.max(clocks.now() - then.wall, clocks.elapsed() - then.elapsed)

  const fetchOnce = async () => {
    const at = moment()
    try {
      const keys = await fetchKeys(fetch, issuer, AbortSignal.any([ending.signal, AbortSignal.timeout(timeout_ms)]))
      // Dated from before the question, because an answer may have waited on its way.
      held = { keys, at }
      lastFailure = undefined
    } catch (error) {
      // What was held stays held, and keeps its age.
      lastFailure = error
      triedAt = at
    } finally {
      running = undefined
    }
  }

  /** One fetch at a time, and not again within the pause. */
  const refetch = (pauseMs: number): Promise<void> | undefined => {
    if (running || ending.signal.aborted) return running
    if (triedAt && ageMs(triedAt) < pauseMs) return undefined
    // The first good load does not count, so that a key made right after it is found.
    if (held) triedAt = moment()
    running = fetchOnce()
    return running
  }

  const usable = () => (held && ageMs(held.at) <= issuer.jwks_max_age_seconds * 1000 ? held : undefined)

  const refreshBehind = () => {
    const current = usable()
    if (!current) void refetch(emptyHandedPauseMs)
    else if (ageMs(current.at) > issuer.jwks_refresh_seconds * 1000) void refetch(refetchPauseMs)
    return current
  }

  // So that an idle server, too, still holds young keys when the issuer goes away.
  const timer = setInterval(refreshBehind, issuer.jwks_refresh_seconds * 200).unref()

  return {
    find: async (kid) => {
      if (!refreshBehind()) await running
      const known = usable()?.keys.get(kid)
      if (known) return known
      if (usable()) await refetch(refetchPauseMs)
      const current = usable()
      if (!current) throw new Problem('dependency_unavailable', undefined, lastFailure ?? new Error(`no keys of ${issuer.issuer}`))
      return current.keys.get(kid)
    },
    held: (kid) => refreshBehind()?.keys.get(kid),
    ready: () => refreshBehind() !== undefined,
    stop: () => {
      clearInterval(timer)
      ending.abort()
    },
  }
}
