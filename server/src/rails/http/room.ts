import type { Database } from '#ground/db/database.ts'
import { room } from '#ground/kernel/room-door.ts'
import { httpSentences } from './http-sentences.ts'
import { forgetOldAnswers } from './idempotency.ts'

export const httpRoom = room({
  sees: ['authz', 'policies', 'audit', 'work', 'epochs', 'db', 'telemetry', 'kernel'],
  shows: [
    'answer.ts',
    'asked-ids.ts',
    'cursor.ts',
    'documents.ts',
    'idempotency.ts',
    'metrics-listener.ts',
    'noun.ts',
    'project-header.ts',
    'read-form.ts',
    'read-request.ts',
    'seen-page.ts',
    'server.ts',
    'source-address.ts',
    'tenant-database.ts',
    'tenant-queues.ts',
  ],
  jobs: [
    {
      name: 'forget-old-answers',
      doing: 'sweeping old answers',
      every_seconds: 600,
      run: ({ database }: { readonly database: Database }) => forgetOldAnswers(database),
    },
  ],
  sentences: httpSentences,
})
