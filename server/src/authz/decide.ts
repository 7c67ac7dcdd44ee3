import { type Action, actions, overridePermission, type Relation, relationKeys, type Tier } from './actions.ts'

export type ReasonCode =
  | 'permission_denied'
  | 'membership_missing'
  | 'scope_mismatch'
  | 'policy_constraint_denied'
  | 'role_disabled'
  | 'actor_disabled'
export type AppliedScope = 'global' | 'tenant' | 'project'

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

/** All that a decision rests on. Same input, same answer: there is no clock, no I/O and no chance behind it. */
export interface DecisionInput {
  readonly is_actor_disabled: boolean
  /** False where a machine token's class, binding or scope does not reach the action and resource. People have no such bounds. */
  readonly is_within_token: boolean
  readonly platform: Grants
  readonly tenant: Grants & { readonly is_member: boolean; readonly is_suspended: boolean }
  readonly project: Grants & { readonly is_member: boolean; readonly is_archived: boolean }
  readonly relations: ReadonlySet<Relation>
  /** The scope of a live elevation that names this action and scope. */
  readonly elevation: AppliedScope | null
  /** The constraint that denies, if one does: its scope, and whether it is locked. */
  readonly constraint: { readonly scope: AppliedScope; readonly is_locked: boolean } | null
}

const scopeOf = { platform: 'global', tenant: 'tenant', project: 'project' } as const satisfies Record<Tier, AppliedScope>

const allow = (applied_scope: AppliedScope): Decision => ({ decision: 'allow', reason_code: null, applied_scope, policy_source: 'in_code' })
const deny = (reason_code: ReasonCode, applied_scope: AppliedScope, policy_source: Decision['policy_source'] = 'in_code'): Decision => ({
  decision: 'deny',
  reason_code,
  applied_scope,
  policy_source,
})

export const hasOverride = (input: Pick<DecisionInput, 'platform'>): boolean => input.platform.allowed.has(overridePermission)

/** Whether the override step is the one that allows this action. */
export const isOverridden = (action: Action, input: Pick<DecisionInput, 'platform'>): boolean =>
  actions[action].override_eligible && hasOverride(input)

const isMember = (tier: Tier, { tenant, project }: DecisionInput) =>
  tier === 'platform' || (tier === 'tenant' ? tenant.is_member : project.is_member)

const isFrozen = (action: Action, { tenant, project }: DecisionInput): AppliedScope | null => {
  if (actions[action].is_read) return null
  if (tenant.is_suspended) return 'tenant'
  return project.is_archived ? 'project' : null
}

/** The order of the questions is the specification: the first that settles the matter names the reason. */
export const decide = (action: Action, input: DecisionInput): Decision => {
  const { tier } = actions[action]
  const scope = scopeOf[tier]
  const { constraint, elevation } = input

  if (input.is_actor_disabled) return deny('actor_disabled', 'global')
  if (!input.is_within_token) return deny('scope_mismatch', scope)
  if (isOverridden(action, input)) return allow('global')
  if (elevation) return constraint?.is_locked ? deny('policy_constraint_denied', constraint.scope, 'policy_values') : allow(elevation)
  if (!isMember(tier, input)) return deny('membership_missing', scope)

  const { allowed, by_disabled } = input[tier]
  const byRelation = [...input.relations].some((relation) => (relationKeys[relation] as readonly Action[]).includes(action))
  if (!allowed.has(action) && !byRelation) return deny(by_disabled.has(action) ? 'role_disabled' : 'permission_denied', scope)

  const frozen = isFrozen(action, input)
  if (frozen) return deny('policy_constraint_denied', frozen)
  if (constraint) return deny('policy_constraint_denied', constraint.scope, 'policy_values')
  return allow(scope)
}
