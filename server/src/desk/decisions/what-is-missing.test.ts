import { actorTypes } from '@gatehouse/contract/operation'
import { describe, expect, test } from 'vitest'
import { type Action, actions, delegatedKeys, isGrantable, type Relation, type Tier } from '#rails/authz/actions.ts'
import { builtinRoleNames, isBuiltinRole, tierOf } from '#rails/authz/catalogue.ts'
import { decide, type TokenBounds } from '#rails/authz/decide.ts'
import { blank, type Facts, factsOf } from '#rails/authz/facts.ts'
import { type Standing, standingOf, standingOfMachine, standingOfOperator, strangerRow } from '#rails/authz/standing.ts'
import type { BoundRole } from '#rails/authz/standing-queries.ts'
import type { Constraint } from '#rails/policies/constraint.ts'
import { everything } from './veil.ts'
import { missingOf } from './what-is-missing.ts'

const everyAction = Object.keys(actions) as Action[]
const [tenant, project, id] = ['tenant here', 'project here', 'actor']
const home: TokenBounds = { tenant_id: tenant, project_id: project, actions: null }

/** One actor as the tables say him, one place, and what is in the way there. */
interface World {
  type: (typeof actorTypes)[number]
  is_disabled: boolean
  /** What it shows; a machine that shows none is bound to its home. */
  token: TokenBounds | null
  is_tenant_member: boolean
  is_project_member: boolean
  roles: Readonly<Record<Tier, readonly BoundRole[]>>
  tenant_state: string
  project_state: string
  /** Of an operator: that its organization is there, and how its runtime stands to the project. */
  runtime: { is_live: boolean; is_attached: boolean; is_eligible: boolean; delegated_actions: readonly string[] }
  place: Tier
  relations: readonly Relation[]
  constraints: readonly Constraint[]
}

const role = (name: string, permissions: readonly string[] = [], is_builtin = permissions.length === 0): BoundRole => ({
  ...{ binding_id: 'b', role_id: 'r', role_version_id: 'v', version: 1, state: 'active', grace_until: null, expires_at: null },
  ...{ name, is_builtin, permissions: [...permissions] },
})
const noRoles = { platform: [], tenant: [], project: [] } as const
/** Everything that can be had at a tier. */
const allRoles = Object.fromEntries(
  (['platform', 'tenant', 'project'] as const).map((tier) => [
    tier,
    [
      ...builtinRoleNames.filter((name) => tierOf(name) === tier).map((name) => role(name)),
      role(
        'all',
        everyAction.filter((key) => isGrantable(key, tier)),
        false,
      ),
    ],
  ]),
) as Record<Tier, BoundRole[]>

const runtimeIn = ({ runtime, place }: World) => ({
  is_live: place !== 'platform' && runtime.is_live,
  is_attached: place === 'project' && runtime.is_attached,
  is_eligible: place === 'project' && runtime.is_eligible,
  delegated_actions: [...runtime.delegated_actions],
})

const standingIn = (world: World): Standing => {
  const { type, is_disabled, roles, place } = world
  // Of where nothing is asked nothing is read.
  const [inTenant, inProject] = [place !== 'platform', place === 'project']
  // Nothing is read of the others.
  if (!['user', 'service_account', 'shared_runtime_operator'].includes(type)) return blank(id, is_disabled)
  const row = {
    ...strangerRow(id, is_disabled),
    ...{ platform_bindings: [...roles.platform], was_ever_bound: true, platform_role_source: 'bindings' },
    ...(inTenant ? { tenant_state: world.tenant_state, is_tenant_member: world.is_tenant_member, tenant_roles: [...roles.tenant] } : {}),
    ...(inProject ? { project_tenant_id: tenant, project_state: world.project_state, project_roles: [...roles.project] } : {}),
    is_project_member: inProject && world.is_project_member,
  }
  if (type === 'user') return standingOf(row)
  return type === 'service_account'
    ? standingOfMachine(row, home)
    : standingOfOperator({ ...row, ...runtimeIn(world), home_tenant_id: tenant })
}

const judged = (action: Action, world: World) => {
  const { type, token, place: where, relations, constraints } = world
  const place = {
    id: null,
    tenant_id: where === 'platform' ? null : tenant,
    project_id: where === 'project' ? project : null,
    ...(type === 'shared_runtime_operator' ? { shared_runtime_id: id } : {}),
    relations,
  }
  const facts: Facts = factsOf(standingIn(world), constraints, {
    actor: { type, id, ...(token ? { token } : {}) } as never,
    ...{ place, resource_type: 'anything', attributes: {}, now: '2026-11-16T12:00:00.000Z' },
  })
  const decision = decide(action, facts)
  const asked = { action, said: place, place } as never
  return {
    decision,
    missing: missingOf({ asked, facts, decision, readable: everything, rules: () => everything, callers: facts.standing }),
  }
}

/** A project's record is in the project, and so are the projects of a runtime that is asked about there. */
const placesOf = (action: Action): Tier[] =>
  action === 'project.read' || action.startsWith('shared_runtime.') ? ['tenant', 'project'] : [actions[action].tier]

/** Somebody with all that could be given to him, for whom nothing is in the way. */
const blessed = (type: World['type'], action: Action, place: Tier): World => ({
  ...{ type, is_disabled: false, token: null, is_tenant_member: type === 'user', is_project_member: true, place },
  roles: type === 'user' ? { ...allRoles, platform: [role('platform_ops')] } : { ...noRoles, project: allRoles.project },
  ...{ tenant_state: 'active', project_state: 'active', constraints: [] },
  runtime: { is_live: true, is_attached: true, is_eligible: true, delegated_actions: Object.keys(delegatedKeys) },
  relations: type === 'user' && (action.startsWith('me.') || action.endsWith('.leave')) ? ['self'] : [],
})

const rule: Constraint = {
  ...{ constraint_id: 'c', version: 1, key: 'k', scope_type: 'tenant', condition: {}, time_zone: 'UTC', is_locked: true, state: 'active' },
  actions: everyAction,
}
const disabled = (roles: World['roles']): World['roles'] => {
  const each = (tier: Tier) => roles[tier].map((one) => ({ ...one, state: 'disabled' }))
  return { platform: each('platform'), tenant: each('tenant'), project: each('project') }
}

/** What can be in the way, one thing at a time, and the most usual two together. */
const obstacles: Readonly<Record<string, (world: World) => Partial<World>>> = {
  nothing: () => ({}),
  disabled: () => ({ is_disabled: true }),
  'a narrow token': ({ type }) => (type === 'service_account' ? { token: { ...home, actions: new Set() } } : {}),
  'a token for elsewhere': ({ type }) => (type === 'service_account' ? { token: { ...home, project_id: 'project away' } } : {}),
  // A service account is no stranger in its project, and out of it no token reaches.
  stranger: ({ runtime, type }) => ({
    ...{ is_tenant_member: false, is_project_member: type === 'service_account', roles: noRoles, relations: [] },
    runtime: { ...runtime, is_attached: false, is_eligible: false, delegated_actions: [] },
  }),
  'stranger to the project': ({ runtime, roles, type }) => ({
    ...{ is_project_member: type === 'service_account', roles: { ...roles, project: [] } },
    runtime: { ...runtime, is_attached: false, is_eligible: false },
  }),
  'stranger, himself': ({ type }) => ({ is_tenant_member: false, is_project_member: type === 'service_account', roles: noRoles }),
  'organization gone': ({ type, runtime }) =>
    type === 'user' ? {} : { is_project_member: false, runtime: { ...runtime, is_live: false, is_attached: false, is_eligible: false } },
  'no role': ({ runtime }) => ({ roles: noRoles, relations: [], runtime: { ...runtime, delegated_actions: [] } }),
  'no role, not in the project': ({ runtime, type }) => ({
    ...{ roles: noRoles, is_project_member: type === 'service_account' },
    runtime: { ...runtime, is_eligible: false, is_attached: false, delegated_actions: [] },
  }),
  'disabled roles': ({ roles }) => ({ roles: disabled(roles) }),
  suspended: () => ({ tenant_state: 'suspended' }),
  archived: () => ({ project_state: 'archived' }),
  'suspended and archived': () => ({ tenant_state: 'suspended', project_state: 'archived' }),
  'a rule': () => ({ constraints: [rule] }),
  'a rule of the platform': () => ({ constraints: [{ ...rule, scope_type: 'global' }] }),
}

type Change = (world: World) => Partial<World>
const bound =
  (tier: Tier, one: BoundRole): Change =>
  ({ roles }) => ({ roles: { ...roles, [tier]: [...roles[tier], one] } })
const belongs: Readonly<Record<string, Change>> = {
  'the organization': () => ({ is_tenant_member: true }),
  // Nobody is in a project without being in its organization.
  'the project': () => ({ is_tenant_member: true, is_project_member: true }),
}
const tierNamed: Readonly<Record<string, Tier>> = { 'the platform': 'platform', 'the organization': 'tenant', 'the project': 'project' }
const plain = (world: World): World['roles'] => {
  const each = (tier: Tier) => world.roles[tier].map((one) => ({ ...one, state: 'active' }))
  return { platform: each('platform'), tenant: each('tenant'), project: each('project') }
}

/** What each sentence asks for, in so many words: every alternative of it is a change that must do. */
const sentences: readonly [RegExp, (words: readonly string[], action: Action) => Change[]][] = [
  [/^There must be such an actor, and it must be enabled$/, () => [() => ({ is_disabled: false })]],
  [/^The runtime must be enabled again$/, () => [() => ({ is_disabled: false })]],
  [/^A token whose binding and scope reach this action and place$/, () => [() => ({ token: null })]],
  [/^[Aa]n active membership of (the organization|the project)$/, ([where]) => [belongs[where!]!]],
  [
    /^A role at (the platform|the organization|the project) that gives \S+: (.+)$/,
    ([where, names], action) =>
      names!.split(', ').map((name) => {
        if (name.startsWith('a custom role ')) return bound(tierNamed[where!]!, role('custom', [action]))
        if (!isBuiltinRole(name.replace(' by override', ''))) throw new Error(`there is no such role: ${name}`)
        return bound(tierNamed[where!]!, role(name.replace(' by override', '')))
      }),
  ],
  [/^[Tt]he resource must be the actor’s own record$/, () => [() => ({ relations: ['self'] })]],
  [/^[Tt]he invitation must be one to the actor$/, () => [() => ({ relations: ['invitee'] })]],
  [/^[Tt]he grant must be one to the actor$/, () => [() => ({ relations: ['grantee'] })]],
  [/^[Tt]he allocation must be the actor’s own$/, () => [() => ({ relations: ['allocation_owner'] })]],
  [/^The role must be enabled again, or another role must give the action$/, () => [(world) => ({ roles: plain(world) })]],
  [/^The organization must be resumed$/, () => [() => ({ tenant_state: 'active' })]],
  [/^The project must be restored$/, () => [() => ({ project_state: 'active' })]],
  [/^The request must not meet the condition of k, or .+ must change that constraint.*$/, () => [() => ({ constraints: [] })]],
  [/^The question must name (the organization|the project)$/, ([where]) => [() => ({ place: tierNamed[where!]! })]],
  [/^The project must be attached /, () => [({ runtime }) => ({ runtime: { ...runtime, is_attached: true } })]],
  [
    /^(The project must be|The question must name a project) on the list /,
    () => [({ runtime }) => ({ place: 'project', runtime: { ...runtime, is_eligible: true } })],
  ],
  [
    /^The organization must delegate shared_runtime\.(\w+) /,
    ([word]) => [({ runtime }) => ({ runtime: { ...runtime, delegated_actions: [...runtime.delegated_actions, word!] } })],
  ],
]
const isHopeless = (sentence: string) => /^(Nothing would do|Nobody can give)/.test(sentence)

/** The worlds that one sentence asks for, one for each of its alternatives. */
const applied = (action: Action, sentence: string, world: World): World[] =>
  sentence
    .replace(/\.$/, '')
    // The last kind of sentence has its alternatives for those who make rules.
    .split(sentence.startsWith('The request') ? /$^/ : '; or ')
    .flatMap((alternative) => {
      const known = sentences.find(([form]) => form.test(alternative))
      if (!known) throw new Error(`no test knows how to do what is said: ${sentence}`)
      return known[1](known[0].exec(alternative)!.slice(1), action).map((change) => ({ ...world, ...change(world) }))
    })

const order = ['actor_disabled', 'scope_mismatch', 'membership_missing', 'role_disabled', 'permission_denied', 'policy_constraint_denied']

/** Nothing that anybody could give does it, of those who stand where he stands. */
const isDeniedWhatever = (action: Action, world: World, missing: readonly string[]) => {
  const { type, place, token } = world
  const free = { ...blessed(type, action, place), token }
  const isGone = missing.some((sentence) => sentence.endsWith('is gone.'))
  const most = { ...free, ...(isGone ? obstacles['organization gone']!(free) : {}), ...(type === 'user' ? { roles: allRoles } : {}) }
  for (const relations of [[], ['self'], ['invitee'], ['grantee'], ['allocation_owner']] as const)
    if (judged(action, { ...most, relations }).decision.decision === 'allow') return false
  return true
}

/** Does what is said to be missing, in every way that is said, and again if something else is then in the way; how often, at most. */
const followed = (action: Action, world: World, before = -1): number => {
  const { decision, missing } = judged(action, world)
  if (decision.decision === 'allow') {
    expect([action, missing]).toEqual([action, []])
    return 0
  }
  const told = { action, obstacle: decision.reason_code, missing }
  expect(missing).not.toEqual([])
  // What was done is done: never is the same in the way once more.
  expect([told, order.indexOf(decision.reason_code!) > before]).toEqual([told, true])
  if (missing.some(isHopeless)) {
    expect([told, isDeniedWhatever(action, world, missing)]).toEqual([told, true])
    return Number.POSITIVE_INFINITY
  }
  const having = (sentences: readonly string[]) =>
    sentences.reduce((worlds, sentence) => worlds.flatMap((each) => applied(action, sentence, each)), [world])
  // Nothing is said to be missing that need not be.
  for (const sentence of missing) {
    const without = having(missing.filter((other) => other !== sentence)).map((each) => judged(action, each))
    expect([told, sentence, without.map((each) => each.decision.decision)]).toEqual([told, sentence, expect.arrayContaining(['deny'])])
  }
  const worlds = having(missing)
  const rounds = worlds.map((each) => followed(action, each, order.indexOf(decision.reason_code!)))
  expect([told, new Set(rounds).size]).toEqual([told, 1])
  return 1 + rounds[0]!
}

/** What was in the way of whom: nothing of it is left out. */
const seen = new Map<string, Set<string>>()

const recorded = ['user', 'service_account', 'shared_runtime_operator'] as const
describe.for(recorded)('of a %s', (type) => {
  test.for(Object.keys(obstacles))(
    'DE-14 whoever does what is said to be missing is allowed, or is told that nothing would do: %s',
    (name) => {
      const reasons = seen.get(type) ?? new Set()
      seen.set(type, reasons)
      for (const action of everyAction)
        for (const place of placesOf(action)) {
          const free = blessed(type, action, place)
          const world = { ...free, ...obstacles[name]!(free) }
          reasons.add(judged(action, world).decision.reason_code ?? 'none')
          const rounds = followed(action, world)
          // Who could have everything else is told at once all that is missing.
          if (judged(action, free).decision.decision === 'allow' && name !== 'organization gone')
            expect([action, place, rounds <= 1]).toEqual([action, place, true])
        }
    },
  )
})

test('DE-14 each has met every reason that it can meet', () => {
  const all = ['none', ...order]
  const but = (...left: string[]) => new Set(all.filter((reason) => !left.includes(reason)))
  // People show no token; an operator has no role that could be disabled.
  expect(Object.fromEntries(seen)).toEqual({
    user: but('scope_mismatch'),
    service_account: but(),
    shared_runtime_operator: but('role_disabled'),
  })
})

describe.for(actorTypes.filter((type) => !recorded.some((each) => each === type)))('of a %s', (type) => {
  test.for([true, false])('DE-14 nothing is read here, so nothing is said that would do: disabled, %s', (is_disabled) => {
    for (const action of everyAction)
      for (const place of placesOf(action)) {
        const { decision, missing } = judged(action, { ...blessed(type, action, place), is_disabled })
        const nothing = decision.decision === 'allow' ? [] : [`Nothing would do: of a ${type} nothing is read here.`]
        expect([action, missing]).toEqual([action, nothing])
      }
  })
})

describe('where no place is named', () => {
  test.for(everyAction)('DE-14 %s: the question must name one before anybody could belong to it', (action) => {
    const { tier } = actions[action]
    const world: World = { ...blessed('user', action, 'platform'), is_tenant_member: false, is_project_member: false, roles: noRoles }
    const { decision, missing } = judged(action, world)
    expect(missing.includes(`The question must name the ${tier === 'tenant' ? 'organization' : tier}.`)).toBe(
      decision.reason_code === 'membership_missing' && !missing.some(isHopeless),
    )
    followed(action, world)
  })
})
