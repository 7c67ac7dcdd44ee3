import {
  type Action,
  actions,
  entryOf,
  isFitForServiceAccounts,
  isForGlobalRules,
  isGrantable,
  overridePermission,
  type Relation,
  relationKeys,
} from '#rails/authz/actions.ts'
import { builtinRoleNames, isForServiceAccounts, permissionsOf } from '#rails/authz/catalogue.ts'
import { decide, denyingRule, isGivenByRelation } from '#rails/authz/decide.ts'
import type { Constraint } from '#rails/policies/constraint.ts'
import type { Judged } from './judge-questions.ts'
import { operatorWords } from './operator-words.ts'
import { scopeWords, tierWords } from './place-words.ts'
import { hasRecord } from './veil.ts'

/** What would have to be otherwise for an allow, as far as the first thing in the way: what comes after it was not asked. */
export const missingOf = (judged: Judged): string[] => {
  const { facts, decision } = judged
  const isOperator = facts.actor.type === 'shared_runtime_operator'
  if (decision.decision === 'allow') return []
  if (!hasRecord(facts.actor)) return [`Nothing would do: of a ${facts.actor.type} nothing is read here.`]
  switch (decision.reason_code) {
    case 'actor_disabled':
      return [isOperator ? operatorWords.missingEnabled : 'There must be such an actor, and it must be enabled.']
    case 'scope_mismatch':
      return tokenMissing(judged)
    case 'membership_missing':
      return isOperator ? operatorWords.missingMember(judged.asked.action, facts) : membershipMissing(judged)
    case 'role_disabled':
      return ['The role must be enabled again, or another role must give the action.']
    case 'permission_denied':
      return isOperator ? operatorWords.missingKey(judged.asked.action, facts) : [giftMissing(judged)]
    default:
      return decision.policy_source === 'in_code' ? stateMissing(judged) : [wayRound(judged)]
  }
}

/** Of a machine that is known: whether any token of it would do, and what would still be in the way. */
const tokenMissing = (judged: Judged): string[] => {
  const { actor, standing } = judged.facts
  const another = 'A token whose binding and scope reach this action and place.'
  if (!standing.home) return [actor.type === 'shared_runtime_operator' ? operatorWords.untold : another]
  const facts = { ...judged.facts, token: standing.home }
  const decision = decide(judged.asked.action, facts)
  return decision.reason_code === 'scope_mismatch'
    ? ['Nothing would do: no token of this machine reaches this action there.']
    : [another, ...missingOf({ ...judged, facts, decision })]
}

const membershipMissing = (judged: Judged): string[] => {
  const { asked, facts } = judged
  const { tier, given_to_members_of } = entryOf(asked.action)
  // It belongs to its project as long as that is there.
  if (facts.actor.type === 'service_account') return ['Nothing would do: the organization of the service account is gone.']
  const membership = `An active membership of ${tierWords[tier]}.`
  // As it was said: whether there is such a place is not for everybody to know.
  const { tenant_id, project_id } = asked.said
  const isNamed = project_id !== null || (tier === 'tenant' && tenant_id !== null)
  const belonging = isNamed ? [membership] : [`The question must name ${tierWords[tier]}.`, membership]
  if (given_to_members_of === tier || isGivenByRelation(asked.action, facts)) return belonging
  return waysTo(judged).length === 0 ? [giftMissing(judged)] : [...belonging, giftMissing(judged)]
}

const whose = { user: 'a person', service_account: 'a service account' }

const giftMissing = (judged: Judged): string => {
  const [first, ...others] = waysTo(judged)
  const { action } = judged.asked
  if (first === undefined) return `Nobody can give ${action} to ${whose[judged.facts.actor.type as keyof typeof whose]}.`
  return `${[first[0]!.toUpperCase() + first.slice(1), ...others].join('; or ')}.`
}

/** To stand so to the resource is enough, for whoever belongs where it is judged. */
const relationWords: Readonly<Record<Relation, string>> = {
  self: 'the resource must be the actor’s own record',
  invitee: 'the invitation must be one to the actor',
  allocation_owner: 'the allocation must be the actor’s own',
  grantee: 'the grant must be one to the actor',
}
const relations = Object.keys(relationWords) as Relation[]

/** What could give an action to somebody of this type, belonging where it is judged. */
const waysTo = ({ asked: { action, said }, facts: { actor } }: Judged): string[] => {
  const { tier, given_to_members_of } = entryOf(action)
  const roles = rolesGiving(action, actor.type === 'service_account')
  const byRole = roles.length === 0 ? [] : [`a role at ${tierWords[tier]} that gives ${action}: ${roles.join(', ')}`]
  if (actor.type !== 'user') return byRole
  const byRelation = relations.filter((relation) => relationKeys[relation].has(action)).map((relation) => relationWords[relation])
  const byBelonging = given_to_members_of === 'project' && said.project_id !== null ? ['an active membership of the project'] : []
  return [...byRole, ...byRelation, ...byBelonging]
}

const rolesGiving = (action: Action, isToServiceAccount: boolean): string[] => {
  if (isToServiceAccount && !isFitForServiceAccounts(action)) return []
  const { tier, override_eligible } = actions[action]
  const names = builtinRoleNames.filter((name) => permissionsOf(name).has(action) && (!isToServiceAccount || isForServiceAccounts(name)))
  const custom = isToServiceAccount ? 'a custom role for service accounts with this key' : 'a custom role with this key'
  // Elsewhere it would do as well, but it is no role for who wants to work there.
  const overriding =
    tier === 'platform' && override_eligible ? builtinRoleNames.filter((name) => permissionsOf(name).has(overridePermission)) : []
  return [...names, ...(isGrantable(action, tier) ? [custom] : []), ...overriding.map((name) => `${name} by override`)]
}

const stateMissing = ({ facts: { tenant, project } }: Judged): string[] => [
  ...(tenant.is_suspended ? ['The organization must be resumed.'] : []),
  ...(project.is_archived ? ['The project must be restored.'] : []),
]

const wayRound = ({ asked: { action }, facts, rules }: Judged): string => {
  const rule = denyingRule(action, facts)!
  const which = rules()[rule.scope_type] ? rule.key : 'that constraint'
  const change = `The request must not meet the condition of ${which}, or ${scopeWords[rule.scope_type]} must change that constraint`
  // Whether it is locked is its scope's business, and where it is told of one it must not be missed of another.
  return `${change}${rules()[rule.scope_type] ? exemptionFrom(rule, action, facts) : ''}.`
}

/** Of what is narrower there may be nothing: below a project, where no project is named, and over what only the platform's rules reach. */
const exemptionFrom = ({ scope_type, is_locked }: Constraint, action: Action, { resource }: Judged['facts']): string => {
  if (scope_type === 'project') return ''
  if (is_locked) return '; it is locked, so no narrower scope can exempt from it'
  const isNarrower = resource.project_id !== null || (scope_type === 'global' && resource.tenant_id !== null)
  return isNarrower && !isForGlobalRules(action) ? '; or a narrower scope must exempt from it' : ''
}
