import type { Sql } from './replay/room.ts'

export const tablesIn = async (sql: Sql): Promise<string[]> =>
  (await sql<{ name: string }>(`select tablename as name from pg_tables where schemaname = 'public' order by 1`)).map(({ name }) => name)

/**
 * Over every row of a table: where it stands and who wrote it, which no kept change leaves as it was, and which is read five times as fast as
 * its text. In no order: to put it in order takes ten times as long.
 */
export const hashText = (name: string): string =>
  `(select count(*) || ' ' || coalesce(sum(hashtextextended(t.ctid || ' ' || t.xmin, 0)), 0) from ${name} t)`

/** One hash for all of these tables. */
export const hashOf = async (sql: Sql, tables: readonly string[]): Promise<string> =>
  (await sql<{ hash: string }>(`select md5(concat_ws(', ', ${tables.map(hashText).join(', ')})) as hash`))[0]!.hash

/** Over every table: equal means that nothing at all was kept. */
export const stateHash = async (sql: Sql): Promise<string> => hashOf(sql, await tablesIn(sql))
