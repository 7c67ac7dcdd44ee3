import type { Operation } from '@gatehouse/contract/operation'
import { LRUCache } from 'lru-cache'
import type { Append } from '../audit/append.ts'
import type { Database, Tx } from '../db/database.ts'
import { isHeldUp, isRowFault } from '../db/database-errors.ts'
import { together } from '../epochs/together.ts'
import { answeredBefore, keep } from '../http/idempotency.ts'
import { noteUseOfKeys } from '../service-accounts/credential-queries.ts'
import type { Work } from '../work/work.ts'
import { insertTokens, type Stamped } from './issuing-queries.ts'
import { type Attempt, type Job, type Lane, late, lockWaits, type Outcome, tenantLanes, type Way } from './lanes.ts'

/** A token that is signed and that nobody has seen yet: what must be written before anybody may, and in the state that it was decided in. */
export interface Issuance extends Stamped {
  /** Whose it is and what is recorded of it. */
  readonly doing: Omit<Work, 'tx' | 'now'>
}

/** The caller's name for this issuance, and what was asked. */
export interface Keyed {
  readonly operation: Operation
  readonly key: string
  readonly hash: string
  readonly reply: unknown
}

/** So long somebody waits for his token; what is committed later is never given out. */
const patience_ms = 2000

interface Issuing extends Job {
  readonly issuance: Issuance
}

class Moved extends Error {
  readonly stale: ReadonlySet<Issuance>
  constructor(stale: ReadonlySet<Issuance>) {
    super('what an issuance rests on has changed')
    this.stale = stale
  }
}

const worksOf = (tx: Tx, issuances: readonly Issuance[]): Work[] => issuances.map(({ doing }) => ({ ...doing, now: tx.now, tx }))

export const commitIssued = ({ database, append }: { readonly database: Database; readonly append: Append }) => {
  /** In which minute a key's last use was noted by this process: one that is used in every second is written once a minute. */
  const noted = new LRUCache<string, string>({ max: 50_000 })

  const noteUse = async (tx: Tx, issuances: readonly Issuance[]): Promise<ReadonlyMap<string, string>> => {
    const minute = tx.now.slice(0, 16)
    const used = new Set(issuances.flatMap(({ row: { credential_id: id } }) => (id !== null && noted.get(id) !== minute ? [id] : [])))
    if (used.size > 0) await tx.many(noteUseOfKeys([...used], tx.now))
    return new Map([...used].map((id) => [id, minute]))
  }

  /**
   * The record first, then the rows with the question whether all is still as it was. That is asked behind the locks of the chains:
   * whatever took a right away in these tenants was recorded there, so it is either seen here or it waits until these are committed.
   */
  const write = async (tx: Tx, issuances: readonly Issuance[], works: readonly Work[]): Promise<ReadonlyMap<string, string>> => {
    const used = await noteUse(tx, issuances)
    await append(...(works as [Work, ...Work[]]))
    const stale = new Set((await tx.many(insertTokens(issuances))).map(({ id }) => id))
    if (stale.size > 0) throw new Moved(new Set(issuances.filter(({ row: { id } }) => stale.has(id))))
    return used
  }

  const written = async (lock_wait_ms: number, within: (tx: Tx) => ReturnType<typeof write>): Promise<void> => {
    const used = await database.transaction('write', within, { lock_wait_ms })
    for (const [id, minute] of used) noted.set(id, minute)
  }

  const writeTogether: Attempt<Issuing> = async (jobs, lock_wait_ms, outcomes) => {
    if (jobs.length === 0) return
    const issuances = jobs.map(({ issuance }) => issuance)
    try {
      await written(lock_wait_ms, (tx) => write(tx, issuances, worksOf(tx, issuances)))
      for (const each of jobs) outcomes.set(each, { is_committed: true })
    } catch (error) {
      if (isHeldUp(error)) throw error
      if (error instanceof Moved) {
        const [stale, rest] = [true, false].map((is_stale) => jobs.filter(({ issuance }) => error.stale.has(issuance) === is_stale))
        for (const each of stale!) outcomes.set(each, { is_committed: false })
        await writeTogether(rest!, lock_wait_ms, outcomes)
      } else if (jobs.length > 1 && isRowFault(error)) {
        // The database did not like something of one of them; who it was shows when each stands alone.
        for (const each of jobs) await writeTogether([each], lock_wait_ms, outcomes)
      } else for (const each of jobs) outcomes.set(each, { error })
    }
  }

  const writeKeyed: Attempt<Issuing & { readonly keyed: Keyed }> = async ([job], lock_wait_ms, outcomes) => {
    const { issuance, keyed } = job!
    const { operation, key, hash, reply } = keyed
    try {
      await written(lock_wait_ms, async (tx) => {
        const [work] = worksOf(tx, [issuance]) as [Work]
        await answeredBefore(work, operation, key, hash, { for_key: '1s', afterwards: `${lock_wait_ms}ms` })
        await keep(work, operation, key, reply)
        return write(tx, [issuance], [work])
      })
      outcomes.set(job!, { is_committed: true })
    } catch (error) {
      if (isHeldUp(error)) throw error
      outcomes.set(job!, error instanceof Moved ? { is_committed: false } : { error })
    }
  }

  const lanes = tenantLanes()
  const apart: Way<Issuing> = { attempt: writeTogether, most_jobs: 256, most_runs: 1 }
  const keyedAlone: Way<Issuing & { readonly keyed: Keyed }> = { attempt: writeKeyed, most_jobs: 1, most_runs: 3 }

  const committed = together<Issuing, Outcome | Promise<Outcome>>(
    async (jobs) => {
      const outcomes = new Map<Issuing, Outcome>()
      const sharing = jobs.filter(({ lane }) => lane.state === 'together')
      await writeTogether(sharing, lockWaits.together, outcomes).catch((error: unknown) => {
        if (!isHeldUp(error)) throw error
        // One of these tenants waits for somebody. The others do not wait with it, and nobody who comes after them.
        for (const job of sharing) if (!outcomes.has(job) && job.lane.state === 'together') job.lane.state = 'apart'
      })
      const now = performance.now()
      // Nobody hears any more what came of those that are late.
      return jobs.map((job) => outcomes.get(job) ?? (job.until > now ? lanes.alone(apart, job) : { error: late() }))
    },
    // While the database works for one, the next is signed.
    { most_questions: 256, most_runs: 2, late },
  )

  const inLane = (issuance: Issuance, commit: (lane: Lane, until: number) => Promise<Outcome | Promise<Outcome>>): Promise<boolean> =>
    lanes.within(issuance.row.org_id ?? '', async (lane) => {
      const outcome = await commit(lane, performance.now() + patience_ms)
      if ('error' in outcome) throw outcome.error
      return outcome.is_committed
    })

  return {
    /** Those that come at the same time share a transaction, and each has its own outcome. False: it must be decided again. */
    one: (issuance: Issuance): Promise<boolean> =>
      inLane(issuance, (lane, until) => {
        const job = { issuance, lane, until }
        return lane.state === 'together' ? committed(job, until) : lanes.alone(apart, job)
      }),
    /** Once for this key of the caller's, in a transaction of its own: whoever comes second waits for the first and gets its problem. */
    once: (issuance: Issuance, keyed: Keyed): Promise<boolean> =>
      inLane(issuance, (lane, until) => lanes.alone(keyedAlone, { issuance, keyed, lane, until })),
  }
}
