import { newId } from '#ground/kernel/ids.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { Asked, Trail, Work } from '#ground/work/work.ts'
import { type Action, actions, isAction, type Relation, relationKeys } from './actions.ts'
import type { RequestAttributes } from './attributes.ts'
import { type Decision, decide, hasOverride, isOverridden } from './decide.ts'
import { type Facts, readFacts, readFactsIn } from './facts.ts'
import { type Kind, nowhere, type Place } from './kind.ts'

/** A class, for what is private does not survive a copy: `{ ...proof, tenant_id }` is a row like any other. */
declare class Proof<A extends Action> {
  private readonly proves: A
}
/** A row, and the proof that this work may do `A` to it. Only this room can make one. */
export type Authorized<A extends Action, R> = R & Proof<A>

/** How an allow came about; verbs that give rights away must ask. */
export interface Authority {
  readonly action: Action
  /** Override is what allowed it: without it the person might not. */
  readonly is_override: boolean
  /** Override reaches this action, whether or not it was needed for it. */
  readonly may_override: boolean
  readonly facts: Facts
}
const authorities = new WeakMap<object, Authority>()
/** Of what `authorize` gave, itself: the product's own proof rests on no decision, and nothing is said of a copy. */
export const authorityOf = (row: Authorized<Action, object>): Authority => {
  const authority = authorities.get(row)
  if (!authority) throw new Error('no authority: a proof of the product itself, or a copy of a proof')
  return authority
}

/** Of several alternatives the one that counts: the first that is allowed, or else the first, with why it is refused. */
interface Outcome {
  readonly action: Action
  readonly decision: Decision
}

/** Whether override is what allowed it, and not what the person may do anyway. */
const isOverrideAlone = (action: Action, facts: Facts): boolean =>
  isOverridden(action, facts) && decide(action, { ...facts, platform: nothing }).decision === 'deny'
const nothing = { allowed: new Set<string>(), by_disabled: new Set<string>() }

const judge = (alternatives: readonly Action[], facts: Facts): Outcome => {
  let first: Outcome | undefined
  for (const action of alternatives) {
    const decision = decide(action, facts)
    if (decision.decision === 'allow') return { action, decision }
    first ??= { action, decision }
  }
  return first!
}

const isVisible = (alternatives: readonly Action[], facts: Facts, { decision }: Outcome): boolean =>
  facts.may_know ||
  alternatives.every((action) => actions[action].tier === 'platform') ||
  // A disabled actor learns that he is disabled, whatever he asked for.
  decision.reason_code === 'actor_disabled'

/** Judged with the platform, and not by how somebody stands to himself: a platform role is what could give it. */
const isOfPlatformRoles = (action: Action): boolean => actions[action].tier === 'platform' && !givenByRelation.has(action)
const givenByRelation = new Set(Object.values(relationKeys).flatMap((keys) => [...keys]))

/** Somebody with override who is refused all the same is told that it is no mistake: none of the actions is open to it. */
const isBeyondOverride = (alternatives: readonly Action[], facts: Facts, { decision }: Outcome): boolean =>
  hasOverride(facts) &&
  (decision.reason_code === 'membership_missing' || decision.reason_code === 'permission_denied') &&
  alternatives.every((action) => !actions[action].override_eligible)
const beyondOverride =
  'Platform override does not reach this action. A member can do it: ask an owner of the organization or the project to invite you.'

/** What must be allowed: one of these actions, on something of this kind in this place, which may not be there. */
interface Demand {
  readonly alternatives: readonly Action[]
  readonly kind: Pick<Kind<never>, 'type' | 'missing'>
  readonly place: Place
  readonly is_there: boolean
}

/** Throws unless one of the alternatives is allowed; either way it leaves its trace. */
export const requireAllowed = (trail: Trail, { alternatives, kind, place, is_there }: Demand, facts: Facts): Action => {
  trail.platform_role = facts.platform_role
  if (alternatives.some(isOfPlatformRoles)) trail.platform_mismatch = facts.standing.platform_mismatch
  const outcome = judge(alternatives, facts)
  const { decision } = outcome
  trail.asked.push({
    decision_id: newId('decision'),
    actions: alternatives,
    resource_type: kind.type,
    resource_id: place.id,
    tenant_id: place.tenant_id,
    project_id: place.project_id,
    ...(place.shared_runtime_id ? { shared_runtime_id: place.shared_runtime_id } : {}),
    relations: place.relations,
    ...(place.attributes && { attributes: place.attributes }),
    missing: kind.missing,
    allowed: decision.decision === 'allow',
    reason_code: decision.reason_code,
    // A machine belongs to its project alone, and by that its refusals are its tenant's business.
    is_member: facts.tenant.is_member || facts.project.is_member,
  })
  if (decision.decision === 'deny') {
    if (!isVisible(alternatives, facts, outcome) || (!is_there && decision.reason_code === 'membership_missing'))
      throw new Problem(kind.missing)
    throw new Problem('insufficient_permissions', {
      reason_code: decision.reason_code!,
      action: outcome.action,
      ...(isBeyondOverride(alternatives, facts, outcome) ? { because: beyondOverride } : {}),
    })
  }
  if (!is_there) throw new Problem(kind.missing)
  return outcome.action
}

/**
 * Throws unless the actor may do the action (or one of the alternatives) to the row. An absent row and one in a tenant of
 * strangers answer alike, byte for byte: the absent one is judged as lying in no tenant at all.
 */
export const authorize = async <A extends Action, R extends object>(
  work: Work,
  action: A | readonly A[],
  kind: Kind<R>,
  row: R | undefined,
): Promise<Authorized<A, R>> => {
  const alternatives: readonly A[] = typeof action === 'string' ? [action] : action
  const place = row ? kind.placeOf(row, work.actor) : nowhere
  const facts = await readFacts(work, kind.type, place)
  const allowed = requireAllowed(work.trail, { alternatives, kind, place, is_there: row !== undefined }, facts)
  // A fresh object: one proof must not speak for another use of the same row.
  const authorized = { ...row } as Authorized<A, R>
  authorities.set(authorized, {
    action: allowed,
    is_override: isOverrideAlone(allowed, facts),
    may_override: isOverridden(allowed, facts),
    facts,
  })
  return authorized
}

/** Asks the questions of an earlier work once more, before its answer is given out again. */
export const authorizeAgain = async (work: Work, asked: readonly Asked[]): Promise<void> => {
  // Whatever there is to say again, it is not said to somebody who has been disabled since.
  if ((await readFacts(work, 'platform', nowhere)).actor.is_disabled)
    throw new Problem('insufficient_permissions', { reason_code: 'actor_disabled' })
  for (const {
    actions: alternatives,
    resource_type,
    resource_id,
    tenant_id,
    project_id,
    shared_runtime_id,
    relations,
    attributes,
    missing,
  } of asked) {
    const place = {
      id: resource_id,
      tenant_id,
      project_id,
      ...(shared_runtime_id ? { shared_runtime_id } : {}),
      relations: relations as readonly Relation[],
      ...(attributes && { attributes: attributes as RequestAttributes }),
    }
    const known = alternatives.filter(isAction)
    // Decided before an upgrade that took the action away: what nobody can be given, nobody may.
    if (known.length === 0) throw new Problem('insufficient_permissions', { reason_code: 'permission_denied' })
    await authorize(work, known, { type: resource_type, missing, placeOf: () => place }, {})
  }
}

/** Whether nothing but rules could hide what lies there: whoever is refused otherwise is refused each item of a list, and none is looked at for him. */
export const isAllowedButForRules = async <R extends object>(work: Work, action: Action, kind: Kind<R>, row: R): Promise<boolean> => {
  const facts = await readFacts(work, kind.type, kind.placeOf(row, work.actor))
  return decide(action, { ...facts, constraints: [] }).decision === 'allow'
}

/** The rows among these that the actor may do the action to; for lists, which show exactly what a single read would. */
export const authorizedAmong = async <R extends object>(work: Work, action: Action, kind: Kind<R>, rows: readonly R[]): Promise<R[]> => {
  const facts = await readFactsIn(
    work,
    kind.type,
    rows.map((row) => kind.placeOf(row, work.actor)),
  )
  return rows.filter((_, index) => decide(action, facts[index]!).decision === 'allow')
}

export type SystemCause =
  | 'first_sign_in'
  | 'sign_in'
  | 'founding'
  | 'membership_cascade'
  | 'role_cascade'
  | 'scope_cascade'
  | 'development_seed'
  | 'operator_script'
  | 'key_tending'
  | 'node_tending'
  | 'node_enrolment'
  | 'task_finished'
  | 'access_cascade'
  | 'access_tending'
/**
 * The product's own doings hold a proof too; each names its cause, and no request can come by one. It leaves nothing in the trail:
 * it may neither pass for a decision about the caller nor be asked of him again when his answer is replayed.
 */
export const systemProof = <A extends Action, R extends object>(_cause: SystemCause, _action: A, row: R): Authorized<A, R> =>
  ({ ...row }) as Authorized<A, R>
