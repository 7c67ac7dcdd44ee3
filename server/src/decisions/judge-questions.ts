import type { DecidedBy } from '@gatehouse/contract/decisions'
import { type Action, actions, isFitForServiceAccounts, overridePermission, type Tier } from '../authz/actions.ts'
import { requireAllowed } from '../authz/authorize.ts'
import { defaultPlatformRole } from '../authz/catalogue.ts'
import {
  type AppliedScope,
  type Decision,
  decide,
  denyingRule,
  elevationFor,
  isOverridden,
  scopeOf,
  type TokenBounds,
} from '../authz/decide.ts'
import { blank, type Facts, factsOf, mayKnow, nobody } from '../authz/facts.ts'
import { nowhere } from '../authz/kind.ts'
import { wantStanding } from '../authz/read-standings.ts'
import { heldAt, isActive, isLive, permissionsIn, type Standing } from '../authz/standing.ts'
import type { BoundRole } from '../authz/standing-queries.ts'
import type { FreshReader, Wanted } from '../epochs/fresh.ts'
import { revisionOf } from '../epochs/moment.ts'
import type { Asker } from '../http/answer.ts'
import { newId } from '../kernel/ids.ts'
import type { Constraint } from '../policies/constraint.ts'
import { wantChain } from '../policies/constraint-chain.ts'
import { inTurns } from './in-turns.ts'
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

/** How an actor stands in the place of a question. */
const wantOf = (actor: AskedActor, { place: { tenant_id, project_id } }: Asked) =>
  wantStanding(actor.type, { actor_id: actor.id, tenant_id, project_id })

/** Who has a record: people, service accounts, and the runtimes of operators. */
const recorded: readonly Facts['actor']['type'][] = ['user', 'service_account', 'shared_runtime_operator']
export const hasRecord = ({ type }: Pick<Facts['actor'], 'type'>): boolean => recorded.includes(type)
const standingIn = (actor: AskedActor, found: Standing | undefined) => (hasRecord(actor) && found ? found : nobody(actor))

/** Wherever a service account lives of which nothing may be told, it is not where the question lies. */
const elsewhere = { tenant_id: 'elsewhere', project_id: 'elsewhere', actions: null } as const
const stranger = ({ type, id }: AskedActor): Standing => ({
  ...blank(id, false),
  ...(type === 'service_account' ? { home: elsewhere } : {}),
})

/** A service account is its project's, a runtime its tenant's: there one may read its record. */
const isAtHome = ({ tenant_id, project_id }: TokenBounds, { place }: Asked): boolean =>
  tenant_id === place.tenant_id && (project_id === null || project_id === place.project_id)

/**
 * Whoever may not read that actor's record must not learn from an answer whether there is one, or whether it is disabled: to a tenant, a
 * stranger is somebody without a membership, or a machine that is bound to another place.
 */
const veiled = (actor: AskedActor, asked: Asked, found: Standing | undefined, caller: Facts): Standing => {
  if (!hasRecord(actor) || !found) return stranger(actor)
  // Whoever asks in a project need not be one who reads what its tenant runs.
  if (actor.type === 'shared_runtime_operator' && !isAllowed('tenant.shared_runtime.read', caller)) return stranger(actor)
  const isStranger = found.home ? !isAtHome(found.home, asked) : found.is_disabled && !isAmongKnown(found, caller)
  return isStranger ? stranger(actor) : found
}
/** Nor need he be one who reads its people: those of the project he knows, and all of the tenant if he reads the roles there. */
const isAmongKnown = ({ is_tenant_member, is_project_member }: Standing, caller: Facts): boolean =>
  is_tenant_member && (is_project_member || isAllowed('tenant.role.read', caller))

const isAllowed = (action: Action, facts: Facts) => decide(action, facts).decision === 'allow'

/** Judged when it is asked for: of most answers there is nothing to hide. */
const readableTo = (facts: Facts, global: boolean): Readable => ({
  global,
  get tenant() {
    return isAllowed('tenant.role.read', facts)
  },
  get project() {
    return isAllowed('project.role.read', facts)
  },
})

const selfRelation = ['self'] as const

/** The tenant that a machine lives in: wherever it is asked about, what is said of it rests on that. */
const homeOf = (standing: Standing | undefined): string | null => standing?.home?.tenant_id ?? null

/** All that these questions rest on, true at one moment: the standings and the rules, in the order of the questions. */
const readFor = async (caller: AskedActor, fresh: FreshReader, questions: readonly Asked[]) => {
  const wanted: Wanted<unknown>[] = []
  const others: number[] = []
  for (const asked of questions) {
    wanted.push(wantOf(caller, asked))
    if (!isCaller(caller, asked.actor)) others.push(wanted.push(wantOf(asked.actor, asked)) - 1)
    wanted.push(wantChain(asked.place))
  }
  const known = await fresh.read(wanted)
  const { moment, values } = known
  // Only who may know of every tenant is told by the revision what moved elsewhere.
  const callers = values[0] as Standing | undefined
  if (others.length === 0 || !callers || heldAt(callers, moment.now).platform_role === defaultPlatformRole) return known
  const homes = new Set(others.map((index) => homeOf(values[index] as Standing | undefined)))
  const untold = [...homes].filter((tenant_id) => tenant_id !== null && !moment.epochs.has(tenant_id))
  // A machine never moves: what is read once more, now with its home, is of the same homes.
  return untold.length === 0 ? known : fresh.read([...wanted, ...untold.map((tenant_id) => wantChain({ tenant_id, project_id: null }))])
}

/** Answers all questions from the facts of one moment, each told as it is wanted. Throws where the caller may not ask. */
export const judgeQuestions = async <Told>(
  { actor: caller, fresh, trail, source_ip }: Asker,
  questions: readonly Asked[],
  tell: (judged: Judged) => Told,
): Promise<{ revision: string; told: Told[] }> => {
  const { moment, values } = await readFor(caller, fresh, questions)
  const { now } = moment
  let hasAskedAboutSelf = false
  // How often a tenant of strangers changed is nobody's business, nor that there is one.
  const known: string[] = []
  let read = 0
  const told = await inTurns(questions, (asked) => {
    const { actor, action, place, resource_type, attributes } = asked
    const isSelf = isCaller(caller, actor)
    // In the order in which they were wanted.
    const callers = standingIn(caller, values[read] as Standing | undefined)
    const theirs = isSelf ? undefined : (values[read + 1] as Standing | undefined)
    const constraints = (values[read + (isSelf ? 1 : 2)] ?? []) as readonly Constraint[]
    read += isSelf ? 2 : 3
    if (place.tenant_id !== null && mayKnow(callers, now)) known.push(place.tenant_id)
    let standing = callers
    let readable = everything
    if (!isSelf) {
      const asOther = { actor: caller, place: { ...place, relations: [] }, resource_type: asked.kind.type, attributes: { source_ip }, now }
      const facts = factsOf(callers, constraints, asOther)
      readable = readableTo(facts, isAllowed('platform.authz.evaluate', facts))
      // Whoever may ask about everything is told what holds nowhere, too.
      const is_there = readable.global || isThere(asked, callers)
      requireAllowed(trail, { alternatives: asked.asking, kind: asked.kind, place, is_there }, facts)
      standing = readable.global ? standingIn(actor, theirs) : veiled(actor, asked, theirs, facts)
      const home = readable.global ? homeOf(standing) : null
      if (home !== null) known.push(home)
    } else if (!hasAskedAboutSelf) {
      const self = { ...nowhere, id: caller.id, relations: selfRelation }
      const facts = factsOf(callers, [], { actor: caller, place: self, resource_type: asked.kind.type, attributes: { source_ip }, now })
      const kind = { type: caller.type, missing: 'user_not_found' } as const
      requireAllowed(trail, { alternatives: ['me.read'], kind, place: self, is_there: true }, facts)
      hasAskedAboutSelf = true
    }
    // Whoever asks about himself asks with the token that he shows.
    const whose = isSelf ? caller : actor
    const facts = factsOf(standing, constraints, { actor: whose, place, resource_type, attributes, now })
    return tell({ asked, facts, decision: decide(action, facts), readable })
  })
  return { revision: revisionOf(moment, known), told }
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
  const { asked, facts, decision, readable } = judged
  const isRule = decision.policy_source === 'policy_values'
  const rule = isRule ? denyingRule(asked.action, facts) : undefined
  return {
    bindings: givingBindings(judged) as DecidedBy['bindings'],
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
