import { linesIn, type Room } from './room.ts'

export interface NodeTasks {
  /** Signs of life that nodes were asked for. */
  readonly probes: Set<string>
  /** Tasks of which a node has said what became of them. */
  readonly reported: Set<string>
  /** What nodes told of by themselves. */
  readonly node_events: Set<string>
}

export const nodeTasks: Room<NodeTasks> = {
  read: async (sql) => ({
    probes: await linesIn(sql, `select id::text as line from node_tasks where type = 'diag.health_probe' and state <> 'expired'`),
    reported: await linesIn(sql, 'select id::text as line from node_tasks where reported_at is not null'),
    node_events: await linesIn(sql, 'select event_id::text as line from node_events'),
  }),
  lines: (state) => [
    ...[...state.probes].map((id) => `probe ${id}`),
    ...[...state.reported].map((id) => `word on the task ${id}`),
    ...[...state.node_events].map((id) => `node event ${id}`),
  ],
  steps: {
    'node.probe': (state, { metadata: { task_id } }) => {
      if (state.probes.has(task_id)) return false
      state.probes.add(task_id)
      return true
    },
    'node.task.report': (state, { resource_id }) => {
      if (state.reported.has(resource_id)) return false
      state.reported.add(resource_id)
      return true
    },
    'allocation.access_drift': (state, { metadata: { event_id } }) => {
      if (state.node_events.has(event_id)) return false
      state.node_events.add(event_id)
      return true
    },
    'node.task.expire': (state, { resource_id }) => state.probes.delete(resource_id),
    // Told of, and nothing else.
    'node.task.overdue': () => true,
  },
}
