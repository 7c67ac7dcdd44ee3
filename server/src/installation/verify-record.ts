import type { KeyObject } from 'node:crypto'
import { type Verified, verifyChains } from '../audit/verify-chains.ts'
import type { Database } from '../db/database.ts'
import { memoryOf, readCheckpoints } from './checkpoint.ts'
import type { CheckpointStore } from './checkpoint-file.ts'

/**
 * Verifies the record against everything the checkpoints have ever remembered of it. They are read first, and the rows in one snapshot
 * after that: what is written meanwhile must not look like a fault.
 */
export const verifyRecord = async (
  database: Database,
  auditKey: Buffer,
  store: CheckpointStore,
  checkpointKey: KeyObject,
): Promise<Verified & { checkpoints: number }> => {
  const checkpoints = readCheckpoints((await store.linesFrom(0)).lines, checkpointKey)
  const verified = await database.transaction('read', (tx) => verifyChains(tx, auditKey, memoryOf(checkpoints)))
  return { ...verified, checkpoints: checkpoints.length }
}
