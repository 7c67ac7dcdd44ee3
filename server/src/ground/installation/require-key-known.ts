import { fingerprintOf, type KeyRing, KeysRefused } from '../custody/key-ring.ts'
import type { Reader } from '../db/database.ts'
import { listeningServers } from './installation-queries.ts'

/**
 * A server that does not know the key could open nothing any more: it would sign no token and no task. Each server shows the fingerprints of its keys
 * in the name of its LISTEN connection, for as long as it runs.
 */
export const requireKeyKnown = async (reader: Reader, ring: KeyRing): Promise<void> => {
  const fingerprint = fingerprintOf(ring, ring.active_id)
  const ignorant = (await reader.many(listeningServers())).filter(({ name }) => !name.split(' ').includes(fingerprint))
  if (ignorant.length === 0) return
  const places = ignorant.map(({ address, pid }) => `${address ?? 'a local socket'} (database process ${pid})`).join(', ')
  throw new KeysRefused(
    `A running server does not know the key ${ring.active_id}: ${places}. Nothing was changed. Give every server the new list of keys, restart it, and run this again.`,
  )
}
