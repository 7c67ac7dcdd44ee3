import { room } from '#ground/kernel/room-door.ts'

export const auditTrailRoom = room({
  sees: ['tenancy', 'http', 'authz', 'audit', 'work', 'db', 'kernel'],
  shows: ['audit-trail-routes.ts', 'verify-audit-logs.ts'],
})
