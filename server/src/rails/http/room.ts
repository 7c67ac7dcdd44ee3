import { room } from '#ground/kernel/room-door.ts'

export const httpRoom = room({
  sees: ['authz', 'policies', 'audit', 'work', 'epochs', 'db', 'telemetry', 'kernel'],
  shows: [
    'answer.ts',
    'asked-ids.ts',
    'cursor.ts',
    'documents.ts',
    'idempotency.ts',
    'metrics-listener.ts',
    'project-header.ts',
    'read-form.ts',
    'read-request.ts',
    'seen-page.ts',
    'server.ts',
    'source-address.ts',
    'tenant-database.ts',
    'tenant-queues.ts',
  ],
})
