import { room } from '../kernel/room-door.ts'
import { installationSentences } from './installation-sentences.ts'
import { installationEnvelopes } from './rewrap.ts'
import { type CheckpointTending, tendCheckpoints } from './tend-checkpoints.ts'

export const installationRoom = room({
  sees: ['audit', 'work', 'custody', 'db', 'kernel'],
  shows: [
    'accept-restore.ts',
    'checkpoint-file.ts',
    'checkpoint-log.ts',
    'checkpoint.ts',
    'compare-heads.ts',
    'own-secrets.ts',
    'require-key-known.ts',
    'rewrap.ts',
    'verify-record.ts',
  ],
  sealed: [installationEnvelopes],
  jobs: [
    {
      name: 'write-checkpoint',
      doing: 'writing a checkpoint',
      every_seconds: ({ checkpoint_seconds }: CheckpointTending) => checkpoint_seconds,
      at_end: true,
      run: tendCheckpoints,
    },
  ],
  sentences: installationSentences,
})
