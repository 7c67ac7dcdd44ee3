import type { KeyObject } from 'node:crypto'
import { type Verified, verifyChains } from '../audit/verify-chains.ts'
import type { Reader } from '../db/database.ts'
import { memoryOf, readCheckpoints } from './checkpoint.ts'
import type { CheckpointStore } from './checkpoint-file.ts'

/** Verifies the record against everything the checkpoints have ever remembered of it. */
export const verifyRecord = async (
  reader: Reader,
  auditKey: Buffer,
  store: CheckpointStore,
  checkpointKey: KeyObject,
): Promise<Verified & { checkpoints: number }> => {
  const checkpoints = readCheckpoints((await store.linesFrom(0)).lines, checkpointKey)
  return { ...(await verifyChains(reader, auditKey, memoryOf(checkpoints))), checkpoints: checkpoints.length }
}
