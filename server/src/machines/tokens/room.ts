import type { Database } from '#ground/db/database.ts'
import { room } from '#ground/kernel/room-door.ts'
import { forgetTokens } from './forget-tokens.ts'
import { tokensSentences } from './tokens-sentences.ts'
import { workloads } from './workload-class.ts'

export const tokensRoom = room({
  sees: [
    'operator-credentials',
    'shared-runtimes',
    'service-accounts',
    'keys',
    'principals',
    'tenancy',
    'http',
    'authz',
    'policies',
    'audit',
    'work',
    'epochs',
    'db',
    'kernel',
  ],
  shows: [
    'credential-gate.ts',
    'cutoff-queries.ts',
    'end-with-scope.ts',
    'identify-machine.ts',
    'issue-token.ts',
    'issuing.ts',
    'judge-issuance.ts',
    'machine-class.ts',
    'record-denial.ts',
    'signature.ts',
    'token-admin-routes.ts',
    'token-routes.ts',
    'verify-exchange.ts',
    'verify-token.ts',
  ],
  jobs: [
    {
      name: 'forget-tokens',
      doing: 'deleting expired tokens',
      every_seconds: 600,
      run: ({ database }: { readonly database: Database }) => forgetTokens(database),
    },
  ],
  actors: [workloads],
  sentences: tokensSentences,
})
