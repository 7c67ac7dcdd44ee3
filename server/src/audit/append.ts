import type { KeyObject } from 'node:crypto'
import { newId } from '../kernel/ids.ts'
import { Problem } from '../kernel/problem.ts'
import type { AuditEvent, Work } from '../work/work.ts'
import { insertChained, lockHead, openHead } from './audit-queries.ts'
import { type ChainedRow, chainOf, linkHash, metadataText, microseconds, textOf } from './chain.ts'
import { resourceName } from './resource-name.ts'

type Hashed = ChainedRow & { hash: Buffer }

const extend = async ({ region, key }: AuditSeal, work: Work, chain_id: string, events: readonly AuditEvent[]): Promise<void> => {
  const head = (await work.tx.maybe(lockHead(chain_id))) ?? (await work.tx.one(openHead(chain_id)))
  let previous = head.hash
  const rows = events.map((event, index): Hashed => {
    const row: ChainedRow = {
      ...event,
      chain_id,
      seq: head.seq + index + 1,
      id: newId('audit'),
      occurred_at: microseconds(work.now),
      correlation_id: work.correlation_id,
      actor_type: work.actor.type,
      actor_id: work.actor.id,
      platform_role: work.trail.platform_role,
      resource_name: resourceName(region, event),
      metadata: metadataText(event.metadata),
    }
    previous = linkHash(key, previous, textOf(row))
    return { ...row, hash: previous }
  })
  await work.tx.one(insertChained(chain_id, rows))
}

/** Appends the events of a work to their chains. */
export type Append = (work: Work) => Promise<void>

/** What the process must know to write a record: where it is, and the key of the chains. */
export interface AuditSeal {
  readonly region: string
  readonly key: KeyObject
}

/**
 * Writes the events of a work, as the last thing before its commit: the chain's lock is held only from here to there. Chains are
 * locked in one order. What cannot be recorded does not happen.
 */
export const appendWith =
  (seal: AuditSeal): Append =>
  async (work) => {
    const chains = Map.groupBy(work.trail.events, ({ tenant_id }) => chainOf(tenant_id))
    try {
      for (const [chain_id, events] of [...chains].sort(([a], [b]) => (a < b ? -1 : 1))) await extend(seal, work, chain_id, events)
    } catch (error) {
      throw new Problem('dependency_unavailable', undefined, error)
    }
  }
