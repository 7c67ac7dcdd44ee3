import { room } from '#ground/kernel/room-door.ts'
import { taskSignerEnvelopes } from './make-signer.ts'
import { taskSignersSentences } from './task-signers-sentences.ts'

export const taskSignersRoom = room({
  sees: ['http', 'authz', 'audit', 'work', 'custody', 'db', 'kernel'],
  shows: ['task-signer-queries.ts', 'task-signer-routes.ts', 'task-signing.ts', 'tend-signers.ts'],
  sealed: [taskSignerEnvelopes],
  sentences: taskSignersSentences,
})
