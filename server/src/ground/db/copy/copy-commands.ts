import pg from 'pg'
import type { Header } from './backup-format.ts'
import type { CopiedTable } from './copied-tables.ts'
import type { ForeignKey } from './copy-queries.ts'

// Names come from the catalogue of the database that is spoken to, never from a file.
const named = (name: string, schema: 'public' | 'pg_temp' = 'public') => `${schema}.${pg.escapeIdentifier(name)}`
const list = (names: readonly string[]) => names.map((name) => named(name)).join(', ')
const columnsOf = ({ columns }: CopiedTable) => columns.map(pg.escapeIdentifier).join(', ')

export const lockTables = (names: readonly string[], mode: 'access share' | 'access exclusive') =>
  `lock table ${list(names)} in ${mode} mode`
export const truncateTables = (names: readonly string[]) => `truncate ${list(names)}`
export const analyzeTables = (names: readonly string[]) => `analyze ${list(names)}`
export const copyOut = (table: CopiedTable) => `copy ${named(table.name)} (${columnsOf(table)}) to stdout`
export const copyIn = (table: CopiedTable, schema: 'public' | 'pg_temp' = 'public') =>
  `copy ${named(table.name, schema)} (${columnsOf(table)}) from stdin`
/** A table of this session alone, with the columns, checks and unique indexes of the other. */
export const rehearsalTable = (name: string) => `create temp table ${named(name, 'pg_temp')} (like ${named(name)} including all)`
export const dropRehearsal = (name: string) => `drop table ${named(name, 'pg_temp')}`
/** How many rows there are, and a sum over their texts that does not depend on their order. */
export const checksumOf = (name: string, schema: 'public' | 'pg_temp') =>
  `select count(*)::text || ' ' || coalesce(sum(hashtextextended(t::text, 0)), 0)::text as checksum from ${named(name, schema)} t`
/** Whether a row refers to one that is not there. */
export const orphansOf = ({ child, parent, from, to }: ForeignKey) => {
  const pairs = from.map((column, at) => [pg.escapeIdentifier(column), pg.escapeIdentifier(to[at]!)] as const)
  const isSet = pairs.map(([column]) => `c.${column} is not null`).join(' and ')
  const isThere = pairs.map(([column, key]) => `p.${key} = c.${column}`).join(' and ')
  return `select exists (select from ${named(child)} c where ${isSet} and not exists (select from ${named(parent)} p where ${isThere})) as has_orphans`
}
/** All triggers but those of foreign keys: they judge and announce changes, and what a backup holds is history. */
export const switchTriggers = (to: 'disable' | 'enable', names: readonly string[]) =>
  names.map((name) => `alter table ${named(name)} ${to} trigger user`).join('; ')
/** Undone with its transaction, as setting the sequence itself would not be. */
export const numberOnFrom = ({ table, column, last }: Header['numbered'][number]) =>
  `alter table ${named(table)} alter column ${pg.escapeIdentifier(column)} restart with ${BigInt(last) + 1n}`
/** The names of the tables that hold a row. */
export const filledAmong = (names: readonly string[]) =>
  names.map((name) => `select ${pg.escapeLiteral(name)} as name where exists (select from ${named(name)})`).join(' union all ')
/** Every epoch gets a new stamp: a server that has cached facts by an old stamp must not take them for current. */
export const moveAllEpochs = () => 'update epochs set value = value + 1, stamp = gen_random_uuid()'
/** What was restored says so of itself, whatever anybody outside remembers. */
export const markRestored = () => 'update installation set is_restored = true'
