import Type, { type Static } from 'typebox'
import { Allocation } from './allocations.ts'
import { listOperation, operation } from './operation.ts'
import { Exactly, Id, Instant, Name, Named, Nullable, OneOf, Reason, Slug, Text } from './shapes.ts'

const maybe = Type.Optional

export const runtimeBackends = ['slurm', 'k8s', 'ray', 'bare_metal'] as const
export const contributionPolicies = ['none', 'tagged', 'all'] as const
export const delegableActions = ['attach', 'detach'] as const
const reportedStates = ['provisioning', 'running', 'degraded', 'failed'] as const

const Delegated = Type.Array(OneOf(delegableActions), {
  maxItems: 2,
  uniqueItems: true,
  description:
    'What the tenant lets the runtime’s operator do by itself: attach projects of `eligible_project_ids`, with no larger contribution than `delegated_contribution_policy`; detach.',
})
const Eligible = Type.Array(Id('project'), {
  maxItems: 200,
  uniqueItems: true,
  description: 'The projects that a delegated `attach` may name. One that people detach is taken off the list.',
})
const MostContribution = Type.Unsafe<(typeof contributionPolicies)[number]>({
  ...OneOf(contributionPolicies),
  description: 'The most that a delegated `attach` may say as `contribution_policy`, in this order: none, tagged, all.',
})
const Placement = Type.Record(
  Type.String({ maxLength: 63, pattern: '^[a-z][a-z0-9_]*$' }),
  Type.Union([Text(200), Type.Integer(), Type.Boolean()]),
  {
    maxProperties: 20,
    description: 'Where it would like to run; kept as it is said.',
  },
)
const Version = Text(63, 'Of the app.')

export const SharedRuntime = Named('SharedRuntime', {
  id: Id('shared runtime'),
  org_id: Id('org'),
  app_slug: Slug,
  app_version: Version,
  display_name: Name,
  operating_mode: OneOf(['tenant_dedicated']),
  control_plane_scope: OneOf(['tenant']),
  runtime_backend: OneOf(runtimeBackends),
  placement_intent: Placement,
  delegated_actions: Delegated,
  eligible_project_ids: Eligible,
  delegated_contribution_policy: MostContribution,
  version: Type.Integer(),
  state: OneOf(['requested', 'provisioning', 'running', 'degraded', 'failed', 'disabled']),
  reported_state: Nullable(OneOf(reportedStates)),
  reported_message: Nullable(Type.String()),
  reported_sequence: Type.Integer(),
  reported_at: Nullable(Instant),
  created_at: Instant,
  created_by: Id('user'),
  updated_at: Instant,
  disabled_at: Nullable(Instant),
})
export type SharedRuntime = Static<typeof SharedRuntime>

export const RuntimeMember = Named('RuntimeMember', {
  name: Name,
  role: Slug,
  state: OneOf(['joining', 'ready', 'draining', 'down']),
  allocation_id: Nullable(Id('allocation')),
})
export type RuntimeMember = Static<typeof RuntimeMember>
const Members = Named('RuntimeMembers', { sequence: Type.Integer(), reported_at: Nullable(Instant), members: Type.Array(RuntimeMember) })

const MembersNow = Type.Array(RuntimeMember, {
  maxItems: 1000,
  description:
    'At most 1000, and no more than fit into a body of 256 KiB; one that is larger is 413 `body_too_large`. 1000 of the longest fit as compact JSON with names in ASCII, and fewer where names take more bytes.',
})

/** A report that is not later than the one before changes nothing. */
const Sequence = Type.Integer({
  minimum: 1,
  maximum: Number.MAX_SAFE_INTEGER,
  description: 'Counts up with each report; an earlier or equal one is ignored. It begins anew when the runtime is enabled.',
})
const Reported = Named('ReportTaken', {
  is_taken: Type.Boolean({ description: 'False: a later report had come before.' }),
  sequence: Type.Integer(),
})

const path = '/api/v1/orgs/:org_id/shared-app-runtimes'
const inOrg = { org_id: Id('org') }
/** One runtime: its path, what names it there, and that it may not be there. */
export const oneRuntime = {
  path: `${path}/:shared_runtime_id`,
  params: { ...inOrg, shared_runtime_id: Id('shared runtime') },
  gone: ['organization_not_found', 'shared_runtime_not_found'],
} as const
const { path: one, params, gone } = oneRuntime
const people = ['user'] as const
const peopleAndOperator = ['user', 'shared_runtime_operator'] as const
const operator = ['shared_runtime_operator'] as const
const read = 'tenant.shared_runtime.read'
const manage = 'tenant.shared_runtime.manage'
const Because = Exactly({ reason: Reason })

export const listSharedRuntimes = listOperation({
  id: 'shared_runtime.list',
  path,
  summary: 'The shared runtimes of an organization.',
  actors: people,
  action: read,
  params: inOrg,
  item: SharedRuntime,
  problems: ['organization_not_found'],
})

export const createSharedRuntime = operation({
  id: 'shared_runtime.create',
  method: 'POST',
  path,
  summary: 'Create a runtime that the organization owns and its projects share.',
  actors: people,
  action: manage,
  effect: 'change',
  params: inOrg,
  body: Exactly({
    app_slug: Slug,
    app_version: Version,
    display_name: Name,
    runtime_backend: OneOf(runtimeBackends),
    placement_intent: maybe(Placement),
    delegated_actions: maybe(Delegated),
    eligible_project_ids: maybe(Eligible),
    delegated_contribution_policy: maybe(MostContribution),
    reason: maybe(Reason),
  }),
  reply: SharedRuntime,
  success: 201,
  problems: ['organization_not_found', 'shared_runtime_already_exists', 'project_not_found'],
})

export const readSharedRuntime = operation({
  id: 'shared_runtime.read',
  method: 'GET',
  path: one,
  summary: 'One shared runtime.',
  actors: peopleAndOperator,
  action: read,
  effect: 'read',
  params,
  reply: SharedRuntime,
  problems: gone,
})

export const updateSharedRuntime = operation({
  id: 'shared_runtime.update',
  method: 'PATCH',
  path: one,
  summary: 'Change a shared runtime: its version, name, placement, and what its operator may do by itself.',
  actors: people,
  action: manage,
  effect: 'change',
  params,
  body: Exactly({
    app_version: maybe(Version),
    display_name: maybe(Name),
    placement_intent: maybe(Placement),
    delegated_actions: maybe(Delegated),
    eligible_project_ids: maybe(Eligible),
    delegated_contribution_policy: maybe(MostContribution),
    expected_version: Type.Integer({ minimum: 1 }),
    reason: Reason,
  }),
  reply: SharedRuntime,
  problems: [...gone, 'version_conflict', 'shared_runtime_already_exists', 'project_not_found'],
})

const moved = {
  method: 'POST',
  actors: people,
  action: manage,
  effect: 'change',
  params,
  body: Because,
  reply: SharedRuntime,
  problems: [...gone, 'state_conflict'],
} as const
export const disableSharedRuntime = operation({
  ...moved,
  id: 'shared_runtime.disable',
  path: `${one}/disable`,
  summary: 'Disable a shared runtime: at once its operator is refused as `actor_disabled`, and what waits to be delivered to it is void.',
})
export const enableSharedRuntime = operation({
  ...moved,
  id: 'shared_runtime.enable',
  path: `${one}/enable`,
  summary: 'Enable a disabled shared runtime again: what it last reported stays, and the numbers of its reports begin anew.',
})

export const deleteSharedRuntime = operation({
  id: 'shared_runtime.delete',
  method: 'DELETE',
  path: one,
  summary: 'End a shared runtime for good, with its attachments, its operator’s credentials and tokens, and the secrets left for it.',
  actors: people,
  action: manage,
  effect: 'change',
  params,
  body: Because,
  problems: gone,
})

export const reportRuntimeStatus = operation({
  id: 'shared_runtime.status.report',
  method: 'PUT',
  path: `${one}/status`,
  summary: 'The operator says how its runtime is.',
  actors: operator,
  action: 'shared_runtime.report',
  effect: 'change',
  params,
  body: Exactly({ sequence: Sequence, state: OneOf(reportedStates), message: maybe(Text(500)) }),
  reply: Reported,
  problems: gone,
})

export const reportRuntimeMembers = operation({
  id: 'shared_runtime.members.report',
  method: 'PUT',
  path: `${one}/members`,
  summary: 'The operator says which members its runtime has now: the whole list.',
  description:
    'A member may name an allocation that the operator would find in its list of allocations; any other is 403 `membership_missing`, be it there or not.',
  actors: operator,
  action: 'shared_runtime.report',
  effect: 'change',
  params,
  body: Exactly({ sequence: Sequence, members: MembersNow }),
  reply: Reported,
  problems: gone,
})

export const listRuntimeMembers = operation({
  id: 'shared_runtime.members.read',
  method: 'GET',
  path: `${one}/members`,
  summary: 'The members that a runtime last reported.',
  description:
    'A member’s `allocation_id` is told while the allocation is contributed to the runtime and whoever asks may read it; otherwise it is null.',
  actors: peopleAndOperator,
  action: read,
  effect: 'read',
  params,
  reply: Members,
  problems: gone,
})

export const listRuntimeAllocations = listOperation({
  id: 'shared_runtime.allocation.list',
  path: `${one}/allocations`,
  summary: 'The allocations of the attached projects, as far as each project contributes them.',
  actors: operator,
  action: 'shared_runtime.allocation.read',
  params,
  item: Allocation,
  problems: gone,
})
