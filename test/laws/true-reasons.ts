import {
  type Action,
  actions,
  classKeys,
  isConstrainable,
  isForGlobalRules,
  overridePermission,
} from '../../server/src/rails/authz/actions.ts'
import {
  type DecisionInput,
  describedBy,
  isGivenByMembership,
  isGivenByRelation,
  isMember,
  type ReasonCode,
} from '../../server/src/rails/authz/decide.ts'
import { type Constraint, covers, denies } from '../../server/src/rails/policies/constraint.ts'

const isByClass = (action: Action, { actor }: DecisionInput) => classKeys[actor.type]?.has(action) ?? false

/** A token that lists it not, or is bound to another place; one that is bound to a project reaches no further than that. */
const isOutsideToken = (action: Action, input: DecisionInput): boolean => {
  const { token, resource } = input
  const { tier } = actions[action]
  if (!token || (isByClass(action, input) && tier === 'platform')) return false
  const isUnlisted = token.actions !== null && !token.actions.has(action) && !isByClass(action, input)
  const isAbroad = token.tenant_id !== null && token.tenant_id !== resource.tenant_id
  const isOfOtherProject = token.project_id !== null && token.project_id !== resource.project_id
  const isAboveProject = token.project_id !== null && tier !== 'project' && action !== 'project.read'
  return isUnlisted || isAbroad || isOfOtherProject || isAboveProject
}

const isElevated = (action: Action, { actor, elevations, resource, now }: DecisionInput): boolean =>
  actor.type === 'user' &&
  elevations.some(({ scope, tenant_id, project_id, actions: named, starts_at, ends_at }) => {
    const isHere = scope === 'tenant' ? tenant_id === resource.tenant_id : project_id === resource.project_id
    const isThere = scope === 'tenant' ? resource.tenant_id !== null : resource.project_id !== null
    return named.includes(action) && starts_at <= now && now < ends_at && (scope === 'global' || (isHere && isThere))
  })

/** Of the rules of one key: the widest that is locked, else the narrowest, which may be an exemption. */
const counting = (alike: readonly Constraint[]): Constraint => {
  const widestFirst = (['global', 'tenant', 'project'] as const).flatMap((scope) => alike.filter(({ scope_type }) => scope_type === scope))
  return widestFirst.find(({ is_locked, state }) => is_locked && state === 'active') ?? widestFirst.at(-1)!
}

const isDeniedByRule = (action: Action, input: DecisionInput): boolean => {
  if (!isConstrainable(action)) return false
  const heard = input.constraints.filter(({ scope_type }) => scope_type === 'global' || !isForGlobalRules(action))
  return [...Map.groupBy(heard, ({ key }) => key).values()]
    .map(counting)
    .some(
      (rule) =>
        rule.state === 'active' &&
        (rule.is_locked || !isElevated(action, input)) &&
        covers(rule, action) &&
        denies(rule, describedBy(input)),
    )
}

/** Suspended or archived, which stops neither reads nor elevations. */
const isFrozen = (action: Action, input: DecisionInput): boolean =>
  !actions[action].is_read && !isElevated(action, input) && (input.tenant.is_suspended || input.project.is_archived)

/** Which reasons to deny are true of a question. Several can be: the order of the merge says which of them is told. */
const trueReasons = (action: Action, input: DecisionInput): Record<ReasonCode, boolean> => {
  const { allowed, by_disabled } = input[actions[action].tier]
  const isGiven = allowed.has(action) || isGivenByMembership(action, input) || isGivenByRelation(action, input) || isByClass(action, input)
  return {
    actor_disabled: input.actor.is_disabled,
    scope_mismatch: isOutsideToken(action, input),
    membership_missing: !isMember(action, input),
    role_disabled: !isGiven && by_disabled.has(action),
    permission_denied: !isGiven && !by_disabled.has(action),
    policy_constraint_denied: isFrozen(action, input) || isDeniedByRule(action, input),
  }
}

/** Those that nothing lifts: override lifts all that comes after the token, an elevation of what is left all but locked rules. */
export const reasonsLeft = (action: Action, input: DecisionInput): ReasonCode[] => {
  const reasons = trueReasons(action, input)
  const { type } = input.actor
  const hasOverride = input.platform.allowed.has(overridePermission) && (type === 'user' || type === 'platform_operator')
  const isOverridden = hasOverride && actions[action].override_eligible && !(type !== 'user' && action === 'platform.admin')
  const first: ReasonCode[] = ['actor_disabled', 'scope_mismatch']
  const left = isOverridden
    ? first
    : isElevated(action, input)
      ? [...first, 'policy_constraint_denied' as const]
      : (Object.keys(reasons) as ReasonCode[])
  return left.filter((reason) => reasons[reason])
}
