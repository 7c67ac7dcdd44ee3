import { room } from '#ground/kernel/room-door.ts'
import { decisionsSentences } from './decisions-sentences.ts'

export const decisionsRoom = room({
  sees: ['http', 'authz', 'policies', 'audit', 'epochs', 'db', 'kernel'],
  shows: ['decision-routes.ts', 'question.ts'],
  sentences: decisionsSentences,
})
