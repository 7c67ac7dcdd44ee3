import { type Answer, isIdentityRefused, refusalIn } from './door.ts'
import type { Log } from './log.ts'
import { pauseAfter } from './pauses.ts'

export interface LinkState {
  /** `refused`: the door is there and does not take our certificate. */
  readonly state: 'connecting' | 'connected' | 'unreachable' | 'refused'
  readonly since: string
  readonly last_answer_at: string | null
  readonly why: string | null
}

export interface LinkTimes {
  readonly longest_pause_ms: number
  /** Of a certificate that is not taken: it will hardly be taken a moment later, and each try is an alarm over there. */
  readonly refused_pause_ms: number
}

export interface Link {
  readonly state: () => LinkState
  readonly answered: () => void
  /** How long to wait before the next try. */
  readonly failed: (why: Answer | Error) => number
}

const wordFor = (error: Error): string => {
  const { code } = error as NodeJS.ErrnoException
  return typeof code === 'string' ? code : error.message
}

/** How we stand with the control plane. */
export const newLink = (log: Log, now: () => Date, { longest_pause_ms, refused_pause_ms }: LinkTimes): Link => {
  let at: LinkState = { state: 'connecting', since: now().toISOString(), last_answer_at: null, why: null }
  let failures = 0

  const move = (state: LinkState['state'], why: string | null) => {
    const is_moved = at.state !== state || at.why !== why
    at = { ...at, state, why, since: at.state === state ? at.since : now().toISOString() }
    if (is_moved) log(state === 'connected' ? 'info' : 'warning', `server_${state}`, why === null ? {} : { why })
  }

  return {
    state: () => at,
    answered: () => {
      failures = 0
      at = { ...at, last_answer_at: now().toISOString() }
      move('connected', null)
    },
    failed: (why) => {
      failures += 1
      if (why instanceof Error) {
        move('unreachable', wordFor(why))
        return pauseAfter(failures, longest_pause_ms)
      }
      const told = `${why.status} ${refusalIn(why).code}`
      if (isIdentityRefused(why)) {
        move('refused', told)
        return pauseAfter(20, refused_pause_ms)
      }
      move('unreachable', told)
      return Math.max(pauseAfter(failures, longest_pause_ms), Math.min((why.retry_after_seconds ?? 0) * 1000, refused_pause_ms))
    },
  }
}
