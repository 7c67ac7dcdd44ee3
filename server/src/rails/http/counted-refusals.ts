import { recentlyUsed } from '#ground/kernel/recently-used.ts'

interface Refused {
  readonly count: number
  readonly at: number
}

/** What was quiet for so long begins anew. */
const forget_ms = 3_600_000
/** Of this many: what is refused most is remembered. */
const most = 10_000

/** How often somebody has been refused the same by now, this time included. */
export const countedRefusals = () => {
  const refusals = recentlyUsed<Refused>(most)
  return (who: string, reason: string): number => {
    const key = `${who} ${reason}`
    const at = performance.now()
    const before = refusals.get(key)
    const count = before && at - before.at < forget_ms ? before.count + 1 : 1
    refusals.set(key, { count, at })
    return count
  }
}
export type CountRefusal = ReturnType<typeof countedRefusals>
