import { room } from '#ground/kernel/room-door.ts'
import { runtimeCredentialEnvelopes } from './runtime-credential.ts'
import { runtimeCredentialsSentences } from './runtime-credentials-sentences.ts'

export const runtimeCredentialsRoom = room({
  sees: ['shared-runtimes', 'deliveries', 'tenancy', 'http', 'authz', 'policies', 'audit', 'custody', 'db', 'kernel'],
  shows: ['end-runtime-credentials.ts', 'open-runtime-credential.ts', 'runtime-credential-routes.ts'],
  sealed: [runtimeCredentialEnvelopes],
  nouns: [{ type: 'shared_runtime_credential', table: 'shared_runtime_credentials', id_param: 'credential_id' }],
  sentences: runtimeCredentialsSentences,
})
