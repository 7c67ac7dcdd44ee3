import type { ReasonCode } from '../../../server/src/rails/authz/decide.ts'
import { choose, type Logic, notTwo } from './logic.ts'

export interface AtScopes<B> {
  readonly global: B
  readonly tenant: B
  readonly project: B
}
/** A role of the action's own tier, bound to the actor: a lower one, or one that has the lower one's keys and its own. */
export interface Binding<B> {
  readonly is_bound: B
  readonly is_over: B
  readonly is_disabled: B
  readonly is_higher: B
}
export interface Elevated<B> {
  readonly is_held: B
  readonly names_action: B
  readonly has_begun: B
  readonly is_over: B
  readonly is_here: B
  readonly at: AtScopes<B>
}
/** What stands at one scope under one key. `holds`: it covers the action, and its condition is met or cannot be judged. */
export interface Rule<B> {
  readonly is_written: B
  readonly is_locked: B
  readonly is_active: B
  readonly holds: B
}
export type Key<B> = { readonly [Scope in keyof AtScopes<B>]: Rule<B> }

/** All that a decision looks at, as questions with yes or no. Names do not occur: of two ids only whether they are the same. */
export interface Asked<B> {
  readonly action: {
    readonly tier: AtScopes<B>
    readonly is_override_eligible: B
    readonly is_read: B
    readonly is_constrainable: B
    readonly is_for_global_rules: B
    readonly is_platform_admin: B
    readonly is_project_read: B
    readonly is_attach: B
    readonly is_by_tenant_membership: B
    readonly is_by_project_membership: B
    readonly is_by_relation: B
    /** On the lower role's list; on the higher one's own. */
    readonly is_of_lower: B
    readonly is_of_higher: B
  }
  readonly actor: {
    readonly is_disabled: B
    readonly is_user: B
    readonly is_platform_operator: B
    readonly is_runtime_operator: B
    readonly has_action_by_class: B
    readonly has_override: B
    readonly is_related: B
    readonly is_tenant_member: B
    readonly is_project_member: B
    readonly may_attach: B
  }
  readonly token: {
    readonly is_held: B
    readonly lists_action: B
    readonly bounds_tenant: B
    readonly is_of_tenant: B
    readonly bounds_project: B
    readonly is_of_project: B
    readonly is_of_own_runtime: B
    readonly is_of_other_runtime: B
  }
  readonly place: {
    readonly is_in_tenant: B
    readonly is_in_project: B
    readonly is_own_runtime: B
    readonly is_other_runtime: B
    readonly is_suspended: B
    readonly is_archived: B
  }
  readonly first: Binding<B>
  readonly second: Binding<B>
  /** The same key, had at another tier than the action's. */
  readonly elsewhere: Binding<B>
  readonly elevation: Elevated<B>
  readonly other_elevation: Elevated<B>
  readonly rule: Key<B>
  readonly other_rule: Key<B>
}

/** Makes every question by its name. */
export const askedBy = <B>(make: (name: string) => B): Asked<B> => {
  const group = <Names extends string>(of: string, ...names: Names[]) =>
    Object.fromEntries(names.map((name) => [name, make(`${of}.${name}`)])) as Record<Names, B>
  const scopes = (of: string) => group(of, 'global', 'tenant', 'project')
  const binding = (of: string) => group(of, 'is_bound', 'is_over', 'is_disabled', 'is_higher')
  const elevation = (of: string) => ({
    ...group(of, 'is_held', 'names_action', 'has_begun', 'is_over', 'is_here'),
    at: scopes(`${of}.at`),
  })
  const rule = (of: string) => group(of, 'is_written', 'is_locked', 'is_active', 'holds')
  const key = (of: string) => ({ global: rule(`${of}.global`), tenant: rule(`${of}.tenant`), project: rule(`${of}.project`) })
  return {
    action: {
      tier: scopes('action.tier'),
      ...group('action', 'is_override_eligible', 'is_read', 'is_constrainable', 'is_for_global_rules', 'is_platform_admin'),
      ...group('action', 'is_project_read', 'is_attach', 'is_by_tenant_membership', 'is_by_project_membership', 'is_by_relation'),
      ...group('action', 'is_of_lower', 'is_of_higher'),
    },
    actor: {
      ...group('actor', 'is_disabled', 'is_user', 'is_platform_operator', 'is_runtime_operator', 'has_action_by_class', 'has_override'),
      ...group('actor', 'is_related', 'is_tenant_member', 'is_project_member', 'may_attach'),
    },
    token: {
      ...group('token', 'is_held', 'lists_action', 'bounds_tenant', 'is_of_tenant', 'bounds_project', 'is_of_project'),
      ...group('token', 'is_of_own_runtime', 'is_of_other_runtime'),
    },
    place: group('place', 'is_in_tenant', 'is_in_project', 'is_own_runtime', 'is_other_runtime', 'is_suspended', 'is_archived'),
    first: binding('first'),
    second: binding('second'),
    elsewhere: binding('elsewhere'),
    elevation: elevation('elevation'),
    other_elevation: elevation('other_elevation'),
    rule: key('rule'),
    other_rule: key('other_rule'),
  }
}

/** What is so of every action and every actor; the registry is held against it. */
export const axioms = <B>(logic: Logic<B>, { action, actor, elevation, other_elevation }: Asked<B>): B => {
  const { and, or, not } = logic
  const each = ({ global, tenant, project }: AtScopes<B>) => [global, tenant, project]
  return and(
    or(...each(action.tier)),
    ...[action.tier, elevation.at, other_elevation.at].map((at) => notTwo(logic, each(at))),
    notTwo(logic, [actor.is_user, actor.is_platform_operator, actor.is_runtime_operator]),
    or(not(action.is_project_read), action.tier.tenant),
  )
}

const isLive = <B>({ and, not }: Logic<B>, { is_bound, is_over }: Binding<B>) => and(is_bound, not(is_over))
export const gives = <B>({ and, or }: Logic<B>, { action }: Asked<B>, { is_higher }: Binding<B>) =>
  or(action.is_of_lower, and(is_higher, action.is_of_higher))

const isOfOwnRuntime = <B>({ and }: Logic<B>, { token, place }: Asked<B>) =>
  and(token.is_held, token.bounds_tenant, token.is_of_own_runtime, place.is_own_runtime)

type OfBinding = <B>(logic: Logic<B>, asked: Asked<B>, binding: Binding<B>) => B
interface ByBinding {
  readonly isAllowedBy: OfBinding
  readonly isByDisabled: OfBinding
}
interface Settled<B> {
  readonly says: Word
  readonly settles: B
}

/** Of an operator: neither its list nor a delegation has the action. */
const isUnlisted = <B>(logic: Logic<B>, asked: Asked<B>, { isAllowedBy }: ByBinding): B =>
  logic.and(
    asked.actor.is_runtime_operator,
    logic.not(asked.actor.has_action_by_class),
    logic.not(logic.or(isAllowedBy(logic, asked, asked.first), isAllowedBy(logic, asked, asked.second))),
  )

/** The questions of the merge, each by itself: so that one of them can be asked wrongly. */
export const soundSteps = {
  isDisabled: <B>(_logic: Logic<B>, { actor }: Asked<B>): B => actor.is_disabled,
  isWithinToken: <B>(logic: Logic<B>, asked: Asked<B>, steps: ByBinding): B => {
    const { and, or, not } = logic
    const { action, actor, token, place } = asked
    const bounded = and(
      or(token.lists_action, actor.has_action_by_class, isUnlisted(logic, asked, steps)),
      or(not(token.bounds_tenant), and(token.is_of_tenant, place.is_in_tenant)),
      or(not(token.is_of_own_runtime), place.is_own_runtime),
      or(not(token.is_of_other_runtime), place.is_other_runtime),
      or(not(token.bounds_project), and(token.is_of_project, place.is_in_project, or(action.tier.project, action.is_project_read))),
    )
    const isAtHome = or(not(actor.is_runtime_operator), isOfOwnRuntime(logic, asked))
    return or(and(actor.has_action_by_class, action.tier.global), and(isAtHome, or(not(token.is_held), bounded)))
  },
  isOverridden: <B>({ and, or, not }: Logic<B>, { action, actor }: Asked<B>): B =>
    and(action.is_override_eligible, actor.has_override, or(actor.is_user, and(actor.is_platform_operator, not(action.is_platform_admin)))),
  reaches: <B>({ and, or }: Logic<B>, { place }: Asked<B>, { is_here, at }: Elevated<B>): B =>
    or(at.global, and(is_here, or(and(at.tenant, place.is_in_tenant), and(at.project, place.is_in_project)))),
  isMember: <B>(logic: Logic<B>, asked: Asked<B>, steps: ByBinding): B => {
    const { and, or, not } = logic
    const { action, actor, place } = asked
    const { is_tenant_member, is_project_member } = actor
    const ofOperator = and(
      is_tenant_member,
      choose(
        logic,
        action.is_attach,
        or(actor.may_attach, isUnlisted(logic, asked, steps)),
        or(not(place.is_in_project), is_project_member),
      ),
    )
    const { global, tenant, project } = action.tier
    const ofTier = or(global, and(tenant, is_tenant_member), and(project, is_project_member))
    const ofOthers = choose(logic, action.is_project_read, or(is_tenant_member, is_project_member), ofTier)
    return choose(logic, actor.is_runtime_operator, or(global, ofOperator), ofOthers)
  },
  isAllowedBy: <B>(logic: Logic<B>, asked: Asked<B>, binding: Binding<B>): B =>
    logic.and(isLive(logic, binding), logic.not(binding.is_disabled), gives(logic, asked, binding)),
  isGiven: <B>(logic: Logic<B>, asked: Asked<B>, { isAllowedBy }: ByBinding): B => {
    const { and, or, not } = logic
    const { action, actor, first, second } = asked
    const byMembership = or(
      and(action.is_by_tenant_membership, actor.is_tenant_member),
      and(action.is_by_project_membership, actor.is_project_member),
    )
    return or(
      isAllowedBy(logic, asked, first),
      isAllowedBy(logic, asked, second),
      and(not(actor.is_runtime_operator), byMembership),
      and(actor.is_user, actor.is_related, action.is_by_relation),
      actor.has_action_by_class,
    )
  },
  isByDisabled: <B>(logic: Logic<B>, asked: Asked<B>, binding: Binding<B>): B =>
    logic.and(isLive(logic, binding), binding.is_disabled, gives(logic, asked, binding)),
  frozen: <B>({ and, not, no }: Logic<B>, { action, place }: Asked<B>): AtScopes<B> => ({
    global: no,
    tenant: and(not(action.is_read), place.is_suspended),
    project: and(not(action.is_read), place.is_archived, not(place.is_suspended)),
  }),
  /** Under one key one rule counts: the widest that is locked, else the narrowest that is written. */
  counting: <B>({ and, or, not }: Logic<B>, { action }: Asked<B>, { global, tenant, project }: Key<B>): AtScopes<B> => {
    const isHeard = { global: global.is_written, ...heardBelow({ and, not }, action.is_for_global_rules, tenant, project) }
    const locked = {
      global: and(isHeard.global, global.is_locked, global.is_active),
      tenant: and(isHeard.tenant, tenant.is_locked, tenant.is_active),
      project: and(isHeard.project, project.is_locked, project.is_active),
    }
    const isOpen = not(or(locked.global, locked.tenant, locked.project))
    return {
      global: or(locked.global, and(isOpen, isHeard.global, not(isHeard.tenant), not(isHeard.project))),
      tenant: or(and(locked.tenant, not(locked.global)), and(isOpen, isHeard.tenant, not(isHeard.project))),
      project: or(and(locked.project, not(locked.tenant), not(locked.global)), and(isOpen, isHeard.project)),
    }
  },
  either: <B>({ or }: Logic<B>, one: B, other: B): B => or(one, other),
  /** Whether a question is still open: no earlier one has settled the matter. */
  isOpen: <B>({ or, not }: Logic<B>, _says: Word, earlier: readonly Settled<B>[]): B => not(or(...earlier.map(({ settles }) => settles))),
}
export type Steps = typeof soundSteps

const heardBelow = <B>({ and, not }: Pick<Logic<B>, 'and' | 'not'>, isForGlobal: B, tenant: Rule<B>, project: Rule<B>) => ({
  tenant: and(tenant.is_written, not(isForGlobal)),
  project: and(project.is_written, not(isForGlobal)),
})

const scopeNames = ['global', 'tenant', 'project'] as const
const scoped = <B>(of: (scope: keyof AtScopes<B>) => B): AtScopes<B> => ({
  global: of('global'),
  tenant: of('tenant'),
  project: of('project'),
})
const anywhere = <B>({ or }: Logic<B>, { global, tenant, project }: AtScopes<B>): B => or(global, tenant, project)

const elevationsOf = <B>(logic: Logic<B>, asked: Asked<B>, steps: Steps): AtScopes<B> => {
  const { and, or, not } = logic
  const live = ({ is_held, names_action, has_begun, is_over }: Elevated<B>) => and(is_held, names_action, has_begun, not(is_over))
  const at = scoped((scope) =>
    or(
      ...[asked.elevation, asked.other_elevation].map((one) =>
        and(asked.actor.is_user, live(one), steps.reaches(logic, asked, one), one.at[scope]),
      ),
    ),
  )
  // Of several the narrowest speaks.
  return {
    project: at.project,
    tenant: and(at.tenant, not(at.project)),
    global: and(at.global, not(at.tenant), not(at.project)),
  }
}

const denyingRules = <B>(logic: Logic<B>, asked: Asked<B>, steps: Steps, isLockedOnly: boolean): AtScopes<B> => {
  const { and, or, not, yes } = logic
  const keys = [asked.rule, asked.other_rule]
  const counting = keys.map((key) => steps.counting(logic, asked, key))
  const denying = (at: number, scope: keyof AtScopes<B>) => {
    const { is_active, holds, is_locked } = keys[at]![scope]
    return and(asked.action.is_constrainable, counting[at]![scope], is_active, holds, isLockedOnly ? is_locked : yes)
  }
  const denies = keys.map((_key, at) => or(...scopeNames.map((scope) => denying(at, scope))))
  const isDenied = steps.either(logic, denies[0]!, denies[1]!)
  const at = scoped((scope) => and(isDenied, or(denying(0, scope), denying(1, scope))))
  // Of several the widest speaks.
  return {
    global: at.global,
    tenant: and(at.tenant, not(at.global)),
    project: and(at.project, not(at.tenant), not(at.global)),
  }
}

const reasons = [
  'actor_disabled',
  'scope_mismatch',
  'membership_missing',
  'role_disabled',
  'permission_denied',
  'policy_constraint_denied',
] as const satisfies readonly ReasonCode[]
type Word = ReasonCode | 'allow'
export const saidNames = [...reasons, 'allow', ...scopeNames, 'policy_values'] as const
/** What an answer says: each of its words by itself, so that it could say two that do not go together. */
export type Said<B> = Readonly<Record<(typeof saidNames)[number], B>>

/** DE-04: the first question that settles the matter gives the answer. */
export const merge = <B>(logic: Logic<B>, asked: Asked<B>, steps: Steps = soundSteps): Said<B> => {
  const { and, or, not, yes, no } = logic
  const { tier } = asked.action
  const global = { global: yes, tenant: no, project: no }
  const elevated = elevationsOf(logic, asked, steps)
  const isElevated = anywhere(logic, elevated)
  const locked = denyingRules(logic, asked, steps, true)
  const isGiven = steps.isGiven(logic, asked, steps)
  const isByDisabled = or(steps.isByDisabled(logic, asked, asked.first), steps.isByDisabled(logic, asked, asked.second))
  const frozen = steps.frozen(logic, asked)
  const ruled = denyingRules(logic, asked, steps, false)
  const questions: (Settled<B> & { readonly at: AtScopes<B>; readonly isByValues?: true })[] = [
    { settles: steps.isDisabled(logic, asked), says: 'actor_disabled', at: global },
    { settles: not(steps.isWithinToken(logic, asked, steps)), says: 'scope_mismatch', at: tier },
    { settles: steps.isOverridden(logic, asked), says: 'allow', at: global },
    { settles: and(isElevated, anywhere(logic, locked)), says: 'policy_constraint_denied', at: locked, isByValues: true },
    { settles: isElevated, says: 'allow', at: elevated },
    { settles: not(steps.isMember(logic, asked, steps)), says: 'membership_missing', at: tier },
    { settles: and(not(isGiven), isByDisabled), says: 'role_disabled', at: tier },
    { settles: not(isGiven), says: 'permission_denied', at: tier },
    { settles: anywhere(logic, frozen), says: 'policy_constraint_denied', at: frozen },
    { settles: anywhere(logic, ruled), says: 'policy_constraint_denied', at: ruled, isByValues: true },
    { settles: yes, says: 'allow', at: tier },
  ]
  const answers = questions.map(({ settles, ...rest }, at) => ({
    ...rest,
    isSaid: and(settles, steps.isOpen(logic, rest.says, questions.slice(0, at))),
  }))
  const ofWord = (word: Word) => or(...answers.filter(({ says }) => says === word).map(({ isSaid }) => isSaid))
  const ofScope = (scope: keyof AtScopes<B>) => or(...answers.map(({ isSaid, at }) => and(isSaid, at[scope])))
  return {
    ...(Object.fromEntries([...reasons, 'allow' as const].map((word) => [word, ofWord(word)])) as Said<B>),
    ...scoped(ofScope),
    policy_values: or(...answers.filter(({ isByValues }) => isByValues).map(({ isSaid }) => isSaid)),
  }
}
