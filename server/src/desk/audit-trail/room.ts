import { room } from '#ground/kernel/room-door.ts'
import { auditTrailSentences } from './audit-trail-sentences.ts'

export const auditTrailRoom = room({
  sees: ['tenancy', 'http', 'authz', 'audit', 'work', 'db', 'kernel'],
  shows: ['audit-trail-routes.ts', 'sentence.ts', 'verify-audit-logs.ts'],
  sentences: auditTrailSentences,
})
