import type { Operation } from '@gatehouse/contract/operation'
import { LRUCache } from 'lru-cache'
import type { Append } from '../audit/append.ts'
import type { Database, Tx } from '../db/database.ts'
import { isRowFault } from '../db/database-errors.ts'
import { together } from '../epochs/together.ts'
import { answeredBefore, keep } from '../http/idempotency.ts'
import { noteUseOfKeys } from '../service-accounts/credential-queries.ts'
import type { Work } from '../work/work.ts'
import { insertTokens, type Stamped } from './issuing-queries.ts'

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

  const noteUse = async (tx: Tx, issuances: readonly Issuance[]): Promise<void> => {
    const minute = tx.now.slice(0, 16)
    const used = new Set(issuances.flatMap(({ row: { credential_id: id } }) => (id !== null && noted.get(id) !== minute ? [id] : [])))
    if (used.size === 0) return
    await tx.many(noteUseOfKeys([...used], tx.now))
    for (const id of used) noted.set(id, minute)
  }

  /**
   * The record first, then the rows with the question whether all is still as it was. That is asked behind the locks of the chains:
   * whatever took a right away in these tenants was recorded there, so it is either seen here or it waits until these are committed.
   */
  const write = async (tx: Tx, issuances: readonly Issuance[], works: readonly Work[]): Promise<void> => {
    await noteUse(tx, issuances)
    await append(...(works as [Work, ...Work[]]))
    const stale = new Set((await tx.many(insertTokens(issuances))).map(({ id }) => id))
    if (stale.size > 0) throw new Moved(new Set(issuances.filter(({ row: { id } }) => stale.has(id))))
  }

  type Outcome = { readonly is_committed: boolean } | { readonly error: unknown }

  const writeTogether = async (issuances: readonly Issuance[], outcomes: Map<Issuance, Outcome>): Promise<void> => {
    if (issuances.length === 0) return
    try {
      await database.transaction('write', (tx) => write(tx, issuances, worksOf(tx, issuances)))
      for (const each of issuances) outcomes.set(each, { is_committed: true })
    } catch (error) {
      if (error instanceof Moved) {
        for (const each of error.stale) outcomes.set(each, { is_committed: false })
        await writeTogether(
          issuances.filter((each) => !error.stale.has(each)),
          outcomes,
        )
      } else if (issuances.length > 1 && isRowFault(error)) {
        // The database did not like something of one of them; who it was shows when each stands alone.
        for (const each of issuances) await writeTogether([each], outcomes)
      } else for (const each of issuances) outcomes.set(each, { error })
    }
  }

  const committed = together(
    async (issuances: readonly Issuance[]) => {
      const outcomes = new Map<Issuance, Outcome>()
      await writeTogether(issuances, outcomes)
      return issuances.map((each) => outcomes.get(each)!)
    },
    // While the database works for one, the next is signed.
    { most_questions: 256, most_runs: 2 },
  )

  return {
    /** Those that come at the same time share a transaction, and each has its own outcome. False: it must be decided again. */
    one: async (issuance: Issuance): Promise<boolean> => {
      const outcome = await committed(issuance)
      if ('error' in outcome) throw outcome.error
      return outcome.is_committed
    },
    /** Once for this key of the caller's, in a transaction of its own: whoever comes second waits for the first and gets its problem. */
    once: (issuance: Issuance, { operation, key, hash, reply }: Keyed): Promise<boolean> =>
      database
        .transaction('write', async (tx) => {
          const [work] = worksOf(tx, [issuance]) as [Work]
          await answeredBefore(work, operation, key, hash)
          await keep(work, operation, key, reply)
          await write(tx, [issuance], [work])
          return true
        })
        .catch((error: unknown) => {
          if (error instanceof Moved) return false
          throw error
        }),
  }
}
