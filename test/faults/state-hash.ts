import type { Sql } from './replay/room.ts'

export const tablesIn = async (sql: Sql): Promise<string[]> =>
  (await sql<{ name: string }>(`select tablename as name from pg_tables where schemaname = 'public' order by 1`)).map(({ name }) => name)

/**
 * One hash over every row of these tables: where it stands and who wrote it, which no kept change leaves as it was, and which is read
 * five times as fast as its text. In no order: to put it in order takes ten times as long.
 */
export const hashOf = async (sql: Sql, tables: readonly string[]): Promise<string> => {
  const each = tables.map(
    (name) => `(select count(*) || ' ' || coalesce(sum(hashtextextended(t.ctid || ' ' || t.xmin, 0)), 0) from ${name} t)`,
  )
  return (await sql<{ hash: string }>(`select md5(concat_ws(', ', ${each.join(', ')})) as hash`))[0]!.hash
}

/** Over every table: equal means that nothing at all was kept. */
export const stateHash = async (sql: Sql): Promise<string> => hashOf(sql, await tablesIn(sql))
