import type { Append } from '../audit/append.ts'
import { record } from '../audit/record.ts'
import type { Database } from '../db/database.ts'
import { newId } from '../kernel/ids.ts'
import { newTrail, type Work } from '../work/work.ts'
import type { CheckpointLog } from './checkpoint-log.ts'
import { behindCheckpoints } from './compare-heads.ts'
import { bumpEpoch } from './installation-queries.ts'
import { writeWithin } from './write-checkpoint.ts'

/**
 * An operator says that the database was knowingly put back. The epoch moves on, so that no machine token, grant or node state of
 * before counts; the record and the checkpoint say so, in one transaction.
 */
export const acceptRestore = async (database: Database, log: CheckpointLog, append: Append, reason: string): Promise<number> => {
  const behind = await behindCheckpoints(database, log)
  return database.transaction('write', async (tx) => {
    const { epoch, id } = await tx.one(bumpEpoch())
    const actor = { type: 'system', id: 'restore' } as const
    const work: Work = { actor, correlation_id: newId('correlation'), now: tx.now, tx, trail: newTrail() }
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
