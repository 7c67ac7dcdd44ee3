import { room } from '#ground/kernel/room-door.ts'
import { serviceAccounts } from './service-account-class.ts'
import { serviceAccountsSentences } from './service-accounts-sentences.ts'

export const serviceAccountsRoom = room({
  sees: ['keys', 'roles', 'tenancy', 'http', 'authz', 'policies', 'audit', 'work', 'epochs', 'db', 'kernel'],
  shows: ['credential-queries.ts', 'credential.ts', 'kept-key-queries.ts', 'key-secret.ts', 'key-source.ts', 'service-account-routes.ts'],
  actors: [serviceAccounts],
  nouns: [
    { type: 'service_account', table: 'service_accounts', id_param: 'service_account_id' },
    { type: 'service_account_key', table: 'service_account_keys', id_param: 'key_id', under: 'service_account_id' },
  ],
  sentences: serviceAccountsSentences,
})
