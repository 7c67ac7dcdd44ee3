import { room } from '#ground/kernel/room-door.ts'

export const auditRoom = room({
  sees: ['work', 'db', 'kernel'],
  shows: [
    'append.ts',
    'audit-queries.ts',
    'auth-rejections.ts',
    'chain.ts',
    'counted-append.ts',
    'record.ts',
    'tend-each.ts',
    'verify-chains.ts',
  ],
})
