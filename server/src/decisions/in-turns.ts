import { setTimeout as others } from 'node:timers/promises'
import { Problem } from '../kernel/problem.ts'

/** So long may one request keep all others waiting, but for the one item that it is at. */
const turn_ms = 5
/** So long are they heard: whoever waits for the database, too, is then served in one go and not in one turn after the other. */
const pause_ms = 2

/**
 * Makes something of each, one after the other. A tenant that has many rules makes its own questions dear: whoever else waits is heard
 * in between. Past the limit what was read for it is too old to be told as what is so now, and the request is refused.
 */
export const inTurns = async <Item, Made>(items: readonly Item[], limit_ms: number, make: (item: Item) => Made): Promise<Made[]> => {
  const began = performance.now()
  const made: Made[] = []
  let turn = began
  for (const item of items) {
    made.push(make(item))
    if (made.length === items.length || performance.now() - turn < turn_ms) continue
    await others(pause_ms)
    turn = performance.now()
    if (turn - began > limit_ms) throw new Problem('dependency_unavailable', undefined, new Error(`not judged within ${limit_ms} ms`))
  }
  return made
}
