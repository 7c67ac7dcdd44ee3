import type { Operation } from '@gatehouse/contract/operation'
import type { Database, Payer, TransactionOptions, Tx } from '#ground/db/database.ts'
import { isHeldUp, isRowFault } from '#ground/db/database-errors.ts'
import { isStillSo } from '#ground/epochs/moment.ts'
import { askMoment, readMoment } from '#ground/epochs/read-moment.ts'
import { together } from '#ground/epochs/together.ts'
import type { Work } from '#ground/work/work.ts'
import { type Append, chainLock, lockChains } from '#rails/audit/append.ts'
import { answeredBefore, keep } from '#rails/http/idempotency.ts'
import { insertTokens, type TokenRow } from './issuing-queries.ts'
import {
  type Attempt,
  issuing_patience_ms,
  type Job,
  type Lane,
  type LanePlaces,
  late,
  lockWaits,
  type Outcome,
  tenantLanes,
  type Way,
} from './lanes.ts'
import type { LastUses } from './last-uses.ts'
import { sharedPayer } from './shared-payer.ts'

/** A token that is signed and that nobody has seen yet: what must be written before anybody may, and in the state that it was decided in. */
export interface Issuance {
  readonly row: TokenRow
  /** Of the state that it was decided in. */
  readonly stamp: string
  /** Who pays for writing it. */
  readonly payer: Payer
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

interface CommitParts {
  readonly database: Database
  readonly append: Append
  readonly patience_ms?: number
}

interface Issuing extends Job {
  readonly issuance: Issuance
}

/** What the key was kept for is not written, so the key is not kept either. */
class Moved extends Error {}

interface Written {
  readonly sound: ReadonlySet<Issuance>
  readonly used: ReturnType<LastUses['unnoted']>
}

/** What must be known before anything is written: the ends of the chains, and behind their locks how things stand. */
const questionsOf = (issuances: readonly Issuance[]) => {
  const org_ids = [...new Set(issuances.map(({ row: { org_id } }) => org_id))]
  const tenants = org_ids.filter((id) => id !== null)
  return { lock: chainLock(org_ids), moment: askMoment(tenants), tenants }
}
type Questions = ReturnType<typeof questionsOf>

const worksOf = (tx: Tx, issuances: readonly Issuance[]): Work[] => issuances.map(({ doing }) => ({ ...doing, now: tx.now, tx }))

export const commitIssued = ({ database, append, patience_ms = issuing_patience_ms }: CommitParts, uses: LastUses, places: LanePlaces) => {
  /**
   * Writes those whose state is still as it was; the others are to be decided again. That is asked behind the locks of the chains:
   * whatever took a right away in these tenants was recorded there, so it is either seen here or it waits until these are committed.
   */
  const write = async (tx: Tx, issuances: readonly Issuance[], { lock, moment, tenants }: Questions): Promise<Written> => {
    const { has_begun } = await lockChains(tx, lock)
    // Sent ahead, it was asked before a chain that begins here was locked.
    const known = has_begun ? await readMoment(tx, tenants) : await moment.by(tx)
    const sound = issuances.filter(({ stamp, row }) => isStillSo(stamp, known, row.org_id))
    const used = uses.unnoted(
      tx.now,
      sound.map(({ row }) => row),
    )
    if (sound.length > 0) {
      await append(...(worksOf(tx, sound) as [Work, ...Work[]]))
      tx.last(insertTokens(sound.map(({ row }) => row)))
      uses.write(tx, used)
    }
    return { sound: new Set(sound), used }
  }

  const written = async (within: (tx: Tx) => Promise<Written>, options: TransactionOptions): Promise<ReadonlySet<Issuance>> => {
    const { sound, used } = await database.transaction('write', within, options)
    uses.keep(used)
    return sound
  }

  const writeTogether: Attempt<Issuing> = async (jobs, lock_wait_ms, outcomes) => {
    if (jobs.length === 0) return
    const issuances = jobs.map(({ issuance }) => issuance)
    const questions = questionsOf(issuances)
    try {
      const sound = await written((tx) => write(tx, issuances, questions), {
        lock_wait_ms,
        payer: sharedPayer(issuances.map(({ row: { org_id }, payer }) => [org_id, payer])),
        ahead: [questions.lock.statement, questions.moment.statement],
      })
      for (const each of jobs) outcomes.set(each, { is_committed: sound.has(each.issuance) })
    } catch (error) {
      if (isHeldUp(error)) throw error
      if (jobs.length > 1 && isRowFault(error)) {
        // The database did not like something of one of them; who it was shows when each stands alone.
        for (const each of jobs) await writeTogether([each], lock_wait_ms, outcomes)
      } else for (const each of jobs) outcomes.set(each, { error })
    }
  }

  const writeKeyed: Attempt<Issuing & { readonly keyed: Keyed }> = async ([job], lock_wait_ms, outcomes) => {
    const { issuance, keyed } = job!
    const { operation, key, hash, reply } = keyed
    try {
      const sound = await written(
        async (tx) => {
          const [work] = worksOf(tx, [issuance]) as [Work]
          await answeredBefore(work, operation, key, hash, { for_key: `${patience_ms / 2}ms`, afterwards: `${lock_wait_ms}ms` })
          await keep(work, operation, key, reply)
          const result = await write(tx, [issuance], questionsOf([issuance]))
          if (!result.sound.has(issuance)) throw new Moved()
          return result
        },
        { lock_wait_ms, payer: issuance.payer },
      )
      outcomes.set(job!, { is_committed: sound.has(issuance) })
    } catch (error) {
      if (isHeldUp(error)) throw error
      outcomes.set(job!, error instanceof Moved ? { is_committed: false } : { error })
    }
  }

  const lanes = tenantLanes(places)
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
