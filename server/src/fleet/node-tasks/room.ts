import { room } from '#ground/kernel/room-door.ts'
import { nodeTasksSentences } from './node-tasks-sentences.ts'
import type { Tasking } from './tasking.ts'
import type { CountedTasks } from './tend-tasks.ts'

export const nodeTasksRoom = room({
  sees: ['nodes', 'task-signers', 'http', 'authz', 'audit', 'work', 'custody', 'db', 'kernel'],
  shows: ['node-task-queries.ts', 'node-task-routes.ts', 'queue-task.ts', 'task-subscribers.ts', 'tasking.ts'],
  jobs: [
    {
      name: 'tend-task-signers',
      doing: 'tending the keys that tasks are signed with',
      every_seconds: 60,
      run: ({ tasking }: { readonly tasking: Tasking }) => tasking.tendSigners(),
    },
    {
      name: 'tend-node-tasks',
      doing: 'tending the tasks of nodes',
      every_seconds: 1,
      run: async ({ tasking, onTasksTended }: { readonly tasking: Tasking; readonly onTasksTended: (counted: CountedTasks) => void }) =>
        onTasksTended(await tasking.tendTasks()),
    },
  ],
  nouns: [{ type: 'node_task', table: 'node_tasks', id_param: 'task_id' }],
  sentences: nodeTasksSentences,
})
