import type { Database } from '../db/database.ts'
import { CheckpointsRefused } from './checkpoint.ts'
import type { CheckpointLog } from './checkpoint-log.ts'
import { writeCheckpoint } from './write-checkpoint.ts'

export interface CheckpointTending {
  readonly database: Database
  readonly checkpoints: CheckpointLog
  readonly checkpoint_seconds: number
  /** There are so many checkpoints now. */
  readonly onCheckpointed: (number: number) => void
  /** This is not the database that the checkpoints saw: the process must end. */
  readonly onCheckpointsRefused: (because: string) => void
}

export const tendCheckpoints = async (tending: CheckpointTending): Promise<void> => {
  try {
    tending.onCheckpointed(await writeCheckpoint(tending.database, tending.checkpoints))
  } catch (error) {
    // Not the database that the checkpoints saw any more: to go on would be to honour what has ended.
    if (error instanceof CheckpointsRefused) tending.onCheckpointsRefused(error.message)
    throw error
  }
}
