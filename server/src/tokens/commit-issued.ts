import type { Operation } from '@gatehouse/contract/operation'
import { LRUCache } from 'lru-cache'
import type { Append } from '../audit/append.ts'
import type { Database, Tx } from '../db/database.ts'
import { isRowFault } from '../db/database-errors.ts'
import { isStillSo } from '../epochs/moment.ts'
import { readMoment } from '../epochs/read-moment.ts'
import { together } from '../epochs/together.ts'
import { answeredBefore, keep } from '../http/idempotency.ts'
import { noteUseOfKeys } from '../service-accounts/credential-queries.ts'
import type { Work } from '../work/work.ts'
import { insertTokens, type TokenRow } from './issuing-queries.ts'

/** A token that is signed and that nobody has seen yet: what must be written before anybody may. */
export interface Issuance {
  readonly row: TokenRow
  /** The state that it was decided in; if that is not the state any more, it is decided again. */
  readonly stamp: string
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

/**
 * Which of them rest on a state that is not the state any more. Asked behind the locks of their chains: whatever took a right away in
 * their tenants was recorded there, so it is either seen here or it waits until these are committed.
 */
const staleAmong = async (tx: Tx, issuances: readonly Issuance[]): Promise<ReadonlySet<Issuance>> => {
  const moment = await readMoment(
    tx,
    issuances.flatMap(({ row: { org_id } }) => org_id ?? []),
  )
  return new Set(issuances.filter(({ row, stamp }) => !isStillSo(stamp, moment, row.org_id)))
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

  /** Rows first, then the chains, then the question whether all is still as it was: nothing that it asks about is locked after it. */
  const write = async (tx: Tx, issuances: readonly Issuance[], works: readonly Work[]): Promise<void> => {
    await noteUse(tx, issuances)
    await tx.many(insertTokens(issuances.map(({ row }) => row)))
    await append(...(works as [Work, ...Work[]]))
    const stale = await staleAmong(tx, issuances)
    if (stale.size > 0) throw new Moved(stale)
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
    { most_questions: 256 },
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
