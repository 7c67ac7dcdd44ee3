import { connectionSharesOf } from '#ground/db/connection-shares.ts'
import type { Database } from '#ground/db/database.ts'
import { isHeldUp } from '#ground/db/database-errors.ts'
import { together } from '#ground/epochs/together.ts'
import { unavailable } from '#ground/kernel/problem.ts'
import { semaphore } from '#ground/kernel/semaphore.ts'

/** So long a caller waits for a token, or for the record of its refusal; what is committed later is never given out. */
export const issuing_patience_ms = 2000

export type Outcome = { readonly is_committed: boolean } | { readonly error: unknown }

/** Something to be written for a tenant, and until when (by `performance.now()`) somebody waits for it. */
export interface Job {
  readonly lane: Lane
  readonly until: number
}

/** Says what came of each. Throws where a lock was not given in time: those of which nothing was said can be tried again. */
export type Attempt<J extends Job> = (jobs: readonly J[], lock_wait_ms: number, outcomes: Map<J, Outcome>) => Promise<void>

/** A way of writing that a tenant has for itself. */
export interface Way<J extends Job> {
  readonly attempt: Attempt<J>
  readonly most_jobs: number
  readonly most_runs: number
}

/**
 * What one tenant has under way. `together`: with others; `apart`: where it was, somebody was held up, and who shows when each stands
 * alone; `held_up`: it was this one. The next success lets it back.
 */
export interface Lane {
  state: 'together' | 'apart' | 'held_up'
  jobs: number
  readonly ways: Map<unknown, (job: never, until: number) => Promise<Outcome>>
}

/** How long a lock is waited for: while others wait with it, and alone. */
export const lockWaits = { together: 150, alone: 400 }

export const late = () => unavailable('its locks were not given in time')

/** Few of the pool's connections wait for locks, however many tenants are held up: made once for all lanes of a process. */
export const lanePlaces = ({ connections }: Pick<Database, 'connections'>) => {
  const { together, apart, held_up } = connectionSharesOf(connections).issuing
  return { together: semaphore(together), apart: semaphore(apart), held_up: semaphore(held_up) }
}
export type LanePlaces = ReturnType<typeof lanePlaces>

/**
 * Keeps tenants out of each other's way. Somebody who holds the end of one tenant's chain holds up this tenant alone: it has few
 * connections to wait on, a queue that ends, and whoever waits in it is told in time.
 */
export const tenantLanes = (places: LanePlaces, { most_jobs = 2000 } = {}) => {
  const lanes = new Map<string, Lane>()

  const run = async <J extends Job>(lane: Lane, attempt: Attempt<J>, jobs: readonly J[]): Promise<Outcome[]> => {
    const outcomes = new Map<J, Outcome>()
    const left = () => jobs.filter((job) => !outcomes.has(job) && job.until > performance.now())
    while (left().length > 0)
      try {
        await places[lane.state](async () => {
          const trying = left()
          if (trying.length === 0) return
          await attempt(trying, lane.state === 'held_up' ? lockWaits.alone : lockWaits.together, outcomes)
          lane.state = 'together'
        })
      } catch (error) {
        if (!isHeldUp(error)) throw error
        lane.state = 'held_up'
      }
    return jobs.map((job) => outcomes.get(job) ?? { error: late() })
  }

  return {
    /** Does something as one of a tenant's jobs; throws where it has too many. */
    within: async <T>(tenant: string, act: (lane: Lane) => Promise<T>): Promise<T> => {
      const lane = lanes.get(tenant) ?? { state: 'together', jobs: 0, ways: new Map() }
      if (lane.jobs >= most_jobs) throw late()
      lanes.set(tenant, lane)
      lane.jobs += 1
      try {
        return await act(lane)
      } finally {
        lane.jobs -= 1
        if (lane.jobs === 0 && lane.state === 'together') lanes.delete(tenant)
      }
    },
    /** Writes it for its tenant alone, again and again until its time is over. */
    alone: <J extends Job>(way: Way<J>, job: J): Promise<Outcome> => {
      const { lane, until } = job
      const known = lane.ways.get(way) as ((job: J, until: number) => Promise<Outcome>) | undefined
      const ask =
        known ??
        together((jobs: readonly J[]) => run(lane, way.attempt, jobs), { most_runs: way.most_runs, most_questions: way.most_jobs, late })
      lane.ways.set(way, ask as never)
      return ask(job, until)
    },
  }
}
