import { linesIn, type Room } from './room.ts'

export interface NodeTasks {
  /** Signs of life that nodes were asked for. */
  readonly probes: Set<string>
}

export const nodeTasks: Room<NodeTasks> = {
  read: async (sql) => ({
    probes: await linesIn(sql, `select id::text as line from node_tasks where type = 'diag.health_probe' and state <> 'expired'`),
  }),
  lines: (state) => [...state.probes].map((id) => `probe ${id}`),
  steps: {
    'node.probe': (state, { metadata: { task_id } }) => {
      if (state.probes.has(task_id)) return false
      state.probes.add(task_id)
      return true
    },
    'node.task.expire': (state, { resource_id }) => state.probes.delete(resource_id),
    // Told of, and nothing else.
    'node.task.overdue': () => true,
  },
}
