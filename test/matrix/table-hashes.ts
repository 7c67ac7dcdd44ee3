import { hashText, tablesIn } from '../faults/state-hash.ts'
import type { LiveServer } from '../live-server.ts'

/** What every table holds, but for these; by name, so that a difference says where. */
export const tableHashes = async ({ sql }: Pick<LiveServer, 'sql'>, but: readonly string[]): Promise<Record<string, string>> => {
  const tables = (await tablesIn(sql)).filter((name) => !but.includes(name))
  const [hashes] = await sql<Record<string, string>>(`select ${tables.map((name) => `${hashText(name)} as ${name}`).join(', ')}`)
  return hashes!
}
