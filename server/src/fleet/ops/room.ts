import { room } from '#ground/kernel/room-door.ts'

export const opsRoom = room({
  sees: ['nodes', 'http', 'authz', 'db', 'kernel'],
  shows: ['ops-routes.ts'],
})
