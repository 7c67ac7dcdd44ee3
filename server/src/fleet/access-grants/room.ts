import { room } from '#ground/kernel/room-door.ts'
import { accessGrantsSentences } from './access-grants-sentences.ts'
import { tendAccess } from './tend-access.ts'

export const accessGrantsRoom = room({
  sees: ['allocations', 'ssh-keys', 'task-signers', 'principals', 'tenancy', 'http', 'authz', 'policies', 'audit', 'work', 'db', 'kernel'],
  shows: ['access-grant-routes.ts', 'end-access.ts', 'follow-set.ts'],
  jobs: [{ name: 'tend-access-grants', doing: 'tending the access grants', every_seconds: 2, run: tendAccess }],
  nouns: [{ type: 'access_grant', table: 'allocation_access_grants', id_param: 'grant_id' }],
  sentences: accessGrantsSentences,
})
