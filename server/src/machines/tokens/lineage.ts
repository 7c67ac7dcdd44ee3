import type { Tx } from '#ground/db/database.ts'
import { type Lineage, lineagesOf } from './lineage-queries.ts'
import type { FoundToken } from './live-token-queries.ts'

/** A token with the line that it comes from; null where it comes from none. */
export type TokenRecord<Row extends FoundToken = FoundToken> = Row & { readonly lineage: Lineage | null }

/** A line of which nothing was found is a line that has ended. */
const lost: Lineage = { depth: 0, is_ended: true, ends_at: null }

/** Most tokens come from none, and cost no second look. In the snapshot of the first. */
export const withLineage = async <Row extends FoundToken>(tx: Pick<Tx, 'many'>, rows: readonly Row[]): Promise<TokenRecord<Row>[]> => {
  const descended = rows.filter(({ parent_id }) => parent_id !== null).map(({ id }) => id)
  const found = descended.length === 0 ? [] : await tx.many(lineagesOf([...new Set(descended)]))
  const lines = new Map(found.map(({ id, ...line }) => [id, line]))
  return rows.map((row) => ({ ...row, lineage: row.parent_id === null ? null : (lines.get(row.id) ?? lost) }))
}
