import { room } from '#ground/kernel/room-door.ts'
import type { AuthRejections } from './auth-rejections.ts'

export const auditRoom = room({
  sees: ['work', 'db', 'kernel'],
  shows: [
    'append.ts',
    'audit-queries.ts',
    'auth-rejections.ts',
    'chain.ts',
    'counted-append.ts',
    'record.ts',
    'sentences.ts',
    'tend-each.ts',
    'verify-chains.ts',
  ],
  jobs: [
    {
      name: 'record-rejections',
      doing: 'recording refused tokens',
      every_seconds: 60,
      at_end: true,
      run: ({ rejections }: { readonly rejections: AuthRejections }) => rejections.flush(),
    },
  ],
})
