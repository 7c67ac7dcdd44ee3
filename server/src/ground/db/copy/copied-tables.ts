import type { Header } from './backup-format.ts'
import { notPlainTables, tableColumns, tableReferences } from './copy-queries.ts'
import { CopyRefused } from './copy-refused.ts'
import type { OwnerSession } from './owner-session.ts'
import { tableOrder } from './table-order.ts'

export type CopiedTable = Header['tables'][number]

/**
 * What a prepared database already holds before anybody has used it: mirrors of what the code owns, and the installation itself. A
 * restore replaces these rows; a row in any other table means that the database is in use.
 */
export const tablesOfPreparation: ReadonlySet<string> = new Set([
  'epochs',
  'installation',
  'installation_secrets',
  'policy_definitions',
  'policy_values',
  'role_definitions',
  'role_definition_versions',
  'role_permissions',
])

/** All tables with their columns, in the order in which they can be filled. The catalogue says so, not a list of ours. */
export const copiedTables = async (session: OwnerSession): Promise<CopiedTable[]> => {
  const strange = await session.many(notPlainTables())
  // Left out silently, its rows would be missed on the day of the restore.
  if (strange.length > 0)
    throw new CopyRefused(`${strange.map(({ name }) => name).join(', ')} is no plain table, and a backup holds plain tables only.`)
  const tables = new Map((await session.many(tableColumns())).map((table) => [table.name, table]))
  return tableOrder([...tables.keys()], await session.many(tableReferences())).map((name) => tables.get(name)!)
}
