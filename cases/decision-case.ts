import { readdirSync, readFileSync } from 'node:fs'
import type { Condition } from '@gatehouse/contract/conditions'
import { type Action, actions, isAction, type Relation, type Tier } from '../server/src/rails/authz/actions.ts'
import type { RequestAttributes } from '../server/src/rails/authz/attributes.ts'
import { isBuiltinRole, permissionsOf, tierOf } from '../server/src/rails/authz/catalogue.ts'
import type { Decision, DecisionInput, Elevation, Grants, TokenBounds } from '../server/src/rails/authz/decide.ts'
import { localTimes } from '../server/src/rails/authz/local-times.ts'
import { type Constraint, type ScopeType, zonesOf } from '../server/src/rails/policies/constraint.ts'

/** Rows name places by a word: the tenant and project that the question is about, or others. */
type Where = 'here' | 'elsewhere'

export interface GivenTier {
  is_member?: boolean
  is_suspended?: boolean
  is_archived?: boolean
  /** Of a project, for an operator: on the list of those that it may attach. */
  is_eligible?: boolean
  roles?: string[]
  disabled_roles?: string[]
  permissions?: string[]
  disabled_permissions?: string[]
  /** Of what is disabled here: for new bindings only, and the grace of those there are is running, or over. */
  grace?: 'running' | 'over'
  /** What a custom role holds in its current version, where he is bound to an earlier one. The engine is not told. */
  newer_permissions?: string[]
}
interface GivenElevation {
  scope: ScopeType
  where?: Where
  actions?: string[]
  starts_at?: string
  ends_at?: string
}
export interface GivenConstraint {
  scope: ScopeType
  key?: string
  actions?: string[]
  condition?: unknown
  time_zone?: string
  is_locked?: boolean
  state?: 'active' | 'disabled'
}
export interface Given extends Partial<Record<Tier, GivenTier>> {
  actor?: { type?: DecisionInput['actor']['type']; is_disabled?: boolean }
  token?: { tenant_id?: Where; project_id?: Where; shared_runtime_id?: Where; actions?: string[] }
  resource?: { in?: Tier; type?: string; shared_runtime_id?: Where; relations?: Relation[] }
  elevations?: GivenElevation[]
  constraints?: GivenConstraint[]
  attributes?: Record<string, unknown>
  /** Values that JSON cannot spell, by name. */
  unspeakable?: Record<string, keyof typeof unspeakable>
}
export interface DecisionCase {
  proves: string
  source: string
  because: string
  action: string
  given: Given
  expect: Decision
}

const unspeakable = {
  not_a_number: Number.NaN,
  infinity: Number.POSITIVE_INFINITY,
  beyond_exactness: 2 ** 53,
  ten_megabytes: 'x'.repeat(10_000_000),
}

/** The instant of every question that names none: a Monday at noon. */
const noon = '2026-11-16T12:00:00.000Z'

const folder = new URL('./decisions/', import.meta.url)
export const caseFiles = readdirSync(folder).filter((name) => name.endsWith('.json'))
export const casesIn = (file: string): DecisionCase[] => JSON.parse(readFileSync(new URL(file, folder), 'utf8'))

export const known = (action: string): Action => {
  if (!isAction(action)) throw new Error(`a case asks for ${action}, which is not registered`)
  return action
}

const keysOf = (tier: Tier, names: readonly string[] = []): string[] =>
  names.flatMap((name) => {
    if (!isBuiltinRole(name) || tierOf(name) !== tier) throw new Error(`a case gives ${name} at the ${tier}'s tier`)
    return [...permissionsOf(name)]
  })
const grantsOf = (tier: Tier, { roles, disabled_roles, permissions = [], disabled_permissions = [], grace }: GivenTier = {}): Grants => {
  const disabled = [...keysOf(tier, disabled_roles), ...disabled_permissions]
  const isInGrace = grace === 'running'
  return {
    allowed: new Set([...keysOf(tier, roles), ...permissions, ...(isInGrace ? disabled : [])]),
    by_disabled: new Set(isInGrace ? [] : disabled),
  }
}

/** A question lies where its action is judged, if it does not say otherwise; a project's record is in the project. */
export const placeOf = (action: Action, { resource }: Given): Tier =>
  resource?.in ?? (action === 'project.read' ? 'project' : actions[action].tier)

const typeOf = { platform: 'platform', tenant: 'organization', project: 'project' } as const
export const resourceTypeOf = (action: Action, given: Given): string =>
  given.resource?.type ?? (given.resource?.relations?.includes('self') ? 'user' : typeOf[placeOf(action, given)])

const idOf = (kind: 'tenant' | 'project', where: Where | undefined) => (where === undefined ? null : `${kind} ${where}`)
/** A runtime's operator goes by its id. */
const runtimeOf = (where: Where | undefined) =>
  where === undefined ? {} : { shared_runtime_id: where === 'here' ? 'actor' : 'runtime elsewhere' }
const tokenOf = ({ tenant_id, project_id, shared_runtime_id, actions }: NonNullable<Given['token']>): TokenBounds => ({
  tenant_id: idOf('tenant', tenant_id),
  project_id: idOf('project', project_id),
  ...runtimeOf(shared_runtime_id),
  actions: actions ? new Set(actions) : null,
})

const elevationOf = (action: Action, { scope, where = 'here', ...said }: GivenElevation, index: number): Elevation => ({
  id: `elevation ${index}`,
  scope,
  tenant_id: scope === 'tenant' ? idOf('tenant', where) : null,
  project_id: scope === 'project' ? idOf('project', where) : null,
  actions: said.actions ?? [action],
  starts_at: said.starts_at ?? '2026-11-16T11:00:00.000Z',
  ends_at: said.ends_at ?? '2026-11-16T13:00:00.000Z',
})

/** What a rule says where a row leaves it out: it denies the row's action always, and it is locked if it is global. */
export const constraintOf = (action: string, { scope, ...said }: GivenConstraint, index: number): Constraint => ({
  constraint_id: `constraint ${index}`,
  version: 1,
  key: said.key ?? 'rule',
  scope_type: scope,
  actions: said.actions ?? [action],
  condition: (said.condition === undefined ? {} : said.condition) as Condition,
  time_zone: said.time_zone ?? 'UTC',
  is_locked: said.is_locked ?? scope === 'global',
  state: said.state ?? 'active',
})

export const inputOf = (action: Action, given: Given): DecisionInput => {
  const { platform, tenant, project, actor, resource } = given
  const place = placeOf(action, given)
  const type = actor?.type ?? 'user'
  const resource_type = resourceTypeOf(action, given)
  const constraints = (given.constraints ?? []).map((each, index) => constraintOf(action, each, index))
  const odd = Object.fromEntries(Object.entries(given.unspeakable ?? {}).map(([name, value]) => [name, unspeakable[value]]))
  const attributes: RequestAttributes = { ...given.attributes, ...odd }
  return {
    actor: { id: 'actor', type, is_disabled: actor?.is_disabled ?? false },
    token: given.token ? tokenOf(given.token) : null,
    platform: grantsOf('platform', platform),
    tenant: { ...grantsOf('tenant', tenant), is_member: tenant?.is_member ?? false, is_suspended: tenant?.is_suspended ?? false },
    project: {
      ...grantsOf('project', project),
      is_member: project?.is_member ?? false,
      is_archived: project?.is_archived ?? false,
      ...(project?.is_eligible === undefined ? {} : { is_eligible: project.is_eligible }),
    },
    resource: {
      type: resource_type,
      tenant_id: place === 'platform' ? null : idOf('tenant', 'here'),
      project_id: place === 'project' ? idOf('project', 'here') : null,
      ...runtimeOf(resource?.shared_runtime_id),
      relations: new Set(resource?.relations),
    },
    now: noon,
    elevations: (given.elevations ?? []).map((each, index) => elevationOf(action, each, index)),
    constraints,
    attributes,
    local_times: localTimes(attributes.time ?? noon, zonesOf(constraints)),
  }
}
