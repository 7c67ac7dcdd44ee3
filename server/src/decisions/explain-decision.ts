import type { Explained } from '@gatehouse/contract/decisions'
import { type Action, actions, isFitForServiceAccounts, isForGlobalRules, isGrantable } from '../authz/actions.ts'
import { builtinRoleNames, isForServiceAccounts, permissionsOf } from '../authz/catalogue.ts'
import {
  decide,
  denyingRule,
  elevationFor,
  frozenScope,
  isGivenByClass,
  isGivenByMembership,
  isGivenByRelation,
  isMember,
  isOverridden,
  isWithinToken,
} from '../authz/decide.ts'
import type { Constraint } from '../policies/constraint.ts'
import { type Judged, rolesOf } from './judge-questions.ts'
import { operatorWords } from './operator-words.ts'

type Step = Explained['steps'][number]
const step = (name: Step['step'], outcome: Step['outcome'], because: string): Step => ({ step: name, outcome, because })

const scopeWords = { global: 'the platform', tenant: 'the organization', project: 'the project' } as const
const tierWords = { platform: 'the platform', tenant: 'the organization', project: 'the project' } as const

const isOperator = ({ facts: { actor } }: Judged): boolean => actor.type === 'shared_runtime_operator'
const isServiceAccount = ({ facts: { actor } }: Judged): boolean => actor.type === 'service_account'
/** Asked of a service account, and out of reach of all of them. */
const isUnfit = (judged: Judged): boolean => isServiceAccount(judged) && !isFitForServiceAccounts(judged.asked.action)

const permissionStepOf = (judged: Judged): Step => {
  const { asked, facts, decision, readable } = judged
  const { action } = asked
  const { tier } = actions[action]
  const giving = readable[tier === 'platform' ? 'global' : tier] ? rolesOf(tier, action, facts).filter(({ gives }) => gives) : []
  const names = giving.map(({ role_name, version, state }) => `${role_name} (version ${version}, ${state})`).join(', ')
  if (decision.reason_code === 'role_disabled')
    return step('permission', 'denied', `Only a disabled role gives ${action}: ${names || 'its name is not yours to read'}.`)
  if (decision.reason_code === 'permission_denied')
    return step(
      'permission',
      'denied',
      isUnfit(judged)
        ? `No service account has ${action}, whichever role gives it to people.`
        : `No role of the actor at ${tierWords[tier]} gives ${action}.`,
    )
  if (isGivenByRelation(action, facts))
    return step('permission', 'passed', `The actor stands to this resource in a way that gives ${action}.`)
  if (isGivenByMembership(action, facts) && !facts[tier].allowed.has(action))
    return step('permission', 'passed', `Belonging there gives ${action}.`)
  if (isGivenByClass(action, facts)) return step('permission', 'passed', `Every ${facts.actor.type} may do ${action} for itself.`)
  return step('permission', 'passed', `A role at ${tierWords[tier]} gives ${action}${names ? `: ${names}` : ''}.`)
}

const permissionStep = (judged: Judged): Step => {
  const { asked, facts, decision } = judged
  if (!isOperator(judged) || isGivenByClass(asked.action, facts)) return permissionStepOf(judged)
  return decision.reason_code === 'permission_denied'
    ? step('permission', 'denied', operatorWords.notGiven(asked.action))
    : step('permission', 'passed', operatorWords.given(asked.action))
}

const membershipStep = (judged: Judged): Step => {
  const { action } = judged.asked
  const { tier } = actions[action]
  if (!isMember(action, judged.facts))
    return step(
      'membership',
      'denied',
      isOperator(judged) ? operatorWords.notMember(action) : `The actor has no active membership of ${tierWords[tier]}.`,
    )
  if (isOperator(judged)) return step('membership', 'passed', operatorWords.member)
  return step(
    'membership',
    'passed',
    tier === 'platform' ? 'The platform needs no membership.' : `The actor belongs to ${tierWords[tier]}.`,
  )
}

/** The questions in their order, up to the one that settled the matter. What comes after it was not asked, and is not told. */
const stepsOf = (judged: Judged): Step[] => {
  const { asked, facts, decision } = judged
  const { action } = asked
  if (decision.reason_code === 'actor_disabled')
    return [step('actor', 'denied', isOperator(judged) ? operatorWords.disabled : 'The actor is disabled.')]
  const steps = [step('actor', 'passed', 'The actor is not disabled.')]
  const tell = (...told: Step[]) => {
    steps.push(...told)
    return steps
  }
  if (!isWithinToken(action, facts)) return tell(step('token', 'denied', 'The token does not reach this action or this place.'))
  tell(step('token', 'passed', facts.token ? 'The token reaches it.' : 'A person is not bound by a token.'))
  if (isOverridden(action, facts)) return tell(step('override', 'allowed', 'Override is held and the action is open to it.'))
  tell(step('override', 'passed', actions[action].override_eligible ? 'Override is not held.' : 'The action is not open to override.'))

  const elevation = elevationFor(action, facts)
  if (elevation && decision.decision === 'allow')
    return tell(step('elevation', 'allowed', `A live elevation in ${scopeWords[elevation.scope]} names the action.`))
  if (elevation) return tell(step('elevation', 'passed', 'A live elevation names the action.'), constraintStep(judged, true))
  tell(step('elevation', 'passed', 'No live elevation names the action here.'))

  for (const next of [membershipStep, permissionStep]) {
    const told = next(judged)
    tell(told)
    if (told.outcome === 'denied') return steps
  }

  const frozen = frozenScope(action, facts)
  if (frozen)
    return tell(
      step('state', 'denied', `In ${frozen === 'tenant' ? 'a suspended organization' : 'an archived project'} only reads are allowed.`),
    )
  tell(step('state', 'passed', actions[action].is_read ? 'Reads are allowed in every state.' : 'Nothing is suspended or archived.'))
  return tell(constraintStep(judged, false))
}

const constraintStep = ({ asked, facts, readable }: Judged, isLockedOnly: boolean): Step => {
  const rule = denyingRule(asked.action, facts, isLockedOnly)
  if (!rule) return step('constraints', 'allowed', 'No constraint denies it.')
  const which = readable[rule.scope_type] ? `The constraint ${rule.key} (version ${rule.version})` : 'A constraint'
  return step('constraints', 'denied', `${which} of ${scopeWords[rule.scope_type]} denies it.`)
}

const rolesGiving = (action: Action, isToServiceAccount: boolean): string => {
  const names = builtinRoleNames.filter((name) => permissionsOf(name).has(action) && (!isToServiceAccount || isForServiceAccounts(name)))
  const kind = isToServiceAccount ? 'a custom role for service accounts with this key' : 'a custom role with this key'
  const custom = isGrantable(action, actions[action].tier) ? [kind] : []
  return [...names, ...custom].join(', ') || 'no role gives it'
}

/** What would have to be otherwise for an allow, in the words of the first thing in the way. */
const missingOf = (judged: Judged): string[] => {
  const { action } = judged.asked
  const { decision } = judged
  const { tier } = actions[action]
  switch (decision.reason_code) {
    case null:
      return []
    case 'actor_disabled':
      return [isOperator(judged) ? operatorWords.missingEnabled : 'The actor must be enabled again.']
    case 'scope_mismatch':
      return tokenMissing(judged)
    case 'membership_missing':
      if (isOperator(judged)) return [operatorWords.missingMember(action)]
      return [
        `An active membership of ${tierWords[tier]}.`,
        `A role there that gives ${action}: ${rolesGiving(action, isServiceAccount(judged))}.`,
      ]
    case 'role_disabled':
      return ['The role must be enabled again, or another role must give the action.']
    case 'permission_denied':
      if (isOperator(judged)) return [operatorWords.missingKey(action)]
      if (isUnfit(judged)) return [`Nobody can give ${action} to a service account.`]
      return [`A role at ${tierWords[tier]} that gives ${action}: ${rolesGiving(action, isServiceAccount(judged))}.`]
    case 'policy_constraint_denied':
      return [wayRound(judged)]
  }
}

/** Of a machine that is known: whether any token of it would do, and what would still be in the way. */
const tokenMissing = (judged: Judged): string[] => {
  const another = 'A token whose binding and scope reach this action and place.'
  const { home } = judged.facts.standing
  if (!home) return [another]
  const facts = { ...judged.facts, token: home }
  const decision = decide(judged.asked.action, facts)
  return decision.reason_code === 'scope_mismatch'
    ? ['Nothing would do: no token of this machine reaches this action there.']
    : [another, ...missingOf({ ...judged, facts, decision })]
}

const wayRound = ({ asked: { action }, facts, decision, readable }: Judged): string => {
  if (decision.policy_source === 'in_code')
    return facts.tenant.is_suspended ? 'The organization must be resumed.' : 'The project must be restored.'
  const rule = denyingRule(action, facts, elevationFor(action, facts) !== undefined)!
  const which = readable[rule.scope_type] ? rule.key : 'that constraint'
  const change = `The request must not meet the condition of ${which}, or ${scopeWords[rule.scope_type]} must change that constraint`
  return `${change}${exemptionFrom(rule, action, facts)}.`
}

/** Of what is narrower there may be nothing: below a project, where no project is named, and over what only the platform's rules reach. */
const exemptionFrom = ({ scope_type, is_locked }: Constraint, action: Action, { resource }: Judged['facts']): string => {
  if (scope_type === 'project') return ''
  if (is_locked) return '; it is locked, so no narrower scope can exempt from it'
  const isNarrower = resource.project_id !== null || (scope_type === 'global' && resource.tenant_id !== null)
  return isNarrower && !isForGlobalRules(action) ? '; or a narrower scope must exempt from it' : ''
}

/** How a decision came about, as far as the caller may know. */
export const explanationOf = (judged: Judged): Pick<Explained, 'steps' | 'roles' | 'missing'> => {
  const { asked, facts, readable } = judged
  const tiers = (['platform', 'tenant', 'project'] as const).filter((tier) => readable[tier === 'platform' ? 'global' : tier])
  return {
    steps: stepsOf(judged),
    roles: tiers.flatMap((tier) => rolesOf(tier, asked.action, facts)) as Explained['roles'],
    missing: missingOf(judged),
  }
}
