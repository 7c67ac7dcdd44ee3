import { room } from '#ground/kernel/room-door.ts'

export const sshSessionsRoom = room({
  sees: ['allocations', 'nodes', 'http', 'authz', 'audit', 'work', 'db', 'kernel'],
  shows: ['forget-events.ts', 'ssh-session-routes.ts'],
})
