import Type, { type Static, type TProperties } from 'typebox'
import { type ActorType, listOperation, operation } from './operation.ts'
import type { ProblemCode } from './problems.ts'
import { Exactly, Id, Instant, Named, Nullable, OneOf, Reason } from './shapes.ts'

/** From the widest down. */
export const policyScopes = ['global', 'tenant', 'project'] as const
export const PolicyScopeType = OneOf(policyScopes)
export type PolicyScopeType = Static<typeof PolicyScopeType>

export interface PolicyScopeDeclared<P extends TProperties, R extends string, W extends string> {
  /** What the ids of its operations end in. */
  readonly name: string
  readonly path: string
  readonly whose: string
  readonly params: P
  readonly read: readonly R[]
  /** Who may look; nobody but people writes. */
  readonly readers: readonly ActorType[]
  readonly write: W
  readonly missing: readonly ProblemCode[]
}
const scope = <P extends TProperties, const R extends string, const W extends string>(declared: PolicyScopeDeclared<P, R, W>) => declared

/** The three scopes at which policy is kept. Each operation on policy is declared once and made for all of them. */
export const ofPlatform = scope({
  name: 'of_platform',
  path: '/api/v1/admin/policies',
  whose: 'the platform',
  params: {},
  read: ['platform.admin', 'platform.ops.read'],
  readers: ['user'],
  write: 'platform.admin',
  missing: [],
})
export const ofOrganization = scope({
  name: 'of_organization',
  path: '/api/v1/orgs/:org_id/policies',
  whose: 'an organization',
  params: { org_id: Id('org') },
  read: ['tenant.policy.read'],
  readers: ['user'],
  write: 'tenant.policy.write',
  missing: ['organization_not_found'],
})
export const ofProject = scope({
  name: 'of_project',
  path: '/api/v1/projects/:project_id/policies',
  whose: 'a project',
  params: { project_id: Id('project') },
  read: ['project.policy.read', 'tenant.policy.read'],
  readers: ['user', 'service_account'],
  write: 'tenant.policy.write',
  missing: ['project_not_found'],
})

const Key = Type.String({
  minLength: 1,
  maxLength: 100,
  pattern: '^[a-z][a-z0-9_.]*$',
  description: 'The key of a policy definition.',
})

const defined = {
  key: Key,
  type: OneOf(['integer', 'integer_or_null', 'number', 'boolean', 'string_list', 'scope_map', 'choice']),
  purpose: Type.String(),
  bounds: Exactly({
    minimum: Type.Optional(Type.Number()),
    maximum: Type.Optional(Type.Number()),
    max_items: Type.Optional(Type.Integer()),
    choices: Type.Optional(Type.Unsafe<readonly string[]>(Type.Array(Type.String()))),
  }),
  scopes: Type.Array(PolicyScopeType, { description: 'Where it may be set.' }),
  direction: Type.Unsafe<'global' | 'tighten_lower' | 'tighten_upper' | 'most_specific'>(
    Type.String({
      enum: ['global', 'tighten_lower', 'tighten_upper', 'most_specific'],
      description:
        '`global`: the platform alone says it. `tighten_lower`, `tighten_upper`: a narrower scope may set only a lower, a higher value, and the strictest counts. Null is higher than every number, and of choices the later is the higher. `most_specific`: the narrowest value counts.',
    }),
  ),
}

export const PolicyDefinition = Named('PolicyDefinition', {
  ...defined,
  default: Type.Unknown({
    description: 'What the first global value was; null where none was written. Never read in place of a missing value.',
  }),
})
export type PolicyDefinition = Static<typeof PolicyDefinition>

export const PolicySetting = Named('PolicySetting', {
  ...defined,
  value: Type.Unknown({ description: 'What this scope itself says; null where it says nothing.' }),
  version: Nullable(Type.Integer({ minimum: 1, description: 'Of that value.' })),
  effective_value: Type.Unknown({ description: 'What counts here; null where nothing does, and what needs it is refused.' }),
  effective_scope: Nullable(PolicyScopeType),
})
export type PolicySetting = Static<typeof PolicySetting>

export const PolicyValue = Named('PolicyValue', {
  key: Key,
  scope_type: PolicyScopeType,
  tenant_id: Nullable(Id('org')),
  project_id: Nullable(Id('project')),
  value: Type.Unknown(),
  version: Type.Integer({ minimum: 1 }),
  created_at: Instant,
  created_by: Nullable(Id('user')),
  reason: Nullable(Type.String()),
})
export type PolicyValue = Static<typeof PolicyValue>

export const listPolicyDefinitions = listOperation({
  id: 'policy.definition.list',
  path: '/api/v1/admin/policies/definitions',
  summary: 'Every limit that the product knows: type, bounds, purpose, where it may be set and which direction is stricter.',
  actors: ['user'],
  action: ofPlatform.read,
  item: PolicyDefinition,
  problems: [],
})

const valuesOf = <P extends TProperties, const R extends string, const W extends string>(at: PolicyScopeDeclared<P, R, W>) => ({
  list: listOperation({
    id: `policy.value.list_${at.name}`,
    path: `${at.path}/values`,
    summary: `The policy values of ${at.whose}: what it says itself, and what counts there.`,
    actors: at.readers,
    action: at.read,
    params: at.params,
    item: PolicySetting,
    problems: at.missing,
  }),
  set: operation({
    id: `policy.value.set_${at.name}`,
    recorded_as: 'policy.value.set',
    method: 'PUT',
    path: `${at.path}/values/:key`,
    summary: `Set a policy value of ${at.whose}. The value before it is kept as an older version.`,
    actors: ['user'],
    action: at.write,
    effect: 'change',
    params: { ...at.params, key: Key },
    body: Exactly({
      value: Type.Unknown({ description: 'Of the type and within the bounds of the definition.' }),
      expected_version: Type.Optional(
        Type.Integer({ minimum: 0, maximum: 2_147_483_647, description: 'The version that you saw; 0: there was none.' }),
      ),
      reason: Type.Optional(Reason),
    }),
    reply: PolicyValue,
    problems: [...at.missing, 'policy_not_found', 'policy_out_of_bounds', 'version_conflict'],
  }),
  remove: operation({
    id: `policy.value.remove_${at.name}`,
    recorded_as: 'policy.value.remove',
    method: 'DELETE',
    path: `${at.path}/values/:key`,
    summary: `End the policy value of ${at.whose}: from then on it says nothing itself.`,
    description: 'On the platform this is refused where the product began with a value: without one, whatever needs it would be refused.',
    actors: ['user'],
    action: at.write,
    effect: 'change',
    params: { ...at.params, key: Key },
    body: Exactly({ reason: Type.Optional(Reason) }),
    problems: [...at.missing, 'policy_not_found', 'state_conflict'],
  }),
})

export const { list: listPlatformPolicyValues, set: setPlatformPolicyValue, remove: removePlatformPolicyValue } = valuesOf(ofPlatform)
export const {
  list: listOrganizationPolicyValues,
  set: setOrganizationPolicyValue,
  remove: removeOrganizationPolicyValue,
} = valuesOf(ofOrganization)
export const { list: listProjectPolicyValues, set: setProjectPolicyValue, remove: removeProjectPolicyValue } = valuesOf(ofProject)
