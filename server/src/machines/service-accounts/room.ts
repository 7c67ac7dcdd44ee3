import { room } from '#ground/kernel/room-door.ts'

export const serviceAccountsRoom = room({
  sees: ['keys', 'roles', 'tenancy', 'http', 'authz', 'policies', 'audit', 'work', 'epochs', 'db', 'kernel'],
  shows: ['credential-queries.ts', 'credential.ts', 'kept-key-queries.ts', 'key-secret.ts', 'key-source.ts', 'service-account-routes.ts'],
})
