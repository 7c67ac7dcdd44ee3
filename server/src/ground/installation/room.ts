import { room } from '../kernel/room-door.ts'
import { installationEnvelopes } from './rewrap.ts'

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
    'write-checkpoint.ts',
  ],
  sealed: [installationEnvelopes],
})
