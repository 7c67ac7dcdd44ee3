import { choose, implies, type Logic, notTwo, same } from './logic.ts'
import { type Asked, type Binding, type Elevated, gives, type Key, merge, type Said, type Steps, saidNames, soundSteps } from './merge.ts'

type Ask<B> = (asked: Asked<B>) => Said<B>
/** A law of D2 as a formula over one world and what the engine says of it and of worlds near it; and steps that break it. */
export interface MergeLaw {
  readonly says: string
  readonly holds: <B>(logic: Logic<B>, asked: Asked<B>, ask: Ask<B>) => B
  readonly broken: Steps
  readonly wrong: string
}

const allSame = <B>(logic: Logic<B>, one: Said<B>, other: Said<B>): B =>
  logic.and(...saidNames.map((name) => same(logic, one[name], other[name])))
const unbound = <B>({ no }: Logic<B>, binding: Binding<B>): Binding<B> => ({ ...binding, is_bound: no })
const bound = <B>({ yes }: Logic<B>, binding: Binding<B>): Binding<B> => ({ ...binding, is_bound: yes })
const untold = <B>({ no }: Logic<B>, elevation: Elevated<B>): Elevated<B> => ({ ...elevation, is_held: no })
const unwritten = <B>({ no }: Logic<B>, { global, tenant, project }: Key<B>): Key<B> => ({
  global: { ...global, is_written: no },
  tenant: { ...tenant, is_written: no },
  project: { ...project, is_written: no },
})
/** What is denied without it is denied with it; or the other way round. */
const noAllowBy = <B>(logic: Logic<B>, before: Said<B>, after: Said<B>): B => implies(logic, after.allow, before.allow)
const broken = (changed: Partial<Steps>): Steps => ({ ...soundSteps, ...changed })

/**
 * D2 without (g): that other names change nothing cannot be said here, where there are no names, and stays with the property tests. So do
 * rows of other tenants and soft-deleted rows that no decision is ever told of ((e) and (f): the statements leave them out), and the same
 * row said twice under (d).
 */
export const mergeLaws: Record<string, MergeLaw> = {
  a: {
    says: 'a deny of a new key, or a locked one that holds, never turns a denial into an allow',
    holds: (logic, asked, ask) => {
      const newKey = noAllowBy(logic, ask({ ...asked, other_rule: unwritten(logic, asked.other_rule) }), ask(asked))
      const locked = (['global', 'tenant', 'project'] as const).map((scope) => {
        const cell = asked.rule[scope]
        const isWritten = { is_written: logic.yes, is_locked: logic.yes, is_active: logic.yes, holds: logic.yes }
        const before = ask({ ...asked, rule: { ...asked.rule, [scope]: { ...cell, is_written: logic.no } } })
        return noAllowBy(logic, before, ask({ ...asked, rule: { ...asked.rule, [scope]: isWritten } }))
      })
      return logic.and(newKey, ...locked)
    },
    broken: broken({ either: (logic, one, other) => logic.not(same(logic, one, other)) }),
    wrong: 'hears no rule where two deny',
  },
  b: {
    says: 'a further role, of this tier, another one or the platform’s highest, never turns an allow into a denial',
    holds: (logic, asked, ask) => {
      const more = (before: Asked<typeof logic.yes>, after: Asked<typeof logic.yes>) => implies(logic, ask(before).allow, ask(after).allow)
      const { second, elsewhere, actor } = asked
      return logic.and(
        more({ ...asked, second: unbound(logic, second) }, { ...asked, second: bound(logic, second) }),
        more({ ...asked, elsewhere: unbound(logic, elsewhere) }, { ...asked, elsewhere: bound(logic, elsewhere) }),
        more({ ...asked, actor: { ...actor, has_override: logic.no } }, { ...asked, actor: { ...actor, has_override: logic.yes } }),
      )
    },
    broken: broken({
      isGiven: (logic, asked, steps) => {
        const isSpoilt = logic.or(steps.isByDisabled(logic, asked, asked.first), steps.isByDisabled(logic, asked, asked.second))
        return logic.and(soundSteps.isGiven(logic, asked, steps), logic.not(isSpoilt))
      },
    }),
    wrong: 'lets a disabled role spoil an active one',
  },
  c: {
    says: 'the end of a binding, a membership, an elevation or override never turns a denial into an allow',
    holds: (logic, asked, ask) => {
      const { no, and } = logic
      const { actor, first, elsewhere, elevation } = asked
      const now = ask(asked)
      const poorer = [
        { ...asked, first: unbound(logic, first) },
        { ...asked, elsewhere: unbound(logic, elsewhere) },
        { ...asked, elevation: untold(logic, elevation) },
        ...(['has_override', 'is_related', 'is_tenant_member', 'is_project_member', 'may_attach'] as const).map((name) => ({
          ...asked,
          actor: { ...actor, [name]: no },
        })),
      ]
      return and(...poorer.map((world) => noAllowBy(logic, now, ask(world))))
    },
    broken: broken({
      isGiven: (logic, asked, steps) =>
        logic.or(soundSteps.isGiven(logic, asked, steps), logic.not(logic.or(asked.first.is_bound, asked.second.is_bound))),
    }),
    wrong: 'takes nobody’s role for everybody’s',
  },
  d: {
    says: 'order and repetition of roles, elevations and rules are irrelevant',
    holds: (logic, asked, ask) => {
      const { first, second, elevation, other_elevation, rule, other_rule } = asked
      const turned = ask({
        ...asked,
        ...{ first: second, second: first },
        ...{ elevation: other_elevation, other_elevation: elevation },
        ...{ rule: other_rule, other_rule: rule },
      })
      const twice = ask({ ...asked, second: first, other_elevation: elevation, other_rule: rule })
      const once = ask({
        ...asked,
        second: unbound(logic, second),
        other_elevation: untold(logic, other_elevation),
        other_rule: unwritten(logic, other_rule),
      })
      return logic.and(allSame(logic, ask(asked), turned), allSame(logic, twice, once))
    },
    broken: broken({ either: (_logic, one) => one }),
    wrong: 'asks the first rule only',
  },
  e: {
    says: 'what is given elsewhere is irrelevant: roles of another tier, elevations in another tenant or project',
    holds: (logic, asked, ask) => {
      const { not, and } = logic
      const { elevation, elsewhere } = asked
      const isAway = and(not(elevation.is_here), not(elevation.at.global))
      return and(
        implies(logic, isAway, allSame(logic, ask(asked), ask({ ...asked, elevation: untold(logic, elevation) }))),
        allSame(logic, ask(asked), ask({ ...asked, elsewhere: unbound(logic, elsewhere) })),
      )
    },
    broken: broken({ reaches: ({ yes }) => yes }),
    wrong: 'takes an elevation for one everywhere',
  },
  f: {
    says: 'what is over is irrelevant: bindings, elevations; and those that have not begun',
    holds: (logic, asked, ask) => {
      const { and, or, not } = logic
      const { first, elevation } = asked
      const isIdle = or(elevation.is_over, not(elevation.has_begun))
      return and(
        implies(logic, first.is_over, allSame(logic, ask(asked), ask({ ...asked, first: unbound(logic, first) }))),
        implies(logic, isIdle, allSame(logic, ask(asked), ask({ ...asked, elevation: untold(logic, elevation) }))),
      )
    },
    broken: broken({
      isAllowedBy: (logic, asked, binding) => logic.and(binding.is_bound, logic.not(binding.is_disabled), gives(logic, asked, binding)),
    }),
    wrong: 'lets bindings last',
  },
  h: {
    says: 'who is disabled is always told that, and nothing else',
    holds: (logic, asked, ask) => {
      const { actor_disabled, global, ...others } = ask(asked)
      const alone = logic.and(actor_disabled, global, ...Object.values(others).map((other) => logic.not(other)))
      return implies(logic, asked.actor.is_disabled, alone)
    },
    broken: broken({
      isDisabled: (logic, asked) => logic.and(asked.actor.is_disabled, logic.not(soundSteps.isOverridden(logic, asked))),
    }),
    wrong: 'asks for override first',
  },
  i: {
    says: 'tenant roles alone never allow what is done in a project',
    holds: (logic, asked, ask) => {
      const { and, not } = logic
      const { action, actor, elevation, other_elevation } = asked
      const hasNothingElse = not(
        logic.or(actor.is_project_member, actor.has_override, elevation.is_held, other_elevation.is_held, actor.is_runtime_operator),
      )
      return implies(logic, and(action.tier.project, hasNothingElse), not(ask(asked).allow))
    },
    broken: broken({
      isMember: (logic, asked, steps) => logic.or(soundSteps.isMember(logic, asked, steps), asked.actor.is_tenant_member),
      isGiven: (logic, asked, steps) => logic.or(soundSteps.isGiven(logic, asked, steps), steps.isAllowedBy(logic, asked, asked.elsewhere)),
    }),
    wrong: 'lets a tenant’s roles count in its projects',
  },
  j: {
    says: 'a higher role of the same tier allows whatever the lower one does',
    holds: (logic, asked, ask) => {
      const as = (is_higher: typeof logic.yes) => ask({ ...asked, first: { ...asked.first, is_higher } }).allow
      return implies(logic, as(logic.no), as(logic.yes))
    },
    broken: broken({
      isAllowedBy: (logic, asked, binding) => {
        const { action } = asked
        const ownKeysAlone = choose(logic, binding.is_higher, action.is_of_higher, action.is_of_lower)
        return logic.and(soundSteps.isAllowedBy(logic, asked, binding), ownKeysAlone)
      },
    }),
    wrong: 'gives an owner his own keys without his members’',
  },
  k: {
    says: 'override reaches what the registry marks, and nothing else hangs on it',
    holds: (logic, asked, ask) => {
      const { and, or, not, yes, no } = logic
      const { action, actor } = asked
      const held = ask({ ...asked, actor: { ...actor, has_override: yes } })
      const isReached = and(action.is_override_eligible, or(actor.is_user, and(actor.is_platform_operator, not(action.is_platform_admin))))
      const without = ask({ ...asked, actor: { ...actor, has_override: no } })
      return and(
        implies(logic, not(isReached), allSame(logic, held, without)),
        implies(logic, isReached, or(held.allow, held.actor_disabled, held.scope_mismatch)),
      )
    },
    broken: broken({ isOverridden: (_logic, { actor }) => actor.has_override }),
    wrong: 'lets override reach everything',
  },
  l: {
    says: 'a denial has exactly one reason, an allow none, and either one scope',
    holds: (logic, asked, ask) => {
      const { and, or, not } = logic
      const { allow, global, tenant, project, policy_values, ...reasons } = ask(asked)
      const each = Object.values(reasons)
      return and(
        same(logic, allow, not(or(...each))),
        notTwo(logic, each),
        or(global, tenant, project),
        notTwo(logic, [global, tenant, project]),
        implies(logic, policy_values, reasons.policy_constraint_denied),
      )
    },
    broken: broken({
      isOpen: (logic, says, earlier) =>
        soundSteps.isOpen(logic, says, says === 'permission_denied' ? earlier.filter((one) => one.says !== 'membership_missing') : earlier),
    }),
    wrong: 'says that the permission is missing also where the membership is',
  },
}

/** What the steps say, asked of a world. */
export const askOf =
  <B>(logic: Logic<B>, steps: Steps): Ask<B> =>
  (asked) =>
    merge(logic, asked, steps)
