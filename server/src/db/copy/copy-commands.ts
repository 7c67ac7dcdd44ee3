import pg from 'pg'
import type { Header } from './backup-format.ts'
import type { CopiedTable } from './copied-tables.ts'

// Names come from the catalogue of the database that is spoken to, never from a file.
const named = (name: string) => `public.${pg.escapeIdentifier(name)}`
const list = (names: readonly string[]) => names.map(named).join(', ')
const columnsOf = ({ columns }: CopiedTable) => columns.map(pg.escapeIdentifier).join(', ')

export const lockTables = (names: readonly string[], mode: 'access share' | 'access exclusive') =>
  `lock table ${list(names)} in ${mode} mode`
export const truncateTables = (names: readonly string[]) => `truncate ${list(names)}`
export const analyzeTables = (names: readonly string[]) => `analyze ${list(names)}`
export const copyOut = (table: CopiedTable) => `copy ${named(table.name)} (${columnsOf(table)}) to stdout`
export const copyIn = (table: CopiedTable) => `copy ${named(table.name)} (${columnsOf(table)}) from stdin`
/** Undone with its transaction, as setting the sequence itself would not be. */
export const numberOnFrom = ({ table, column, last }: Header['numbered'][number]) =>
  `alter table ${named(table)} alter column ${pg.escapeIdentifier(column)} restart with ${BigInt(last) + 1n}`
/** The names of the tables that hold a row. */
export const filledAmong = (names: readonly string[]) =>
  names.map((name) => `select ${pg.escapeLiteral(name)} as name where exists (select from ${named(name)})`).join(' union all ')
/** What was restored says so of itself, whatever anybody outside remembers. */
export const markRestored = () => 'update installation set is_restored = true'
