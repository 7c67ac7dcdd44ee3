import type { Condition } from '@gatehouse/contract/conditions'
import fc from 'fast-check'
import { type Action, actions, overridePermission, type Relation } from '../../server/src/rails/authz/actions.ts'
import { builtinRoleNames, tierOf } from '../../server/src/rails/authz/catalogue.ts'
import type { Elevation, TokenBounds } from '../../server/src/rails/authz/decide.ts'
import { type Facts, factsOf } from '../../server/src/rails/authz/facts.ts'
import { standingOf, standingOfMachine } from '../../server/src/rails/authz/standing.ts'
import type { BoundRole, StandingRow } from '../../server/src/rails/authz/standing-queries.ts'
import type { Constraint, ScopeType } from '../../server/src/rails/policies/constraint.ts'

/**
 * Worlds by chance: small enough that things meet. Roles are bound as the tables say them, so that a law speaks of bindings, not of
 * sets of keys. There is one tenant and one project where questions lie, and one of each besides.
 */
export interface World {
  actor: Facts['actor']
  platform_roles: BoundRole[]
  tenant_roles: BoundRole[]
  project_roles: BoundRole[]
  is_tenant_member: boolean
  is_project_member: boolean
  is_suspended: boolean
  is_archived: boolean
  place: 'platform' | 'tenant' | 'project'
  is_self: boolean
  /** Besides being it himself. */
  relations?: Relation[]
  token: TokenBounds | null
  elevations: Elevation[]
  constraints: Constraint[]
  attributes: Record<string, unknown>
}

export const ids = { tenant: 'tenant-here', project: 'project-here', other_tenant: 'tenant-away', other_project: 'project-away' }
const now = '2026-11-16T12:00:00.000Z'
const before = ['2026-11-15T12:00:00.000Z', '2026-11-16T11:59:59.999Z', now]
const after = ['2026-11-16T12:00:00.001Z', '2026-11-17T12:00:00.000Z']

export const actionNames = Object.keys(actions) as Action[]
/** A few of each kind come up more often than chance alone would have it, so that questions and grants meet. */
const oftenAsked: Action[] = [
  'tenant.read',
  'tenant.update',
  'storage.read',
  'storage.write',
  'project.read',
  'tenant.billing.read',
  'platform.ops.read',
]
export const anAction = fc.oneof(fc.constantFrom(...actionNames), fc.constantFrom(...oftenAsked))

const aState = fc.constantFrom('active', 'active', 'disabled')
const anEnd = fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.constantFrom(...before, ...after) })
const someKeys = fc.uniqueArray(fc.constantFrom<string>(...actionNames, ...oftenAsked, overridePermission, 'unknown.key'), { maxLength: 6 })

const boundRole = (name: string, is_builtin: boolean, permissions: string[], state: string, expires_at: string | null): BoundRole => ({
  binding_id: `binding of ${name}`,
  role_id: `role ${name}`,
  role_version_id: `version of ${name}`,
  name,
  version: 1,
  is_builtin,
  state,
  grace_until: null,
  expires_at,
  permissions,
})
export type RoleTier = 'platform' | 'tenant' | 'project'
const builtinsOf = (tier: RoleTier) => builtinRoleNames.filter((name) => tierOf(name) === tier)
export const builtin = (name: string, state = 'active', expires_at: string | null = null) => boundRole(name, true, [], state, expires_at)

export const aRoleOf = (tier: RoleTier): fc.Arbitrary<BoundRole> => {
  // Platform bindings take no end.
  const end = tier === 'platform' ? fc.constant(null) : anEnd
  const ofCatalogue = fc
    .tuple(fc.constantFrom(...builtinsOf(tier)), aState, end)
    .map(([name, state, expires_at]) => builtin(name, state, expires_at))
  if (tier === 'platform') return ofCatalogue
  const custom = fc
    .tuple(fc.integer({ min: 10, max: 99 }), someKeys, aState, end)
    .map(([number, keys, state, expires_at]) => boundRole(`custom-${number}`, false, keys, state, expires_at))
  return fc.oneof({ weight: 3, arbitrary: ofCatalogue }, { weight: 1, arbitrary: custom })
}
const rolesOf = (tier: RoleTier) => fc.uniqueArray(aRoleOf(tier), { maxLength: 3, selector: ({ name }) => name })

const aScope = fc.constantFrom<ScopeType>('global', 'tenant', 'project')

const conditions: Condition[] = [
  {},
  { in: { region: ['eu'] } },
  { not_in: { region: ['eu'] } },
  { at_least: { gpus: 8 } },
  { has_any: { flags: ['spot'] } },
  { within: { source_ip: ['10.0.0.0/8'] } },
  { between: { minute_of_day: [540, 1020] } },
  { in: { weekday: [6, 7] } },
  { present: ['sku'], in: { sku: ['h100'] } },
  { any: [{ in: { region: ['us'] } }, { not: { at_most: { gpus: 2 } } }] },
]
export const aConstraint: fc.Arbitrary<Constraint> = fc
  .record({
    key: fc.constantFrom('a', 'b', 'c'),
    scope_type: aScope,
    actions: fc.oneof(
      fc.uniqueArray(fc.constantFrom<string>(...actionNames, ...oftenAsked), { minLength: 1, maxLength: 4 }),
      fc.constantFrom(['tenant.*'], ['storage.*'], ['project.*'], ['allocation.*'], ['platform.*']),
    ),
    condition: fc.constantFrom(...conditions),
    time_zone: fc.constantFrom('UTC', 'Asia/Tokyo'),
    is_locked: fc.boolean(),
    state: aState,
  })
  .map((said) => ({ constraint_id: `constraint ${said.scope_type} ${said.key}`, version: 1, ...said }))
/** Of one key and scope there is one rule: the table sees to it. */
const someConstraints = fc.uniqueArray(aConstraint, { maxLength: 5, selector: ({ scope_type, key }) => `${scope_type} ${key}` })

export const anElevation: fc.Arbitrary<Elevation> = fc
  .record({
    id: fc.constantFrom('e1', 'e2', 'e3', 'e4'),
    scope: fc.constantFrom<ScopeType>('tenant', 'project'),
    is_here: fc.boolean(),
    actions: fc.uniqueArray(fc.constantFrom<string>(...actionNames, ...oftenAsked), { minLength: 1, maxLength: 20 }),
    starts_at: fc.constantFrom(before[0]!, before[0]!, now, ...after),
    ends_at: fc.constantFrom(...before, ...after, ...after),
  })
  .map(({ scope, is_here, ...said }) => ({
    ...said,
    scope,
    tenant_id: scope === 'tenant' ? (is_here ? ids.tenant : ids.other_tenant) : null,
    project_id: scope === 'project' ? (is_here ? ids.project : ids.other_project) : null,
  }))
const someElevations = fc.uniqueArray(anElevation, { maxLength: 3, selector: ({ id }) => id })

const aToken: fc.Arbitrary<TokenBounds> = fc.record({
  tenant_id: fc.constantFrom(null, ids.tenant, ids.tenant, ids.other_tenant),
  project_id: fc.constantFrom(null, ids.project, ids.project, ids.other_project),
  actions: fc.oneof(
    fc.constant(null),
    someKeys.map((keys) => new Set(keys)),
  ),
})

const someAttributes = fc.record(
  {
    region: fc.constantFrom<unknown>('eu', 'us', 7, null),
    sku: fc.constantFrom<unknown>('h100', 'a100', ['h100']),
    gpus: fc.constantFrom<unknown>(1, 8, '8', 1.5),
    flags: fc.constantFrom<unknown>(['spot'], [], 'spot'),
    source_ip: fc.constantFrom<unknown>('10.0.0.1', '192.0.2.1', 'nowhere'),
    time: fc.constantFrom<unknown>(now, '2026-11-15T23:00:00Z', 'never'),
  },
  { requiredKeys: [] },
)

const often = (most: boolean) => fc.constantFrom(most, most, most, !most)
export const aWorld: fc.Arbitrary<World> = fc.record({
  actor: fc.record({
    id: fc.constant('actor'),
    type: fc.constantFrom('user', 'user', 'user', 'service_account', 'platform_operator'),
    is_disabled: fc.constantFrom(false, false, false, false, false, true),
  }),
  platform_roles: rolesOf('platform'),
  tenant_roles: rolesOf('tenant'),
  project_roles: rolesOf('project'),
  is_tenant_member: often(true),
  is_project_member: often(true),
  is_suspended: often(false),
  is_archived: often(false),
  place: fc.constantFrom('project', 'project', 'tenant', 'platform'),
  is_self: fc.boolean(),
  relations: fc.subarray<Relation>(['invitee', 'allocation_owner', 'grantee']),
  token: fc.oneof({ weight: 4, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: aToken }),
  elevations: someElevations,
  constraints: someConstraints,
  attributes: someAttributes,
})

/** A service account is bound in its project alone, as its statement reads it. Its home is left out: the token that bounds it is laid in. */
const standingOfAccount = (row: StandingRow) => {
  const elsewhere = { platform_bindings: [], was_ever_bound: false, platform_role_source: null, is_tenant_member: false, tenant_roles: [] }
  const { home, ...standing } = standingOfMachine({ ...row, ...elsewhere }, { tenant_id: null, project_id: null, actions: null })
  return standing
}

/**
 * The facts of a world, put together as the product does it; only tokens and elevations are laid in by hand. Platform operators stand as
 * people do: the product reads nothing of them yet, and the engine knows them all the same.
 */
export const factsIn = (world: World, named = ids): Facts => {
  const { actor, place, is_self, relations = [], token, elevations, constraints, attributes } = world
  const row: StandingRow = {
    actor_id: actor.id,
    is_disabled: actor.is_disabled,
    platform_bindings: world.platform_roles,
    ...{ role_by_column: null, was_ever_bound: true, platform_role_source: 'bindings' },
    tenant_state: world.is_suspended ? 'suspended' : 'active',
    is_tenant_member: world.is_tenant_member,
    tenant_roles: world.tenant_roles,
    project_tenant_id: named.tenant,
    project_state: world.is_archived ? 'archived' : 'active',
    is_project_member: world.is_project_member,
    project_roles: world.project_roles,
  }
  const standing = actor.type === 'service_account' ? standingOfAccount(row) : standingOf(row)
  const facts = factsOf(standing, constraints, {
    actor,
    place: {
      id: null,
      tenant_id: place === 'platform' ? null : named.tenant,
      project_id: place === 'project' ? named.project : null,
      relations: is_self ? ['self', ...relations] : relations,
    },
    resource_type: is_self ? 'user' : 'project',
    attributes,
    now,
  })
  return { ...facts, token, elevations }
}
