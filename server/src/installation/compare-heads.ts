import { hashesAt } from '../audit/audit-queries.ts'
import { platformChain } from '../audit/chain.ts'
import type { Database, Reader } from '../db/database.ts'
import { CheckpointsRefused } from './checkpoint.ts'
import type { CheckpointLog } from './checkpoint-log.ts'
import { readInstallation } from './installation-queries.ts'

/** What the checkpoints remember of the chains' ends and this database does not have; null if it is at least as far as they. */
export const lostSince = async (reader: Reader, log: CheckpointLog): Promise<string | null> => {
  const remembered = [...log.heads()]
  const found = await reader.many(
    hashesAt(
      remembered.map(([chain_id]) => chain_id),
      remembered.map(([, { seq }]) => seq),
    ),
  )
  const known = new Map(found.map(({ chain_id, hash }) => [chain_id, hash.toString('hex')]))
  const lost = remembered.filter(([chain_id, { hash }]) => known.get(chain_id) !== hash)
  if (lost.length === 0) return null
  const [chain_id, { seq }] = lost[0]!
  const whose = chain_id === platformChain ? 'the platform' : `tenant ${chain_id}`
  const more = lost.length > 1 ? ` (and ${lost.length - 1} more)` : ''
  return `row ${seq} in the audit chain of ${whose}${more} is not the one that a signed checkpoint remembers`
}

/**
 * Why this database cannot be the one that the checkpoints saw, if it cannot: it was put back to an earlier state, and would
 * revive what has ended since.
 */
export const behindCheckpoints = async (database: Database, log: CheckpointLog): Promise<string | null> => {
  await log.refresh()
  const { checkpoint_number, is_restored } = await database.reader.one(readInstallation())
  // Even where no checkpoint knows of anything later: something may have ended between the last one and the loss.
  if (is_restored) return 'it was restored from a backup'
  if (checkpoint_number > log.count())
    return `the database knows of ${checkpoint_number} checkpoints, but only ${log.count()} are in the checkpoint file`
  return lostSince(database.reader, log)
}

/** A server on such a database would honour what has long been taken away. */
export const requireNotBehind = async (database: Database, log: CheckpointLog): Promise<void> => {
  const behind = await behindCheckpoints(database, log)
  if (behind)
    throw new CheckpointsRefused(
      `This database is not the one that its signed checkpoints saw: ${behind}. If it was knowingly restored, accept that with: npm run restore -- --accept --reason "why"`,
    )
}
