import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Action, actions, isAction, overridePermission, type Relation, relationKeys, type Tier } from './actions.ts'
import { builtinRoleNames, isBuiltinRole, permissionsOf, tierOf } from './catalogue.ts'
import { type AppliedScope, type Decision, type DecisionInput, decide, type Grants, isOverridden } from './decide.ts'

interface GivenTier {
  is_member?: boolean
  is_suspended?: boolean
  is_archived?: boolean
  roles?: string[]
  disabled_roles?: string[]
  permissions?: string[]
  disabled_permissions?: string[]
}
interface Given extends Partial<Record<Tier, GivenTier>> {
  is_actor_disabled?: boolean
  is_within_token?: boolean
  relations?: Relation[]
  elevation?: AppliedScope
  constraint?: { scope: AppliedScope; is_locked: boolean }
}
interface Case {
  proves: string
  because: string
  action: string
  given: Given
  expect: Decision
}

const keysOf = (tier: Tier, names: readonly string[] = []): string[] =>
  names.flatMap((name) => {
    if (!isBuiltinRole(name) || tierOf(name) !== tier) throw new Error(`a case gives ${name} at the ${tier}'s tier`)
    return [...permissionsOf(name)]
  })
const grantsOf = (tier: Tier, { roles, disabled_roles, permissions = [], disabled_permissions = [] }: GivenTier = {}): Grants => ({
  allowed: new Set([...keysOf(tier, roles), ...permissions]),
  by_disabled: new Set([...keysOf(tier, disabled_roles), ...disabled_permissions]),
})
const inputOf = ({ platform, tenant, project, ...given }: Given): DecisionInput => ({
  is_actor_disabled: given.is_actor_disabled ?? false,
  is_within_token: given.is_within_token ?? true,
  platform: grantsOf('platform', platform),
  tenant: { ...grantsOf('tenant', tenant), is_member: tenant?.is_member ?? false, is_suspended: tenant?.is_suspended ?? false },
  project: { ...grantsOf('project', project), is_member: project?.is_member ?? false, is_archived: project?.is_archived ?? false },
  relations: new Set(given.relations),
  elevation: given.elevation ?? null,
  constraint: given.constraint ?? null,
})
const known = (action: string): Action => {
  if (!isAction(action)) throw new Error(`a case asks for ${action}, which is not registered`)
  return action
}

const folder = new URL('../../../cases/decisions/', import.meta.url)
const files = readdirSync(folder).filter((name) => name.endsWith('.json'))
const casesIn = (file: string): Case[] => JSON.parse(readFileSync(new URL(file, folder), 'utf8'))

describe.each(files)('%s', (file) => {
  for (const { proves, because, action, given, expect: expected } of casesIn(file))
    test(`${proves} ${because}`, () => expect(decide(known(action), inputOf(given))).toEqual(expected))
})

test('every case is there once and gives nothing that its reader does not know', () => {
  const cases = files.flatMap(casesIn)
  expect(cases.length).toBeGreaterThanOrEqual(60)
  expect(new Set(cases.map(({ proves, because }) => `${proves} ${because}`)).size).toBe(cases.length)
  const members = ['is_actor_disabled', 'is_within_token', 'platform', 'tenant', 'project', 'relations', 'elevation', 'constraint']
  const inTier = ['is_member', 'is_suspended', 'is_archived', 'roles', 'disabled_roles', 'permissions', 'disabled_permissions']
  for (const { given } of cases) {
    expect(members).toEqual(expect.arrayContaining(Object.keys(given)))
    for (const tier of [given.platform, given.tenant, given.project])
      expect(inTier).toEqual(expect.arrayContaining(Object.keys(tier ?? {})))
  }
})

const names = Object.keys(actions) as Action[]
const scopeOf = { platform: 'global', tenant: 'tenant', project: 'project' } as const

// The specification once more, as the list of its steps: the first that holds decides, and every combination of them is tried.
const conditions = [
  'disabled',
  'outside_token',
  'override',
  'elevated',
  'locked',
  'member',
  'granted',
  'by_disabled',
  'frozen',
  'constrained',
] as const
type Holds = Record<(typeof conditions)[number], boolean>

const expectedOf = (action: Action, is: Holds): string => {
  const { tier, override_eligible, is_read } = actions[action]
  const scope = scopeOf[tier]
  const steps: [boolean, string][] = [
    [is.disabled, 'deny actor_disabled global in_code'],
    [is.outside_token, `deny scope_mismatch ${scope} in_code`],
    [is.override && override_eligible, 'allow null global in_code'],
    [is.elevated && is.constrained && is.locked, 'deny policy_constraint_denied tenant policy_values'],
    [is.elevated, 'allow null project in_code'],
    [tier !== 'platform' && !is.member, `deny membership_missing ${scope} in_code`],
    [!is.granted && is.by_disabled, `deny role_disabled ${scope} in_code`],
    [!is.granted, `deny permission_denied ${scope} in_code`],
    [is.frozen && !is_read, 'deny policy_constraint_denied tenant in_code'],
    [is.constrained, 'deny policy_constraint_denied tenant policy_values'],
  ]
  return steps.find(([holds]) => holds)?.[1] ?? `allow null ${scope} in_code`
}

const worldOf = (action: Action, is: Holds): DecisionInput => {
  const { tier } = actions[action]
  const here: GivenTier = { permissions: is.granted ? [action] : [], disabled_permissions: is.by_disabled ? [action] : [] }
  const at = (wanted: Tier): GivenTier => (wanted === tier ? here : {})
  const platform = at('platform')
  return inputOf({
    is_actor_disabled: is.disabled,
    is_within_token: !is.outside_token,
    platform: is.override ? { ...platform, permissions: [...(platform.permissions ?? []), overridePermission] } : platform,
    tenant: { ...at('tenant'), is_member: is.member, is_suspended: is.frozen },
    project: { ...at('project'), is_member: is.member },
    ...(is.elevated ? { elevation: 'project' } : {}),
    ...(is.constrained ? { constraint: { scope: 'tenant', is_locked: is.locked } } : {}),
  })
}

const spelled = ({ decision, reason_code, applied_scope, policy_source }: Decision) =>
  `${decision} ${reason_code} ${applied_scope} ${policy_source}`

test('DE-04 for every action, every combination of the steps is decided by the first that holds', () => {
  const wrong: string[] = []
  for (const action of names)
    for (let bits = 0; bits < 2 ** conditions.length; bits += 1) {
      const is = Object.fromEntries(conditions.map((condition, at) => [condition, (bits & (1 << at)) !== 0])) as Holds
      const got = spelled(decide(action, worldOf(action, is)))
      if (got !== expectedOf(action, is)) wrong.push(`${action} ${JSON.stringify(is)}: ${got}`)
    }
  expect(wrong.slice(0, 5)).toEqual([])
})

const anAction = fc.constantFrom(...names)
const aKey = fc.constantFrom<string>(...names, overridePermission, 'tenant.*', 'unknown.key')
const keys = fc.uniqueArray(aKey, { maxLength: 12 })
const grants = fc.record({ allowed: keys, by_disabled: keys })
const aScope = fc.constantFrom<AppliedScope>('global', 'tenant', 'project')
const aWorld = fc.record({
  is_actor_disabled: fc.boolean(),
  is_within_token: fc.boolean(),
  platform: grants,
  tenant: grants,
  project: grants,
  is_tenant_member: fc.boolean(),
  is_project_member: fc.boolean(),
  is_suspended: fc.boolean(),
  is_archived: fc.boolean(),
  relations: fc.uniqueArray(fc.constantFrom(...(Object.keys(relationKeys) as Relation[]))),
  elevation: fc.option(aScope),
  constraint: fc.option(fc.record({ scope: aScope, is_locked: fc.boolean() })),
})
type World = typeof aWorld extends fc.Arbitrary<infer W> ? W : never

const setOf = ({ allowed, by_disabled }: World['tenant']): Grants => ({ allowed: new Set(allowed), by_disabled: new Set(by_disabled) })
const inputFrom = ({ is_tenant_member, is_project_member, is_suspended, is_archived, ...world }: World): DecisionInput => ({
  ...world,
  platform: setOf(world.platform),
  tenant: { ...setOf(world.tenant), is_member: is_tenant_member, is_suspended },
  project: { ...setOf(world.project), is_member: is_project_member, is_archived },
  relations: new Set(world.relations),
})
const answer = (action: Action, world: World) => decide(action, inputFrom(world))
const runs = { numRuns: 2000 }

test('DE-03 every question has an answer: allow without a reason, or deny with one of the six', () => {
  const reasons = [
    'permission_denied',
    'membership_missing',
    'scope_mismatch',
    'policy_constraint_denied',
    'role_disabled',
    'actor_disabled',
  ]
  fc.assert(
    fc.property(anAction, aWorld, (action, world) => {
      const { decision, reason_code, applied_scope, policy_source } = answer(action, world)
      expect(['global', 'tenant', 'project']).toContain(applied_scope)
      expect(['in_code', 'policy_values']).toContain(policy_source)
      if (decision === 'allow') expect(reason_code).toBeNull()
      else expect(reasons).toContain(reason_code)
    }),
    runs,
  )
})

test('DE-13 the same facts in another order, or said twice, give the same answer, and asking changes no fact', () => {
  const turned = (world: World): World => {
    const mirrored = ({ allowed, by_disabled }: World['tenant']) => ({
      allowed: [...allowed].reverse().concat(allowed),
      by_disabled: [...by_disabled].reverse().concat(by_disabled),
    })
    const { platform, tenant, project, relations } = world
    return {
      ...world,
      platform: mirrored(platform),
      tenant: mirrored(tenant),
      project: mirrored(project),
      relations: [...relations].reverse(),
    }
  }
  fc.assert(
    fc.property(anAction, aWorld, (action, world) => {
      const input = inputFrom(world)
      const before = structuredClone(input)
      const first = decide(action, input)
      expect(input).toEqual(before)
      expect(decide(action, input)).toEqual(first)
      expect(answer(action, turned(world))).toEqual(first)
    }),
    runs,
  )
})

const withMore = (world: World, tier: Tier, more: readonly string[]): World => ({
  ...world,
  [tier]: { ...world[tier], allowed: [...world[tier].allowed, ...more] },
})

test('DE-13 adding a role never turns an allow into a denial', () => {
  fc.assert(
    fc.property(anAction, aWorld, fc.constantFrom(...builtinRoleNames), fc.boolean(), (action, world, role, isDisabled) => {
      if (answer(action, world).decision === 'deny') return
      const tier = tierOf(role)
      const richer = isDisabled
        ? { ...world, [tier]: { ...world[tier], by_disabled: [...world[tier].by_disabled, ...permissionsOf(role)] } }
        : withMore(world, tier, [...permissionsOf(role)])
      expect(answer(action, richer).decision).toBe('allow')
    }),
    runs,
  )
})

test('DE-05 a disabled actor is always actor_disabled', () => {
  fc.assert(
    fc.property(anAction, aWorld, (action, world) => {
      expect(spelled(answer(action, { ...world, is_actor_disabled: true }))).toBe('deny actor_disabled global in_code')
    }),
    runs,
  )
})

test('DE-13 a constraint, a suspension and an archived project only ever take away', () => {
  fc.assert(
    fc.property(anAction, aWorld, aScope, fc.boolean(), (action, world, scope, is_locked) => {
      const free = { ...world, constraint: null, is_suspended: false, is_archived: false }
      if (answer(action, free).decision === 'allow') return
      for (const bound of [{ constraint: { scope, is_locked } }, { is_suspended: true }, { is_archived: true }])
        expect(answer(action, { ...free, ...bound }).decision).toBe('deny')
    }),
    runs,
  )
})

test('RP-07 no tenant role, nor all of them together, opens a project to somebody who is no member of it', () => {
  const everything = builtinRoleNames.filter((name) => tierOf(name) === 'tenant').flatMap((name) => [...permissionsOf(name), ...names])
  fc.assert(
    fc.property(anAction, aWorld, (action, world) => {
      if (actions[action].tier !== 'project' || isOverridden(action, inputFrom(world))) return
      const stranger = withMore({ ...world, is_project_member: false, elevation: null }, 'tenant', everything)
      expect(answer(action, stranger).decision).toBe('deny')
    }),
    runs,
  )
})

test('DE-06 without the reserved key nothing is overridden, and with it nothing that the registry keeps closed', () => {
  fc.assert(
    fc.property(anAction, aWorld, (action, world) => {
      const without = {
        ...world,
        platform: { ...world.platform, allowed: world.platform.allowed.filter((key) => key !== overridePermission) },
      }
      expect(isOverridden(action, inputFrom(without))).toBe(false)
      expect(isOverridden(action, inputFrom(withMore(world, 'platform', [overridePermission])))).toBe(actions[action].override_eligible)
    }),
    runs,
  )
})
