import { hashOf, tablesIn } from '../faults/state-hash.ts'
import type { LiveServer } from '../live-server.ts'

/** What every table holds, but for these; by name, so that a difference says where. */
export const tableHashes = async ({ sql }: LiveServer, but: readonly string[]): Promise<Record<string, string>> => {
  const hashes: Record<string, string> = {}
  for (const name of await tablesIn(sql)) if (!but.includes(name)) hashes[name] = await hashOf(sql, [name])
  return hashes
}
