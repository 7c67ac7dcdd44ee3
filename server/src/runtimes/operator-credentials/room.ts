import { room } from '#ground/kernel/room-door.ts'
import { operatorCredentialsSentences } from './operator-credentials-sentences.ts'

export const operatorCredentialsRoom = room({
  sees: ['shared-runtimes', 'service-accounts', 'roles', 'http', 'authz', 'policies', 'audit', 'work', 'epochs', 'db', 'kernel'],
  shows: ['operator-credential-queries.ts', 'operator-credential-routes.ts', 'operator-credential.ts', 'revoke-operator-credential.ts'],
  nouns: [{ type: 'operator_credential', table: 'shared_runtime_operator_credentials', id_param: 'key_id', under: 'shared_runtime_id' }],
  sentences: operatorCredentialsSentences,
})
