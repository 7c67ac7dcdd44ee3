import type { Append } from '#rails/audit/append.ts'
import { record } from '#rails/audit/record.ts'
import { seal, unseal } from '../custody/envelope.ts'
import type { KeyRing } from '../custody/key-ring.ts'
import type { Database } from '../db/database.ts'
import { newId } from '../kernel/ids.ts'
import { systemWork } from '../work/work.ts'
import { replaceEnvelope, sealedWithOtherKeys } from './installation-queries.ts'
import { boundOf } from './own-secrets.ts'

/** A column of envelopes, as the room that owns the table describes it. */
export interface EnvelopeColumn {
  readonly table: string
  readonly id: string
  readonly column: string
  /** Columns of the same row that its envelope is bound to beside the id. */
  readonly bound_by?: readonly string[]
  readonly boundOf: (id: string, ...bound_by: string[]) => string
}

export const installationEnvelopes: EnvelopeColumn = { table: 'installation_secrets', id: 'name', column: 'envelope', boundOf }

/**
 * Seals everything anew with the active key, a batch at a time; stopped half way it can simply be run again. Afterwards the old
 * keys open nothing that is still needed and may be taken out of the configuration: unless one of them is a signing key itself (HS256),
 * which must be rotated away first.
 */
export const rewrap = async (
  database: Database,
  ring: KeyRing,
  columns: readonly EnvelopeColumn[],
  append: Append,
): Promise<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for (const { table, id, column, bound_by = [], boundOf: bound } of columns) {
    const name = `${table}.${column}`
    counts[name] = 0
    for (let moved = -1; moved !== 0; counts[name] += moved)
      moved = await database.transaction('write', async (tx) => {
        const rows = await tx.many(sealedWithOtherKeys(table, id, column, bound_by, ring.active_id, 200))
        for (const row of rows) {
          const place = bound(row.id, ...row.bound_by)
          const envelope = seal(ring, unseal(ring, row.envelope, place), place)
          await tx.one(replaceEnvelope(table, id, column, row.id, JSON.stringify(envelope)))
        }
        if (rows.length > 0) {
          const work = systemWork(tx, 'rewrap', newId('correlation'))
          const metadata = { column: name, rows: rows.length, key_id: ring.active_id }
          record(work, {
            action: 'installation.rewrap',
            resource_type: 'installation',
            resource_id: ring.active_id,
            severity: 'high',
            metadata,
          })
          await append(work)
        }
        return rows.length
      })
  }
  return counts
}
