import type { Operation } from '@gatehouse/contract/operation'
import { newTrail, type Work } from '#ground/work/work.ts'
import { Again, type Asked, type Waiting } from './answer.ts'
import type { Asking, Outer } from './asking.ts'
import { requireTrail } from './invariants.ts'
import type { Recorder } from './record-refusal.ts'

/** What ends the waits under way. */
export class Waits {
  private readonly under_way = new Set<AbortController>()
  private is_over = false
  begin(): AbortController {
    const waiting = new AbortController()
    if (this.is_over) waiting.abort()
    else this.under_way.add(waiting)
    return waiting
  }
  end(waiting: AbortController): void {
    this.under_way.delete(waiting)
  }
  endAll(): void {
    this.is_over = true
    for (const waiting of this.under_way) waiting.abort()
  }
}

export interface WaitParts extends Recorder {
  readonly operation: Operation
}
export type WaitingOf = Waiting<Asking['params'], Asking['query'], unknown, unknown>

/** Waits as long as somebody is there to hear of it, and the server is not closing. */
export const waited = async (
  waits: Waits,
  gone: (end: () => void) => void,
  parts: WaitParts,
  waiting: WaitingOf,
  asking: Asking,
  outer: Outer,
): Promise<unknown> => {
  const ending = waits.begin()
  gone(() => ending.abort())
  return lookUntil(parts, ending, waiting, asking, outer).finally(() => {
    ending.abort()
    waits.end(ending)
  })
}

/** Looks, waits and looks again; nothing is held in between. Whoever lost the right meanwhile is refused at the next look. */
const lookUntil = async (
  { operation, database, append }: WaitParts,
  ending: AbortController,
  waiting: WaitingOf,
  asking: Asking,
  outer: Outer,
): Promise<unknown> => {
  const input: Asked<Asking['params'], Asking['query'], unknown> = { ...asking, slice: { limit: 0, after: null } }
  const { until_ms, changed } = waiting.wait(input, ending)
  const { signal: gone } = ending
  const deadline = performance.now() + until_ms
  for (;;) {
    outer.trail.asked.length = 0
    // Begun before the look: what comes in between ends the wait at once.
    const waking = new AbortController()
    const woken = changed(AbortSignal.any([gone, waking.signal, AbortSignal.timeout(Math.max(1, Math.ceil(deadline - performance.now())))]))
    try {
      const seen = await database.transaction('read', (tx) => waiting.look({ ...outer, now: tx.now, tx }, input))
      requireTrail(operation, asking, outer.trail, false)
      if (seen.is_there) {
        const taken = await database.transaction('write', async (tx) => {
          const work: Work = { ...outer, trail: newTrail(), now: tx.now, tx }
          const reply = await waiting.take(work, input)
          if (reply === undefined) return undefined
          requireTrail(operation, asking, work.trail, !(reply instanceof Again) || reply.is_changed)
          await append(work)
          return reply
        })
        if (taken !== undefined) return taken
      }
      if (gone.aborted || performance.now() >= deadline) return seen.nothing
      await woken
      if (gone.aborted) return seen.nothing
    } finally {
      waking.abort()
    }
  }
}
