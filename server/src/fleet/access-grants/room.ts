import { room } from '#ground/kernel/room-door.ts'

export const accessGrantsRoom = room({
  sees: ['allocations', 'ssh-keys', 'task-signers', 'principals', 'tenancy', 'http', 'authz', 'policies', 'audit', 'work', 'db', 'kernel'],
  shows: ['access-grant-routes.ts', 'end-access.ts', 'follow-set.ts', 'tend-access.ts'],
})
