import type { KeyObject } from 'node:crypto'
import type { Tx } from '#ground/db/database.ts'
import type { Statement } from '#ground/db/statement.ts'
import { newId } from '#ground/kernel/ids.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { AuditEvent, Work } from '#ground/work/work.ts'
import { type Head, insertChained, lockHeads, openHead } from './audit-queries.ts'
import { type ChainedRow, chainOf, linkHash, metadataText, microseconds, textOf } from './chain.ts'
import { resourceName } from './resource-name.ts'

type Hashed = ChainedRow & { hash: Buffer }
type Entry = readonly [work: Work, event: AuditEvent]

/** With who acted for the actor, if anybody did: nobody who tells what happened has to remember to say so. */
const toldBy = ({ actor: { type, id, token } }: Work, { metadata }: AuditEvent) =>
  metadataText({
    ...metadata,
    ...(token?.act ? { act: token.act } : {}),
    ...(type === 'shared_runtime_operator' ? { shared_runtime_id: id } : {}),
  })

/** Machines have no platform role, though decisions about them begin from the one that everybody has. */
const roleHeldBy = ({ actor, trail }: Work): string | null => (actor.type === 'user' ? trail.platform_role : null)

/** The lock on the chains of some tenants, in the order of their ids and in one statement: one who knows them can send it ahead. */
export interface ChainLock {
  readonly chain_ids: readonly string[]
  readonly statement: Statement<Head>
}
export const chainLock = (tenant_ids: Iterable<string | null>): ChainLock => {
  const chain_ids = [...new Set(Array.from(tenant_ids, chainOf))].sort()
  return { chain_ids, statement: lockHeads(chain_ids) }
}

type Heads = ReadonlyMap<string, Head>
const lockedHeads = async (tx: Tx, { chain_ids, statement }: ChainLock): Promise<{ heads: Heads; has_begun: boolean }> => {
  const heads = new Map((await tx.many(statement)).map((head) => [head.chain_id, head]))
  const has_begun = heads.size < chain_ids.length
  // A chain begins once. Two that begin the same ones in different orders may stop each other, and the loser is tried again.
  for (const chain_id of chain_ids) if (!heads.has(chain_id)) heads.set(chain_id, await tx.one(openHead(chain_id)))
  return { heads, has_begun }
}

/** The chains that a transaction has locked before it knew what to append. */
const held = new WeakMap<Tx, Heads>()

/** For one who must ask something behind the locks before he appends. Says whether one of them began with this, later than the others were locked. */
export const lockChains = async (tx: Tx, lock: ChainLock): Promise<{ has_begun: boolean }> => {
  const { heads, has_begun } = await lockedHeads(tx, lock)
  held.set(tx, heads)
  return { has_begun }
}

const linked = ({ region, key }: AuditSeal, { chain_id, seq, hash }: Head, entries: readonly Entry[]): Hashed[] => {
  let previous = hash
  return entries.map(([work, event], index): Hashed => {
    const row: ChainedRow = {
      ...event,
      chain_id,
      seq: seq + index + 1,
      id: newId('audit'),
      occurred_at: microseconds(work.now),
      correlation_id: work.correlation_id,
      actor_type: work.actor.type,
      actor_id: work.actor.id,
      credential_id: work.actor.credential_id ?? null,
      jti: event.jti ?? work.actor.token?.jti ?? null,
      platform_role: roleHeldBy(work),
      resource_name: resourceName(region, event),
      metadata: toldBy(work, event),
    }
    previous = linkHash(key, previous, textOf(row))
    return { ...row, hash: previous }
  })
}

/** Appends the events of works to their chains; several works share one transaction. */
export type Append = (...works: readonly [Work, ...Work[]]) => Promise<void>

/** What the process must know to write a record: where it is, and the key of the chains. */
export interface AuditSeal {
  readonly region: string
  readonly key: KeyObject
}

const unrecorded = (error: unknown) => new Problem('dependency_unavailable', undefined, error)

/**
 * Writes the events of the works of one transaction, as the last thing before its commit: the locks of their chains are held only from
 * here to there. However many works and chains, it is two statements. What cannot be recorded does not happen.
 */
export const appendWith =
  (seal: AuditSeal): Append =>
  async (...works) => {
    const entries = works.flatMap((work) => work.trail.events.map((event): Entry => [work, event]))
    if (entries.length === 0) return
    const { tx } = works[0]
    const tenants = entries.map(([, { tenant_id }]) => tenant_id)
    const chains = Map.groupBy(entries, ([, { tenant_id }]) => chainOf(tenant_id))
    const known = held.get(tx)
    // From here on they are where the database says.
    held.delete(tx)
    try {
      const heads = [...chains.keys()].every((id) => known?.has(id)) ? known! : (await lockedHeads(tx, chainLock(tenants))).heads
      const rows = [...chains].map(([chain_id, of_chain]) => linked(seal, heads.get(chain_id)!, of_chain))
      tx.last(
        insertChained(
          rows.flat(),
          rows.map((each) => each.at(-1)!),
          rows.map((each) => each.length),
        ),
        unrecorded,
      )
    } catch (error) {
      throw unrecorded(error)
    }
  }
