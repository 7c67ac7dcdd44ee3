import type { Database } from '#ground/db/database.ts'
import { room } from '#ground/kernel/room-door.ts'
import { oauthSentences } from './oauth-sentences.ts'
import { forgetUsedProofs } from './used-proofs.ts'

export const oauthRoom = room({
  sees: ['tokens', 'service-accounts', 'keys', 'http', 'authz', 'policies', 'audit', 'work', 'epochs', 'db', 'kernel'],
  shows: ['holder.ts', 'oauth-routes.ts', 'used-proofs.ts'],
  jobs: [
    {
      name: 'forget-used-proofs',
      doing: 'sweeping used proofs',
      every_seconds: 600,
      run: ({ database }: { readonly database: Database }) => forgetUsedProofs(database),
    },
  ],
  sentences: oauthSentences,
})
