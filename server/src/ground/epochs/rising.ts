import { Problem } from '../kernel/problem.ts'
import { recentlyUsed } from '../kernel/recently-used.ts'
import { type Moment, platformScope } from './moment.ts'

/** Beyond this many scopes the least recently read are forgotten; their facts are then guarded by stamps alone. */
const mostScopes = 100_000

/**
 * Epochs only rise. A read that finds one lower than an earlier read did comes from a server that lost or never had a change which this
 * process has seen: a restored copy, or a standby that was promoted without the last commits.
 */
export const risingEpochs = (distrust: (why: string) => void) => {
  const highest = recentlyUsed<number>(mostScopes)
  const fallen = new Set<string>()

  const judge = ({ epochs }: Moment, known: ReadonlyMap<string, number>): void => {
    for (const { id, value } of epochs.values()) {
      const before = known.get(id) ?? 0
      if (value < before) {
        fallen.add(id)
        const why = `an epoch fell from ${before} to ${value}: the database lost a change that this process has seen; opening a new connection pool`
        distrust(why)
        throw new Problem('dependency_unavailable', undefined, new Error(why))
      }
      fallen.delete(id)
      if (value > (highest.get(id) ?? 0)) highest.set(id, value)
    }
  }

  return {
    /**
     * Reads moments of these tenants. What counts is how high the epochs were known to be before the read began: reads under way at the same
     * time may end in another order than they looked.
     */
    read: async <Answer>(tenant_ids: Iterable<string>, act: (judged: (moment: Moment) => void) => Promise<Answer>): Promise<Answer> => {
      const known = new Map<string, number>()
      for (const id of [platformScope, ...tenant_ids]) {
        const value = highest.get(id)
        if (value !== undefined) known.set(id, value)
      }
      return act((moment) => judge(moment, known))
    },
    /** The tenants whose epoch was lower at the last read than before it. */
    fallen: (): string[] => [...fallen].filter((id) => id !== platformScope),
  }
}
