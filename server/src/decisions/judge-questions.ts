import type { DecidedBy } from '@gatehouse/contract/decisions'
import { type Action, actions, overridePermission } from '../authz/actions.ts'
import { requireAllowed } from '../authz/authorize.ts'
import { type AppliedScope, type Decision, decide, denyingRule, elevationFor, isOverridden, scopeOf } from '../authz/decide.ts'
import { blank, type Facts, factsOf, mayKnow, nobody } from '../authz/facts.ts'
import { nowhere } from '../authz/kind.ts'
import { isActive, isLive, permissionsIn, type Standing, type StandingKey, wantStanding } from '../authz/standing.ts'
import type { BoundRole } from '../authz/standing-queries.ts'
import { revisionOf } from '../epochs/moment.ts'
import type { Asker } from '../http/answer.ts'
import { newId } from '../kernel/ids.ts'
import type { Constraint } from '../policies/constraint.ts'
import { chainOf, wantChain } from '../policies/constraint-chain.ts'
import type { Asked, AskedActor } from './question.ts'

/** The scopes whose roles the caller may read. */
export type Readable = Readonly<Record<AppliedScope, boolean>>

export interface Judged {
  readonly asked: Asked
  readonly facts: Facts
  readonly decision: Decision
  readonly readable: Readable
}

const everything: Readable = { global: true, tenant: true, project: true }

const isCaller = (caller: AskedActor, actor: AskedActor) => caller.type === actor.type && caller.id === actor.id

const keyOf = (actor: AskedActor, { place: { tenant_id, project_id } }: Asked): StandingKey => ({
  user_id: actor.id,
  tenant_id,
  project_id,
})

/** Who has a record: people and service accounts. */
const hasRecord = ({ type }: AskedActor): boolean => type === 'user' || type === 'service_account'
const standingIn = (actor: AskedActor, found: Standing | undefined) => (hasRecord(actor) && found ? found : nobody(actor))

/**
 * Whoever may not read that person's record must not learn from an answer whether there is such a person, or whether he is disabled:
 * to a tenant, a stranger is somebody without a membership.
 */
const veiled = (actor: AskedActor, { place }: Asked, found: Standing | undefined): Standing => {
  if (!hasRecord(actor) || !found) return blank(actor.id, false)
  const isStranger = found.home ? found.home.tenant_id !== place.tenant_id : found.is_disabled && !found.is_tenant_member
  return isStranger ? blank(actor.id, false) : found
}

const readableTo = (facts: Facts): Readable => ({
  global: decide('platform.authz.evaluate', facts).decision === 'allow',
  tenant: decide('tenant.role.read', facts).decision === 'allow',
  project: decide('project.role.read', facts).decision === 'allow',
})

/** Answers all questions from the facts of one moment. Throws where the caller may not ask. */
export const judgeQuestions = async (
  { actor: caller, fresh, trail, source_ip }: Asker,
  questions: readonly Asked[],
): Promise<{ revision: string; judged: Judged[] }> => {
  const people = questions.flatMap((asked) => [
    wantStanding(asked.actor.type, keyOf(asked.actor, asked)),
    wantStanding(caller.type, keyOf(caller, asked)),
  ])
  const chains = questions.map(({ place }) => wantChain(place))
  const { moment, values } = await fresh.read([...people, ...chains.flat()])
  const found = new Map([...people, ...chains.flat()].map(({ id }, index) => [id, values[index]]))
  const { now } = moment
  let hasAskedAboutSelf = false
  // How often a tenant of strangers changed is nobody's business, nor that there is one.
  const known: string[] = []
  const judged = questions.map((asked, index): Judged => {
    const { actor, action, place, resource_type, attributes } = asked
    const [theirs, own] = people.slice(index * 2, index * 2 + 2).map(({ id }) => found.get(id) as Standing | undefined)
    const constraints = chainOf(chains[index]!.map(({ id }) => found.get(id) as readonly Constraint[] | undefined))
    const callers = standingIn(caller, own)
    if (place.tenant_id !== null && mayKnow(callers, now)) known.push(place.tenant_id)
    const asOther = { actor: caller, place: { ...place, relations: [] }, resource_type: asked.kind.type, attributes: { source_ip }, now }
    let standing = callers
    let readable = everything
    if (!isCaller(caller, actor)) {
      const facts = factsOf(callers, constraints, asOther)
      readable = readableTo(facts)
      // Whoever may ask about everything is told what holds nowhere, too.
      const is_there = readable.global || isThere(asked, callers)
      requireAllowed(trail, { alternatives: asked.asking, kind: asked.kind, place, is_there }, facts)
      standing = readable.global ? standingIn(actor, theirs) : veiled(actor, asked, theirs)
    } else if (!hasAskedAboutSelf) {
      const self = { ...nowhere, id: caller.id, relations: ['self' as const] }
      const facts = factsOf(callers, [], { ...asOther, place: self })
      requireAllowed(
        trail,
        { alternatives: ['me.read'], kind: { type: caller.type, missing: 'user_not_found' }, place: self, is_there: true },
        facts,
      )
      hasAskedAboutSelf = true
    }
    // Whoever asks about himself asks with the token that he shows.
    const whose = isCaller(caller, actor) ? caller : actor
    const facts = factsOf(standing, constraints, { actor: whose, place, resource_type, attributes, now })
    return { asked, facts, decision: decide(action, facts), readable }
  })
  return {
    revision: revisionOf(moment, known),
    judged,
  }
}

/** A place that was named and lies nowhere is not there; neither is an organization that nobody has. */
const isThere = ({ place, asking }: Asked, { tenant_state, project_tenant_id }: Standing): boolean => {
  if (asking.length === 1) return true
  return place.project_id === null ? place.tenant_id !== null && tenant_state !== null : project_tenant_id !== null
}

const bound = (scope: AppliedScope, role: BoundRole) => ({
  binding_id: role.binding_id,
  scope,
  role_id: role.role_id,
  role_version_id: role.role_version_id,
  role_name: role.name,
  version: role.version,
})

/** The roles of one tier, with whether each gives the key. */
export const rolesOf = (tier: 'platform' | 'tenant' | 'project', key: string, { standing, now }: Facts) =>
  standing[`${tier}_roles`]
    .filter((role) => isLive(role, now))
    .map((role) => ({
      ...bound(scopeOf[tier], role),
      // As it counts now: a role in its grace is still an active one.
      state: isActive(role, now) ? 'active' : 'disabled',
      expires_at: role.expires_at,
      gives: permissionsIn(tier, role).has(key),
    }))

const givingRoles = (action: Action, { decision, reason_code }: Decision, facts: Facts) => {
  if (isOverridden(action, facts) && decision === 'allow')
    return rolesOf('platform', overridePermission, facts).filter(({ state }) => state === 'active')
  if (reason_code !== null && reason_code !== 'role_disabled' && reason_code !== 'policy_constraint_denied') return []
  return rolesOf(actions[action].tier, action, facts).filter(({ state }) => (state === 'active') === (reason_code !== 'role_disabled'))
}

/** The bindings, the role versions and the rule that decided, as far as the caller may read their scopes. */
const decidedBy = ({ asked: { action }, facts, decision, readable }: Judged): DecidedBy => {
  const isRule = decision.policy_source === 'policy_values'
  const rule = isRule ? denyingRule(action, facts, elevationFor(action, facts) !== undefined) : undefined
  return {
    bindings: givingRoles(action, decision, facts)
      .filter(({ gives, scope }) => gives && readable[scope])
      .map(({ state: _state, expires_at: _end, gives: _gives, ...binding }) => binding) as DecidedBy['bindings'],
    constraint:
      rule && readable[rule.scope_type]
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
