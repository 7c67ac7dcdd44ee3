import type { KeyObject } from 'node:crypto'
import { platformChain } from '#rails/audit/chain.ts'
import { type Fault, type Verified, verifyChains } from '#rails/audit/verify-chains.ts'
import type { Database } from '../db/database.ts'
import { type AcceptedGap, acceptedGaps } from './accepted-gaps.ts'
import { memoryOf, readCheckpoints } from './checkpoint.ts'
import type { CheckpointStore } from './checkpoint-file.ts'
import { readInstallation, recordedAcceptances } from './installation-queries.ts'

/** Without them a cut tail goes unnoticed, so their absence is a fault of the whole record. */
const thinned = (known: number, found: number, where: string): Fault => ({
  chain_id: platformChain,
  tenant_id: null,
  first_bad_seq: 1,
  kind: 'checkpoints_missing',
  sentence: `The database knows of ${known} checkpoints, but only ${found} are in the checkpoint file ${where}. Check the path in GATEHOUSE_CHECKPOINT_FILE.`,
})

/**
 * Verifies the record against everything the checkpoints have ever remembered of it. They are read first, and the rows in one snapshot
 * after that: what is written meanwhile must not look like a fault.
 */
export const verifyRecord = async (
  database: Database,
  auditKey: KeyObject,
  store: CheckpointStore,
  checkpointKey: KeyObject,
): Promise<Verified & { checkpoints: number; accepted: AcceptedGap[] }> => {
  // Asked before the file is read: a line is written before the database counts it, so the file can only be ahead.
  const { checkpoint_number } = await database.reader.one(readInstallation())
  const checkpoints = readCheckpoints((await store.linesFrom(0)).lines, checkpointKey, undefined, store.where)
  return database.transaction('read', async (tx) => {
    const verified = await verifyChains(tx, auditKey, memoryOf(checkpoints))
    const missing = checkpoints.length < checkpoint_number ? [thinned(checkpoint_number, checkpoints.length, store.where)] : []
    const accepted = acceptedGaps(checkpoints, await tx.many(recordedAcceptances()))
    return { ...verified, faults: [...missing, ...verified.faults], checkpoints: checkpoints.length, accepted }
  })
}
