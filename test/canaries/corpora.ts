import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Sql } from '../faults/replay/room.ts'

/** Every row of every table, as text: `table NAME` → all of it. */
export const tablesOf = async (sql: Sql): Promise<Map<string, Buffer>> => {
  const tables = await sql<{ name: string }>(`select tablename as name from pg_tables where schemaname = 'public' order by 1`)
  const found = new Map<string, Buffer>()
  for (const { name } of tables) {
    const rows = await sql<{ line: string }>(`select t::text || ' ' || to_jsonb(t)::text as line from ${name} t`)
    found.set(`table ${name}`, Buffer.from(rows.map(({ line }) => line).join('\n')))
  }
  return found
}

const filesUnder = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true, recursive: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name)] : [],
  )

/** What is on the disk under a folder, in one piece: tables, indexes, the write-ahead log, the database's own log. */
export const filesIn = (folder: string): Buffer =>
  Buffer.concat(
    filesUnder(folder).flatMap((path) => {
      try {
        return [readFileSync(path)]
      } catch {
        // It went away while we looked; a file that nobody has is no leak.
        return []
      }
    }),
  )
