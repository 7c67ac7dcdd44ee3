import Type, { type Static } from 'typebox'
import { SshEndpoint } from './node-description.ts'
import { usernamePattern } from './node-tasks.ts'
import { listOperation, operation } from './operation.ts'
import { Exactly, Id, Instant, Name, Named, Nullable, OneOf, Reason, Slug } from './shapes.ts'

const maybe = Type.Optional

export const allocationStates = ['requested', 'provisioning', 'active', 'releasing', 'released', 'failed', 'release_failed'] as const
export type AllocationState = (typeof allocationStates)[number]

const waitedFor = ['free_gpus', 'suitable_node'] as const

/** What is known of the set of keys on the node: only what the node itself has confirmed is `applied`. */
export const RuntimeSync = Named('RuntimeSync', {
  status: Type.Unsafe<'pending' | 'applied' | 'failed'>({
    ...OneOf(['pending', 'applied', 'failed']),
    description: '`pending`: the node has not confirmed it yet, and the former set may still be in force there.',
  }),
  since: Instant,
  generation: Nullable(Type.Integer({ description: 'Of the set of keys; null while none was sent.' })),
  task_id: maybe(Id('node task')),
})
export type RuntimeSync = Static<typeof RuntimeSync>

export const Allocation = Named('Allocation', {
  id: Id('allocation'),
  org_id: Id('org'),
  project_id: Id('project'),
  name: Name,
  requested_by_type: OneOf(['user', 'service_account']),
  requested_by: Type.String(),
  owner_user_id: Nullable(Id('user')),
  shared_runtime_id: Nullable(Id('shared runtime')),
  region: Type.String(),
  sku: Type.String(),
  gpus: Type.Integer(),
  node_id: Nullable(Id('node')),
  username_on_node: Nullable(Type.String({ pattern: usernamePattern })),
  state: OneOf(allocationStates),
  state_since: Instant,
  failure: Nullable(Type.String()),
  created_at: Instant,
  waits_for: Nullable(
    Type.Unsafe<(typeof waitedFor)[number]>({
      ...OneOf(waitedFor),
      description:
        'While it is `requested`. `free_gpus`: a node could serve it, and has no room yet, or is drained or not enrolled. `suitable_node`: no node of this region and SKU has so many GPUs, so it waits until one is registered.',
    }),
  ),
})
export type Allocation = Static<typeof Allocation>
export const ShownAllocation = Named('ShownAllocation', {
  ...Allocation.properties,
  ssh_key_ids: Type.Array(Id('ssh key'), { description: 'Of the owner and of the project’s automation; grants are listed by themselves.' }),
  withheld_ssh_key_ids: Type.Array(Id('ssh key'), {
    description:
      'Those of them that open nothing for now: policy asks for another kind of key, or for a verification that the node cannot be told of.',
  }),
  device_indexes: Nullable(
    Type.Array(Type.Integer(), {
      description:
        'Which GPUs of its node it has, until nothing of it is left there; null: it is on none, or its node has not said which it has.',
    }),
  ),
  ssh: Type.Unsafe<SshEndpoint | null>({
    ...Nullable(SshEndpoint),
    description:
      'Where to log in, and by which keys the machine is known: to its owner, and to people with a grant that counts. Null to others, and while it is on no node or its node has not said it.',
  }),
  runtime_sync: RuntimeSync,
})
export type ShownAllocation = Static<typeof ShownAllocation>

const KeyIds = Type.Array(Id('ssh key'), { maxItems: 50, uniqueItems: true })
const one = '/api/v1/allocations/:allocation_id'
const params = { allocation_id: Id('allocation') }
const both = ['user', 'service_account'] as const

export const listAllocations = listOperation({
  id: 'allocation.list',
  path: '/api/v1/allocations',
  summary: 'The allocations of a project, which the query or `X-Project-ID` names.',
  takes_project_header: true,
  actors: both,
  action: 'allocation.read',
  query: { project_id: maybe(Id('project')), state: maybe(OneOf(allocationStates)) },
  item: Allocation,
  problems: ['project_not_found'],
})

export const createAllocation = operation({
  id: 'allocation.create',
  method: 'POST',
  path: '/api/v1/allocations',
  summary: 'Ask for an allocation in a project, which the body or `X-Project-ID` names.',
  description:
    'Whoever asks owns it. One that a service account asks for has no owner until somebody names one. `shared_runtime_id` tags it for a shared runtime of the organization, to which the project must be attached with `tagged` or `all`.',
  takes_project_header: true,
  actors: both,
  action: 'allocation.create',
  effect: 'change',
  body: Exactly({
    project_id: maybe(Id('project')),
    name: Name,
    region: Slug,
    sku: Slug,
    gpus: Type.Integer({ minimum: 1, maximum: 64 }),
    shared_runtime_id: maybe(Id('shared runtime')),
    ssh_key_ids: maybe(KeyIds),
    reason: maybe(Reason),
  }),
  reply: ShownAllocation,
  success: 201,
  problems: [
    'project_not_found',
    'ssh_key_not_found',
    'ssh_key_kind_not_allowed',
    'shared_runtime_not_found',
    'state_conflict',
    'limit_reached',
  ],
})

export const readAllocation = operation({
  id: 'allocation.read',
  method: 'GET',
  path: one,
  summary: 'One allocation.',
  actors: both,
  action: 'allocation.read',
  effect: 'read',
  params,
  reply: ShownAllocation,
  problems: ['allocation_not_found'],
})

export const releaseAllocation = operation({
  id: 'allocation.release',
  method: 'POST',
  path: `${one}/release`,
  summary: 'Give an allocation back: all access to it ends, then its node is free again.',
  actors: both,
  action: 'allocation.release',
  effect: 'change',
  params,
  body: Exactly({ reason: maybe(Reason) }),
  reply: ShownAllocation,
  success: 202,
  problems: ['allocation_not_found', 'state_conflict'],
})

export const replaceAllocationSshKeys = operation({
  id: 'allocation.ssh_keys.replace',
  method: 'PUT',
  path: `${one}/ssh-keys`,
  summary: 'Replace the allocation’s own keys: personal ones of its owner, and those of the project’s automation. Grants stay as they are.',
  actors: ['user'],
  action: 'allocation.ssh_keys.write',
  effect: 'change',
  params,
  body: Exactly({ ssh_key_ids: KeyIds, reason: maybe(Reason) }),
  reply: ShownAllocation,
  problems: ['allocation_not_found', 'ssh_key_not_found', 'ssh_key_kind_not_allowed', 'allocation_not_active'],
})

export const nameAllocationOwner = operation({
  id: 'allocation.owner.name',
  method: 'PUT',
  path: `${one}/owner`,
  summary: 'Name a member of the project as the owner; the former owner’s own keys end.',
  actors: ['user'],
  action: 'allocation.ssh_keys.write',
  effect: 'change',
  params,
  body: Exactly({ user_id: Id('user'), reason: maybe(Reason) }),
  reply: ShownAllocation,
  problems: ['allocation_not_found', 'not_project_member', 'allocation_not_active'],
})
