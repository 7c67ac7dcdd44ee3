import type { DecidedBy } from '@gatehouse/contract/decisions'
import { newId } from '#ground/kernel/ids.ts'
import { actions, isFitForServiceAccounts, overridePermission, type Tier } from '#rails/authz/actions.ts'
import { type AppliedScope, denyingRule, elevationFor, isOverridden, scopeOf } from '#rails/authz/decide.ts'
import type { Facts } from '#rails/authz/facts.ts'
import { isActive, isLive, permissionsIn } from '#rails/authz/standing.ts'
import type { BoundRole } from '#rails/authz/standing-queries.ts'
import type { Judged } from './judge-questions.ts'
import type { Readable } from './veil.ts'

const bound = (scope: AppliedScope, role: BoundRole) => ({
  binding_id: role.binding_id,
  scope,
  role_id: role.role_id,
  role_version_id: role.role_version_id,
  role_name: role.name,
  version: role.version,
})

/** Whether a role gives the key to somebody of this type: to service accounts no role gives what is not fit for them. */
const givesTo = ({ actor }: Pick<Facts, 'actor'>, tier: Tier, role: BoundRole, key: string): boolean =>
  permissionsIn(tier, role).has(key) && (actor.type !== 'service_account' || isFitForServiceAccounts(key))

/** The roles of one tier, with whether each gives the key. */
export const rolesOf = (tier: Tier, key: string, { actor, standing, now }: Facts) =>
  standing[`${tier}_roles`]
    .filter((role) => isLive(role, now))
    .map((role) => ({
      ...bound(scopeOf[tier], role),
      // As it counts now: a role in its grace is still an active one.
      state: isActive(role, now) ? 'active' : 'disabled',
      expires_at: role.expires_at,
      gives: givesTo({ actor }, tier, role, key),
    }))

/** The bindings of one tier whose roles give the key: those that count, or those that would if their role were not disabled. */
const givingIn = (tier: Tier, key: string, { actor, standing, now }: Facts, readable: Readable, isDisabled = false) => {
  const giving = standing[`${tier}_roles`].filter(
    (role) => isLive(role, now) && isActive(role, now) !== isDisabled && givesTo({ actor }, tier, role, key),
  )
  return giving.length > 0 && readable[scopeOf[tier]] ? giving.map((role) => bound(scopeOf[tier], role)) : []
}

const givingBindings = ({ asked: { action }, facts, decision: { decision, reason_code }, readable }: Judged) => {
  if (isOverridden(action, facts) && decision === 'allow') return givingIn('platform', overridePermission, facts, readable)
  if (reason_code !== null && reason_code !== 'role_disabled' && reason_code !== 'policy_constraint_denied') return []
  return givingIn(actions[action].tier, action, facts, readable, reason_code === 'role_disabled')
}

/** The bindings, the role versions and the rule that decided, as far as the caller may read their scopes. */
const decidedBy = (judged: Judged): DecidedBy => {
  const { asked, facts, decision } = judged
  const isRule = decision.policy_source === 'policy_values'
  const rule = isRule ? denyingRule(asked.action, facts) : undefined
  return {
    bindings: givingBindings(judged) as DecidedBy['bindings'],
    constraint:
      rule && judged.rules()[rule.scope_type]
        ? { constraint_id: rule.constraint_id as never, key: rule.key, version: rule.version, scope: rule.scope_type }
        : null,
  }
}

/** A decision as it is given out. */
export const answerOf = (judged: Judged) => {
  const { decision, asked, facts } = judged
  const isElevated = decision.decision === 'allow' && !isOverridden(asked.action, facts)
  return {
    ...decision,
    decision_id: newId('decision'),
    break_glass_id: ((isElevated ? elevationFor(asked.action, facts)?.id : undefined) ?? null) as never,
    decided_by: decidedBy(judged),
  }
}
