import { type Kind, nowhere } from '#rails/authz/kind.ts'
import type { TaskRow } from './node-task-queries.ts'

/** One thing that a node was asked to do. It is the node's, whichever tenant it serves. */
export const taskKind: Kind<{ readonly id: string }> = {
  type: 'node_task',
  missing: 'route_not_found',
  placeOf: ({ id }) => ({ ...nowhere, id }),
}

/** Where an event of a task's is recorded, and what it says: the tenant that it serves sees in its own record what became of it. */
export const recordedTask = ({ id, node_id, type, allocation_id, org_id, project_id, generation }: TaskRow, more: object) => ({
  resource_type: 'node_task',
  resource_id: id,
  tenant_id: org_id,
  project_id,
  metadata: { node_id, task_type: type, allocation_id, generation, ...more },
})
