import type { Explained } from '@gatehouse/contract/decisions'
import { actions, entryOf, isFitForServiceAccounts } from '#rails/authz/actions.ts'
import {
  denyingRule,
  elevationFor,
  frozenScope,
  isGivenByClass,
  isGivenByMembership,
  isGivenByRelation,
  isMember,
  isOverridden,
  isWithinToken,
} from '#rails/authz/decide.ts'
import { rolesOf } from './decided-by.ts'
import type { Judged } from './judge-questions.ts'
import { operatorWords } from './operator-words.ts'
import { scopeWords, tierWords } from './place-words.ts'
import { hasRecord } from './veil.ts'
import { missingOf } from './what-is-missing.ts'

type Step = Explained['steps'][number]
const step = (name: Step['step'], outcome: Step['outcome'], because: string): Step => ({ step: name, outcome, because })

const isOperator = ({ facts: { actor } }: Judged): boolean => actor.type === 'shared_runtime_operator'
/** Asked of a service account, and out of reach of all of them. */
const isUnfit = ({ asked: { action }, facts: { actor } }: Judged): boolean =>
  actor.type === 'service_account' && !isFitForServiceAccounts(action)

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
    return step('permission', 'passed', `Belonging to ${tierWords[entryOf(action).given_to_members_of!]} gives ${action}.`)
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
  if (tier === 'platform') return step('membership', 'passed', 'The platform needs no membership.')
  // Who belongs to a project may read its record, and a service account belongs to nothing else.
  const where = judged.facts[tier].is_member ? tier : 'project'
  return step('membership', 'passed', `The actor belongs to ${tierWords[where]}.`)
}

const actorDenied = (judged: Judged): string => {
  if (isOperator(judged)) return operatorWords.disabled
  const { actor } = judged.facts
  return hasRecord(actor) ? 'The actor is disabled, or unknown.' : `Of a ${actor.type} nothing is read here, so it counts as disabled.`
}

/** Whoever shows no token, as when somebody else asks about him, is bound all the same: to where he lives. */
const tokenStep = ({ asked: { action }, facts }: Judged): Step => {
  const { actor, token, standing } = facts
  const isShown = token !== null && token !== standing.home
  const what = isShown ? 'The token' : 'What the actor is bound to'
  if (!isWithinToken(action, facts)) return step('token', 'denied', `${what} does not reach this action or this place.`)
  if (isGivenByClass(action, facts) && actions[action].tier === 'platform')
    return step('token', 'passed', `What every ${actor.type} may do, it may whatever it is bound to.`)
  if (token) return step('token', 'passed', `${what} reaches it.`)
  return step('token', 'passed', actor.type === 'user' ? 'A person is not bound by a token.' : 'No token of it is known.')
}

/** The questions in their order, up to the one that settled the matter. What comes after it was not asked, and is not told. */
const stepsOf = (judged: Judged): Step[] => {
  const { asked, facts, decision } = judged
  const { action } = asked
  if (decision.reason_code === 'actor_disabled') return [step('actor', 'denied', actorDenied(judged))]
  const steps = [step('actor', 'passed', 'The actor is not disabled.')]
  const tell = (...told: Step[]) => {
    steps.push(...told)
    return steps
  }
  tell(tokenStep(judged))
  if (decision.reason_code === 'scope_mismatch') return steps
  if (isOverridden(action, facts)) return tell(step('override', 'allowed', 'Override is held and the action is open to it.'))
  tell(step('override', 'passed', actions[action].override_eligible ? 'Override is not held.' : 'The action is not open to override.'))

  const elevation = elevationFor(action, facts)
  if (elevation && decision.decision === 'allow')
    return tell(step('elevation', 'allowed', `A live elevation in ${scopeWords[elevation.scope]} names the action.`))
  if (elevation) return tell(step('elevation', 'passed', 'A live elevation names the action.'), constraintStep(judged))
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
  return tell(constraintStep(judged))
}

const constraintStep = ({ asked, facts, rules }: Judged): Step => {
  const rule = denyingRule(asked.action, facts)
  if (!rule) return step('constraints', 'allowed', 'No constraint denies it.')
  const which = rules()[rule.scope_type] ? `The constraint ${rule.key} (version ${rule.version})` : 'A constraint'
  return step('constraints', 'denied', `${which} of ${scopeWords[rule.scope_type]} denies it.`)
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
