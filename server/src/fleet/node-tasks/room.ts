import { room } from '#ground/kernel/room-door.ts'

export const nodeTasksRoom = room({
  sees: ['nodes', 'task-signers', 'http', 'authz', 'audit', 'work', 'custody', 'db', 'kernel'],
  shows: ['node-task-queries.ts', 'node-task-routes.ts', 'queue-task.ts', 'task-subscribers.ts', 'tasking.ts'],
})
