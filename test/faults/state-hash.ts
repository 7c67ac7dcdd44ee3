import type { Sql } from './replay.ts'

/** One hash over every row of every table: equal means that nothing at all was kept. */
export const stateHash = async (sql: Sql): Promise<string> => {
  const tables = await sql<{ name: string }>(`select tablename as name from pg_tables where schemaname = 'public' order by 1`)
  const each = tables.map(({ name }) => `(select coalesce(md5(string_agg(t::text, E'\\n' order by t::text)), '-') from ${name} t)`)
  return (await sql<{ hash: string }>(`select md5(concat_ws(' ', ${each.join(', ')})) as hash`))[0]!.hash
}
