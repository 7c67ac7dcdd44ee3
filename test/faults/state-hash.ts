import { createHash } from 'node:crypto'
import type { Sql } from './replay.ts'

/** One hash over every row of every table: equal means that nothing at all was kept. */
export const stateHash = async (sql: Sql): Promise<string> => {
  const tables = await sql<{ name: string }>(`select tablename as name from pg_tables where schemaname = 'public' order by 1`)
  const hash = createHash('sha256')
  for (const { name } of tables) {
    const rows = await sql<{ all: string | null }>(`select md5(string_agg(t::text, E'\\n' order by t::text)) as all from ${name} t`)
    hash.update(`${name} ${rows[0]!.all}\n`)
  }
  return hash.digest('hex')
}
