import Type, { type Static } from 'typebox'
import { RuntimeSync } from './allocations.ts'
import { listOperation, operation } from './operation.ts'
import { Exactly, GivenInstant, Id, Instant, Named, Nullable, OneOf, Reason } from './shapes.ts'

const maybe = Type.Optional

export const endCauses = [
  'revoked',
  'expired',
  'project_membership_ended',
  'tenant_membership_ended',
  'key_deleted',
  'user_disabled',
  'allocation_released',
  'allocation_failed',
  'node_retired',
  'backup_restored',
] as const
export type EndCause = (typeof endCauses)[number]

export const AccessGrant = Named('AccessGrant', {
  id: Id('access grant'),
  allocation_id: Id('allocation'),
  project_id: Id('project'),
  grantee_user_id: Id('user'),
  ssh_key_id: Id('ssh key'),
  key_type: Type.String(),
  fingerprint: Type.String(),
  state: Type.Unsafe<'active' | 'ending' | 'revoked' | 'expired'>({
    ...OneOf(['active', 'ending', 'revoked', 'expired']),
    description: '`ending`: the right is over, and the node has not confirmed yet that the key is gone.',
  }),
  withheld: Type.Unsafe<'organization_suspended' | 'project_archived' | 'key_kind_not_allowed' | null>({
    ...Nullable(OneOf(['organization_suspended', 'project_archived', 'key_kind_not_allowed'])),
    description:
      'Why one that counts lets nobody in for now. `runtime_sync` then says whether the node has confirmed that the key is gone.',
  }),
  expires_at: Nullable(Instant),
  reason: Nullable(Type.String()),
  created_at: Instant,
  created_by: Id('user'),
  updated_at: Instant,
  ended_at: Nullable(Instant),
  ended_by: Nullable(Type.String()),
  end_cause: Nullable(OneOf(endCauses)),
  runtime_sync: RuntimeSync,
})
export type AccessGrant = Static<typeof AccessGrant>

const HeldBesides = Exactly({
  grant_id: Nullable(Id('access grant')),
  ssh_key_id: Id('ssh key'),
  user_id: Nullable(Id('user')),
})

/** What a revoke has done: two people may have registered the same key, and one of them may still be let in with it. */
export const RevokedAccessGrant = Named('RevokedAccessGrant', {
  ...AccessGrant.properties,
  key_stays_in_force: Type.Boolean({
    description: 'The same key still opens this allocation: through another grant, or as one of the keys of the allocation itself.',
  }),
  key_in_force_through: Type.Unsafe<Static<typeof HeldBesides>[] | null>({
    ...Nullable(Type.Array(HeldBesides)),
    description:
      'What keeps the key in force: other grants, or without a `grant_id` the allocation itself. Null for a caller who may see only their own grants.',
  }),
})

const path = '/api/v1/allocations/:allocation_id/access-grants'
const params = { allocation_id: Id('allocation') }

export const listAccessGrants = listOperation({
  id: 'allocation.access_grant.list',
  path,
  summary: 'The access grants of an allocation, also those that have ended; a grantee without more rights sees their own.',
  actors: ['user'],
  action: ['project.access_grant.read', 'tenant.access_grant.manage', 'project.access_grant.read_own'],
  params,
  query: { state: maybe(OneOf(['active', 'ending', 'revoked', 'expired'])) },
  item: AccessGrant,
  problems: ['allocation_not_found'],
})

export const createAccessGrant = operation({
  id: 'allocation.access_grant.create',
  method: 'POST',
  path,
  summary: 'Let a member of the project in with a key of their own, or move the end of the grant they have (200).',
  actors: ['user'],
  action: ['project.access_grant.manage', 'tenant.access_grant.manage'],
  effect: 'change',
  params,
  body: Exactly({ grantee_user_id: Id('user'), ssh_key_id: Id('ssh key'), expires_at: maybe(GivenInstant), reason: maybe(Reason) }),
  reply: AccessGrant,
  success: 201,
  success_again: 200,
  problems: [
    'allocation_not_found',
    'grantee_not_member',
    'ssh_key_not_found',
    'ssh_key_not_personal',
    'ssh_key_kind_not_allowed',
    'allocation_not_active',
    'limit_reached',
  ],
})

export const revokeAccessGrant = operation({
  id: 'allocation.access_grant.revoke',
  method: 'DELETE',
  path: `${path}/:grant_id`,
  summary: 'Take access back; `runtime_sync` says whether the node has confirmed it, `key_stays_in_force` whether the key still opens it.',
  actors: ['user'],
  action: ['project.access_grant.manage', 'tenant.access_grant.manage', 'project.access_grant.revoke_own'],
  effect: 'change',
  params: { ...params, grant_id: Id('access grant') },
  body: Exactly({ reason: maybe(Reason) }),
  reply: RevokedAccessGrant,
  problems: ['allocation_not_found', 'access_grant_not_found', 'state_conflict'],
})
