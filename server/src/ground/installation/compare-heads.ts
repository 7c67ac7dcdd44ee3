import { hashesAt } from '#rails/audit/audit-queries.ts'
import { platformChain } from '#rails/audit/chain.ts'
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

/** Says so where the database knows of more checkpoints than the file has: it is another database's file, or not all of this one's. */
const missingCheckpoints = (known: number, log: CheckpointLog): string | null =>
  known > log.count()
    ? `The database knows of ${known} checkpoints, but only ${log.count()} are in the checkpoint file ${log.where}. Check the path in GATEHOUSE_CHECKPOINT_FILE, and put the right file in its place`
    : null

/**
 * A wrong path looks like a lost memory. It must not be accepted like a restore: that would end every machine token, and begin a second memory
 * beside the right one. So an operator who accepts must say that the file is lost for good.
 */
export const requireWholeFile = async (database: Database, log: CheckpointLog, isLost = false): Promise<void> => {
  await log.refresh()
  const { checkpoint_number } = await database.reader.one(readInstallation())
  const missing = missingCheckpoints(checkpoint_number, log)
  if (missing && !isLost)
    throw new CheckpointsRefused(`${missing}. Nothing was changed. If the file is lost for good, add --checkpoints-lost.`)
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
  await log.refresh()
  const { checkpoint_number } = await database.reader.one(readInstallation())
  const missing = missingCheckpoints(checkpoint_number, log)
  // Not a word about accepting: nothing was restored, as far as anybody can tell.
  if (missing) throw new CheckpointsRefused(`${missing}; docs/guides/backup.md says what to do if it is lost.`)
  const behind = await behindCheckpoints(database, log)
  if (behind)
    throw new CheckpointsRefused(
      `This database is not the one that its signed checkpoints saw: ${behind}. If it was knowingly restored, accept that with: npm run restore -- --accept --reason "why"`,
    )
}
