import type { Append } from '#rails/audit/append.ts'
import { record } from '#rails/audit/record.ts'
import type { Database } from '../db/database.ts'
import { newId } from '../kernel/ids.ts'
import { systemWork } from '../work/work.ts'
import { CheckpointsRefused } from './checkpoint.ts'
import type { CheckpointLog } from './checkpoint-log.ts'
import { behindCheckpoints, requireWholeFile } from './compare-heads.ts'
import { bumpEpoch } from './installation-queries.ts'
import { writeWithin } from './write-checkpoint.ts'

/**
 * An operator says that the database was knowingly put back. The epoch moves on, so that no machine token, grant or node state of
 * before counts; the record and the checkpoint say so, in one transaction.
 */
export const acceptRestore = async (
  database: Database,
  log: CheckpointLog,
  append: Append,
  reason: string,
  { isForced = false, isFileLost = false } = {},
): Promise<number> => {
  await requireWholeFile(database, log, isFileLost)
  const behind = await behindCheckpoints(database, log)
  // Without cause the epoch stays: a slip must not end every machine token. A restore by other means may leave no trace that we see.
  if (behind === null && !isForced)
    throw new CheckpointsRefused(
      'There is nothing to accept: this database was not restored and is not behind its checkpoints. If it was restored by other means, say --anyway.',
    )
  return database.transaction('write', async (tx) => {
    const { epoch, id } = await tx.one(bumpEpoch(log.epoch()))
    const work = systemWork(tx, 'restore', newId('correlation'))
    record(work, {
      action: 'installation.restore.accept',
      resource_type: 'installation',
      resource_id: id,
      severity: 'high',
      metadata: { epoch, reason, found: behind },
    })
    await append(work)
    await writeWithin(tx, log, 'restore_accepted')
    return epoch
  })
}
