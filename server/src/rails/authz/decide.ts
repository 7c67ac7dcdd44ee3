import type { ActorType } from '@gatehouse/contract/operation'
import { type AttributesIn, type Constraint, covers, denies, effectiveRules, globalRules, type ScopeType } from '../policies/constraint.ts'
import {
  type Action,
  classKeys,
  entryOf,
  isConstrainable,
  isForGlobalRules,
  overridePermission,
  type Registered,
  type Relation,
  relationKeys,
  type Tier,
} from './actions.ts'
import { attributesIn, type RequestAttributes } from './attributes.ts'
import type { LocalTimes } from './local-times.ts'

export type ReasonCode =
  | 'permission_denied'
  | 'membership_missing'
  | 'scope_mismatch'
  | 'policy_constraint_denied'
  | 'role_disabled'
  | 'actor_disabled'
export type AppliedScope = ScopeType

export interface Decision {
  readonly decision: 'allow' | 'deny'
  readonly reason_code: ReasonCode | null
  readonly applied_scope: AppliedScope
  readonly policy_source: 'in_code' | 'policy_values' | 'opa'
}

/** Resolved permissions of one tier: what active roles allow, and what only disabled roles would. */
export interface Grants {
  readonly allowed: ReadonlySet<string>
  readonly by_disabled: ReadonlySet<string>
}

/** How far a machine's token reaches. What is null bounds nothing. */
export interface TokenBounds {
  readonly tenant_id: string | null
  readonly project_id: string | null
  /** Of an operator: the one runtime that it operates. */
  readonly shared_runtime_id?: string | null
  readonly actions: ReadonlySet<string> | null
}

/** A short, approved exception for one person: these actions, in that scope, in that time. */
export interface Elevation {
  readonly id: string
  readonly scope: AppliedScope
  readonly tenant_id: string | null
  readonly project_id: string | null
  readonly actions: readonly string[]
  readonly starts_at: string
  readonly ends_at: string
}

/** All that a decision rests on. Same input, same answer: there is no clock, no I/O and no chance behind it. */
export interface DecisionInput {
  readonly actor: { readonly id: string; readonly type: ActorType | 'system'; readonly is_disabled: boolean }
  /** People have none. */
  readonly token: TokenBounds | null
  readonly platform: Grants
  readonly tenant: Grants & { readonly is_member: boolean; readonly is_suspended: boolean }
  /** `is_eligible`: of an operator, that its tenant lets it attach the project. */
  readonly project: Grants & { readonly is_member: boolean; readonly is_archived: boolean; readonly is_eligible?: boolean }
  readonly resource: {
    readonly type: string
    readonly tenant_id: string | null
    readonly project_id: string | null
    readonly shared_runtime_id?: string | null
    readonly relations: ReadonlySet<Relation>
  }
  /** The instant of the question, by the database's clock. */
  readonly now: string
  readonly elevations: readonly Elevation[]
  /** The current rules on the way from the platform to the resource. */
  readonly constraints: readonly Constraint[]
  /** What is said of the request. */
  readonly attributes: RequestAttributes
  /** Its time, or that of the question, where rules look: a zone that is missing here cannot be judged by. */
  readonly local_times: LocalTimes
}

export const scopeOf = { platform: 'global', tenant: 'tenant', project: 'project' } as const satisfies Record<Tier, AppliedScope>

/** There are few answers: each is made once, and nobody can change it. */
const inEachScope = (reason_code: ReasonCode | null, policy_source: Decision['policy_source'] = 'in_code') => {
  const said = (applied_scope: AppliedScope): Decision =>
    Object.freeze({ decision: reason_code === null ? 'allow' : 'deny', reason_code, applied_scope, policy_source })
  return { global: said('global'), tenant: said('tenant'), project: said('project') }
}
const allows = inEachScope(null)
const denials = {
  actor_disabled: inEachScope('actor_disabled'),
  scope_mismatch: inEachScope('scope_mismatch'),
  membership_missing: inEachScope('membership_missing'),
  permission_denied: inEachScope('permission_denied'),
  role_disabled: inEachScope('role_disabled'),
  policy_constraint_denied: inEachScope('policy_constraint_denied'),
}
const denialsByRule = inEachScope('policy_constraint_denied', 'policy_values')
const allow = (applied_scope: AppliedScope): Decision => allows[applied_scope]
const deny = (reason_code: ReasonCode, applied_scope: AppliedScope): Decision => denials[reason_code][applied_scope]
const denyBy = ({ scope_type }: Constraint): Decision => denialsByRule[scope_type]

export const hasOverride = (input: Pick<DecisionInput, 'platform'>): boolean => input.platform.allowed.has(overridePermission)

/** Who can use override at all: people, and the platform's operator for anything but administering the platform. */
const mayOverride = (action: Action, { actor }: Pick<DecisionInput, 'actor'>): boolean =>
  actor.type === 'user' || (actor.type === 'platform_operator' && action !== 'platform.admin')

/** Whether the override step is the one that allows this action. */
export const isOverridden = (
  action: Action,
  input: Pick<DecisionInput, 'platform' | 'actor'>,
  { override_eligible } = entryOf(action),
): boolean => override_eligible && hasOverride(input) && mayOverride(action, input)

export const isGivenByClass = (action: Action, { actor }: Pick<DecisionInput, 'actor'>): boolean =>
  classKeys[actor.type]?.has(action) ?? false

/** An operator is its runtime's, and its token says so: one that leaves a bound open is good for nothing. */
const isBoundToItself = ({ actor, token }: Pick<DecisionInput, 'actor' | 'token'>): boolean =>
  typeof token?.tenant_id === 'string' && token.shared_runtime_id === actor.id

/** What neither the list of operators nor a delegation has: that it is in no token of one says nothing, and no project is a way to it. */
const isUnlisted = (action: Action, input: Pick<DecisionInput, 'actor' | Tier>): boolean =>
  input.actor.type === 'shared_runtime_operator' && !input[entryOf(action).tier].allowed.has(action) && !isGivenByClass(action, input)

/**
 * A token that is bound to a project reaches what is judged there, and that project's own record. What its bearer is, it need not list; where
 * that counts is bounded all the same, unless it lies in no place.
 */
export const isWithinToken = (action: Action, input: DecisionInput, { tier } = entryOf(action)): boolean => {
  const { actor, token, resource } = input
  const isByClass = isGivenByClass(action, input)
  if (isByClass && tier === 'platform') return true
  if (actor.type === 'shared_runtime_operator' && !isBoundToItself(input)) return false
  if (!token) return true
  if (token.actions && !token.actions.has(action) && !isByClass && !isUnlisted(action, input)) return false
  if (token.tenant_id !== null && token.tenant_id !== resource.tenant_id) return false
  if (token.shared_runtime_id && token.shared_runtime_id !== resource.shared_runtime_id) return false
  if (token.project_id === null) return true
  return token.project_id === resource.project_id && (tier === 'project' || action === 'project.read')
}

const narrowness: readonly AppliedScope[] = ['project', 'tenant', 'global']
const reaches = ({ scope, tenant_id, project_id }: Elevation, { resource }: DecisionInput): boolean => {
  if (scope === 'global') return true
  const [named, found] = scope === 'tenant' ? [tenant_id, resource.tenant_id] : [project_id, resource.project_id]
  return named !== null && named === found
}

const isLive = ({ starts_at, ends_at }: Elevation, now: string): boolean =>
  Date.parse(starts_at) <= Date.parse(now) && Date.parse(now) < Date.parse(ends_at)

/** The live elevation that names this action and scope; of several the narrowest, then the one with the first id. */
export const elevationFor = (action: Action, input: DecisionInput): Elevation | undefined => {
  if (input.elevations.length === 0 || input.actor.type !== 'user') return undefined
  return input.elevations
    .filter((each) => each.actions.includes(action) && reaches(each, input) && isLive(each, input.now))
    .sort((a, b) => narrowness.indexOf(a.scope) - narrowness.indexOf(b.scope) || (a.id < b.id ? -1 : 1))[0]
}

/** An operator belongs to its tenant while its runtime is live, and to a project while that is attached, or, to attach it, may be. */
const isOperatorMember = (action: Action, input: DecisionInput, tier: Tier): boolean => {
  const { tenant, project, resource } = input
  if (tier === 'platform') return true
  if (action === 'shared_runtime.attach') return tenant.is_member && (project.is_eligible === true || isUnlisted(action, input))
  return tenant.is_member && (resource.project_id === null || project.is_member)
}

/** A project's own record is also for those who belong to the project and, being machines, to no tenant. */
export const isMember = (action: Action, input: DecisionInput, { tier } = entryOf(action)): boolean => {
  const { actor, tenant, project } = input
  if (actor.type === 'shared_runtime_operator') return isOperatorMember(action, input, tier)
  if (action === 'project.read') return tenant.is_member || project.is_member
  return tier === 'platform' || (tier === 'tenant' ? tenant.is_member : project.is_member)
}

export const isGivenByRelation = (action: Action, { actor, resource }: DecisionInput): boolean => {
  if (actor.type !== 'user') return false
  for (const relation of resource.relations) if (relationKeys[relation].has(action)) return true
  return false
}

/** To people and service accounts: an operator has what is on its list, and attached is not at home. */
export const isGivenByMembership = (
  action: Action,
  { actor, tenant, project }: DecisionInput,
  { given_to_members_of: where } = entryOf(action),
): boolean => {
  if (where === undefined || actor.type === 'shared_runtime_operator') return false
  return where === 'tenant' ? tenant.is_member : project.is_member
}

export const frozenScope = (action: Action, { tenant, project }: DecisionInput, { is_read } = entryOf(action)): AppliedScope | null => {
  if (is_read) return null
  if (tenant.is_suspended) return 'tenant'
  return project.is_archived ? 'project' : null
}

/** What rules are told of the request: what was said of it, and what nobody can say otherwise. */
export const describedBy = ({ attributes, local_times, resource, actor }: DecisionInput): AttributesIn =>
  attributesIn({ ...attributes, resource_type: resource.type, actor_type: actor.type }, local_times)

/** The rules that can deny an action here, in the order in which they decide; an elevation is stopped by locked ones only. */
export const rulesOver = (
  action: Action,
  input: DecisionInput,
  isLockedOnly = elevationFor(action, input) !== undefined,
): readonly Constraint[] => {
  const { constraints } = input
  if (constraints.length === 0 || !isConstrainable(action)) return noRules
  const chain = isForGlobalRules(action) ? globalRules(constraints) : constraints
  return effectiveRules(chain).filter((rule) => (rule.is_locked || !isLockedOnly) && covers(rule, action))
}
const noRules: readonly Constraint[] = []

/** The rule that denies this request, if one does. */
export const denyingRule = (action: Action, input: DecisionInput, isLockedOnly?: boolean): Constraint | undefined => {
  if (input.constraints.length === 0) return undefined
  const rules = rulesOver(action, input, isLockedOnly)
  if (rules.length === 0) return undefined
  const described = describedBy(input)
  return rules.find((rule) => denies(rule, described))
}

const isGivenOtherwise = (action: Action, input: DecisionInput, entry: Registered): boolean =>
  isGivenByMembership(action, input, entry) || isGivenByRelation(action, input) || isGivenByClass(action, input)

/** The order of the questions is the specification: the first that settles the matter names the reason. */
export const decide = (action: Action, input: DecisionInput): Decision => {
  const entry = entryOf(action)
  const { tier } = entry
  const scope = scopeOf[tier]

  if (input.actor.is_disabled) return deny('actor_disabled', 'global')
  if (!isWithinToken(action, input, entry)) return deny('scope_mismatch', scope)
  if (isOverridden(action, input, entry)) return allow('global')

  const elevation = elevationFor(action, input)
  if (elevation) {
    const locked = denyingRule(action, input, true)
    return locked ? denyBy(locked) : allow(elevation.scope)
  }

  if (!isMember(action, input, entry)) return deny('membership_missing', scope)
  const { allowed, by_disabled } = input[tier]
  if (!allowed.has(action) && !isGivenOtherwise(action, input, entry))
    return deny(by_disabled.has(action) ? 'role_disabled' : 'permission_denied', scope)

  const frozen = frozenScope(action, input, entry)
  if (frozen) return deny('policy_constraint_denied', frozen)
  const rule = denyingRule(action, input, false)
  return rule ? denyBy(rule) : allow(scope)
}
