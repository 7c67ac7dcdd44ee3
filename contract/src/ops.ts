import Type, { type Static } from 'typebox'
import { listOperation, operation } from './operation.ts'
import { Exactly, Instant, Named, Slug } from './shapes.ts'

const count = Type.Integer({ minimum: 0 })

/** What an operator should look at, and which runbook says what to do. */
const Attention = Exactly({
  what: Slug,
  count: Type.Integer({ minimum: 1 }),
  runbook_id: Slug,
})

export const OpsOverview = Named('OpsOverview', {
  at: Instant,
  organizations: Exactly({ active: count, suspended: count }),
  projects: Exactly({ active: count, archived: count }),
  users: Exactly({ active: count, disabled: count }),
  nodes: Exactly({ active: count, unavailable: count, drained: count }),
  node_tasks: Exactly({ queued: count, dispatched: count }),
  allocations: Exactly({ requested: count, provisioning: count, active: count, releasing: count, release_failed: count }),
  attention: Type.Array(Attention, {
    description: 'What an operator should look at, with the runbook for it; empty where nothing needs it.',
  }),
})
export type OpsOverview = Static<typeof OpsOverview>

export const Runbook = Named('Runbook', {
  id: Slug,
  name: Type.String(),
  when: Type.String({ description: 'The symptom that an operator notices.' }),
  steps: Type.Array(Type.String()),
  operations: Type.Array(Type.String(), { description: 'The operations of this API that it uses, by their ids.' }),
  guide: Type.String({ description: 'The page of the documents that explains it.' }),
})
export type Runbook = Static<typeof Runbook>

export const readOpsOverview = operation({
  id: 'ops.overview.read',
  method: 'GET',
  path: '/api/v1/admin/ops/overview',
  summary: 'How many of everything there are, and what needs attention. Counts only: no name and no id of a tenant.',
  actors: ['user'],
  action: 'platform.ops.read',
  effect: 'read',
  reply: OpsOverview,
  problems: [],
})

export const listRunbooks = listOperation({
  id: 'ops.runbook.list',
  path: '/api/v1/admin/ops/runbooks',
  summary: 'What to do when something is wrong, step by step.',
  actors: ['user'],
  action: 'platform.ops.runbook.read',
  item: Runbook,
  problems: [],
})
