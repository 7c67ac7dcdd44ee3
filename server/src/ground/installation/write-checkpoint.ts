import { allHeads } from '#rails/audit/audit-queries.ts'
import type { Database, Tx } from '../db/database.ts'
import { type Checkpoint, CheckpointsRefused } from './checkpoint.ts'
import type { CheckpointLog } from './checkpoint-log.ts'
import { lostSince } from './compare-heads.ts'
import { lockInstallation, noteCheckpoint } from './installation-queries.ts'

const requireRemembered = async (tx: Tx, log: CheckpointLog, epoch: number): Promise<void> => {
  if (log.epoch() > epoch) throw new CheckpointsRefused('Another database has begun a later epoch with this checkpoint file.')
  const lost = await lostSince(tx, log)
  if (lost) throw new CheckpointsRefused(`The database was put back under the running server: ${lost}.`)
}

/** Writes down where the chains end. The installation's lock lets one process write at a time. */
export const writeWithin = async (tx: Tx, log: CheckpointLog, kind: Checkpoint['kind']): Promise<number> => {
  const installation = await tx.one(lockInstallation())
  await log.refresh()
  const isPlain = kind === 'checkpoint'
  if (isPlain && log.count() < installation.checkpoint_number)
    throw new CheckpointsRefused(
      `The database knows of ${installation.checkpoint_number} checkpoints, but only ${log.count()} are there (${log.where}).`,
    )
  // What is signed now would be believed later: never sign for less than was signed before.
  if (isPlain) await requireRemembered(tx, log, installation.epoch)
  const heads = (await tx.many(allHeads())).map(({ chain_id, seq, hash }) => [chain_id, { seq, hash: hash.toString('hex') }] as const)
  const moved = isPlain ? heads.filter(([chain_id, { hash }]) => log.heads().get(chain_id)?.hash !== hash) : heads
  if (moved.length === 0) return log.count()
  const { id, epoch } = installation
  const number = await log.append({ kind, at: tx.now, installation_id: id, epoch, heads: Object.fromEntries(moved) })
  await tx.one(noteCheckpoint(number))
  return number
}

/** Returns how many checkpoints there are now; where nothing happened, none is added. */
export const writeCheckpoint = (database: Database, log: CheckpointLog): Promise<number> =>
  database.transaction('write', (tx) => writeWithin(tx, log, 'checkpoint'))
