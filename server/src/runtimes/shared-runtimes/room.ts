import { room } from '#ground/kernel/room-door.ts'

export const sharedRuntimesRoom = room({
  sees: ['allocations', 'tenancy', 'http', 'authz', 'audit', 'work', 'db', 'kernel'],
  shows: ['require-taggable.ts', 'runtime-scope.ts', 'shared-runtime-queries.ts', 'shared-runtime-routes.ts', 'shared-runtime.ts'],
})
