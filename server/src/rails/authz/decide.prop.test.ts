import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { laws } from '../../../../test/laws/decision-laws.ts'
import { aConstraint, actionNames, anAction, aWorld, builtin, factsIn } from '../../../../test/laws/random-world.ts'
import type { Constraint, ScopeType } from '../policies/constraint.ts'
import { type Action, actions, overridePermission } from './actions.ts'
import { type Decision, type DecisionInput, decide, elevationFor } from './decide.ts'

const spelled = ({ decision, reason_code, applied_scope, policy_source }: Decision) =>
  `${decision} ${reason_code} ${applied_scope} ${policy_source}`

describe('the laws of the engine', () => {
  for (const [letter, law] of Object.entries(laws)) {
    test(`DE-13 D2(${letter}) ${law.says}`, () => fc.assert(law.of(decide), { numRuns: 4000 }))

    // With the same chance every time: this one must find its counterexample.
    test(`DE-13 D2(${letter}) is broken by an engine that ${law.wrong}`, () => {
      const { failed, errorInstance } = fc.check(law.of(law.broken), { numRuns: 20_000, seed: 1 })
      expect({ failed, because: `${errorInstance}` }).toEqual({ failed: true, because: expect.stringContaining('returning false') })
    })
  }

  test('DE-13 D2 every law of the list is there', () => {
    expect(Object.keys(laws).join('')).toBe('abcdefghijkl')
  })
})

/** Everything that an answer may be. */
const documented = new Set([
  'allow null global in_code',
  'allow null tenant in_code',
  'allow null project in_code',
  'deny actor_disabled global in_code',
  ...['scope_mismatch', 'membership_missing', 'role_disabled', 'permission_denied'].flatMap((reason) =>
    ['global', 'tenant', 'project'].map((scope) => `deny ${reason} ${scope} in_code`),
  ),
  'deny policy_constraint_denied tenant in_code',
  'deny policy_constraint_denied project in_code',
  ...['global', 'tenant', 'project'].map((scope) => `deny policy_constraint_denied ${scope} policy_values`),
])

const garbage = fc.oneof(fc.jsonValue({ maxDepth: 4 }), fc.anything({ maxDepth: 3, withBigInt: true, withNullPrototype: true }))
const operators = ['in', 'not_in', 'at_least', 'has_any', 'within', 'between', 'present', 'absent', 'any', 'not', '__proto__', 'later']
const nearlyACondition = fc.dictionary(
  fc.constantFrom(...operators),
  fc.oneof(garbage, fc.dictionary(fc.constantFrom('region', 'gpus', 'flags', 'source_ip', 'minute_of_day', 'constructor'), garbage)),
  { maxKeys: 4 },
)

describe('whatever is asked', () => {
  test('DE-03 DE-23 there is one of the documented answers, for garbage too, and the facts are as they were', () => {
    fc.assert(
      fc.property(
        anAction,
        aWorld,
        fc.array(fc.tuple(aConstraint, fc.oneof(garbage, nearlyACondition)), { maxLength: 3 }),
        fc.dictionary(fc.constantFrom('region', 'sku', 'gpus', 'flags', 'source_ip', 'time'), garbage),
        (action, world, broken, attributes) => {
          const constraints = broken.map(([rule, condition]) => ({ ...rule, condition }) as Constraint)
          const input = factsIn({ ...world, attributes, constraints: [...world.constraints, ...constraints] })
          const before = structuredClone(input.constraints.map(({ condition: _condition, ...rule }) => rule))
          const first = decide(action, input)
          expect(documented).toContain(spelled(first))
          expect(decide(action, input)).toEqual(first)
          expect(input.constraints.map(({ condition: _condition, ...rule }) => rule)).toEqual(before)
        },
      ),
      { numRuns: 1500 },
    )
  })

  test('DE-23 D3 a rule that looks at what is not there denies whoever it covers, whatever its operator', () => {
    const tests: object[] = [
      { in: { region: ['eu'] } },
      { not_in: { sku: ['h100'] } },
      { at_least: { gpus: 1 } },
      { at_most: { gpus: 1 } },
      { has_any: { flags: ['x'] } },
      { has_all: { flags: ['x'] } },
      { has_none: { flags: ['x'] } },
      { within: { source_ip: ['10.0.0.0/8'] } },
      { not_within: { source_ip: ['10.0.0.0/8'] } },
      { between: { minute_of_day: [0, 1] } },
      { in: { weekday: [1] } },
    ]
    const nothing = { time: 'never' }
    fc.assert(
      fc.property(anAction, aWorld, fc.constantFrom(...tests), fc.boolean(), (action, world, said, isNot) => {
        // Over the platform's own actions, and over who writes rules, only its own rules count.
        const scope = actions[action].tier === 'platform' || /^tenant\.policy\./.test(action) ? 'global' : 'project'
        const rule = ruleOf(scope, 'deny', action, isNot ? { not: said } : said)
        const free = { ...world, constraints: [], attributes: nothing }
        const bound = spelled(decide(action, factsIn({ ...free, constraints: [rule] })))
        const facts = factsIn(free)
        const isReached = decide(action, facts).decision === 'allow' && !isBeyondRules(action, facts)
        expect(bound).toBe(isReached ? `deny policy_constraint_denied ${scope} policy_values` : spelled(decide(action, facts)))
      }),
      { numRuns: 3000 },
    )
  })
})

/** Of the machines only the platform's operator has any override, and it never administers the platform. */
const reachesByOverride = (action: Action, { actor, platform }: DecisionInput) =>
  actions[action].override_eligible &&
  platform.allowed.has(overridePermission) &&
  (actor.type === 'user' || (actor.type === 'platform_operator' && action !== 'platform.admin'))

const personal = [
  ...['me.read', 'me.invitation.accept', 'me.ssh_key.read', 'me.ssh_key.manage'],
  ...['tenant.user.leave', 'project.member.leave', 'tenant.project.read_own'],
]
/** An unlocked rule does not bind override, an elevation, or what is the person's own. */
const isBeyondRules = (action: Action, input: DecisionInput) =>
  personal.includes(action) || reachesByOverride(action, input) || elevationFor(action, input) !== undefined

type Cell = 'absent' | 'deny' | 'deny locked' | 'disabled'
const ruleOf = (scope_type: ScopeType, cell: Cell, action: string, condition: object = {}): Constraint => ({
  constraint_id: scope_type,
  version: 1,
  key: 'same',
  scope_type,
  actions: [action],
  condition,
  time_zone: 'UTC',
  is_locked: cell === 'deny locked',
  state: cell === 'disabled' ? 'disabled' : 'active',
})

describe('DE-11 D4 every combination at the platform, the tenant and the project', () => {
  const cells: Cell[] = ['absent', 'deny', 'deny locked', 'disabled']
  const scopes: ScopeType[] = ['global', 'tenant', 'project']
  const table = cells.flatMap((global) => cells.flatMap((tenant) => cells.map((project) => [global, tenant, project] as const)))
  const action = 'storage.read'
  const base = { actor: { id: 'a', type: 'user' as const, is_disabled: false }, platform_roles: [], tenant_roles: [], project_roles: [] }
  const inside = { is_tenant_member: true, is_project_member: true, is_suspended: false, is_archived: false, place: 'project' as const }
  const elevation = {
    id: 'e',
    scope: 'project' as const,
    tenant_id: null,
    project_id: 'project-here',
    actions: [action],
    starts_at: '2026-11-16T00:00:00.000Z',
    ends_at: '2026-11-17T00:00:00.000Z',
  }
  const ask = (row: readonly Cell[], isElevated: boolean) =>
    spelled(
      decide(
        action,
        factsIn({
          ...base,
          ...inside,
          project_roles: isElevated ? [] : [builtin('project_viewer')],
          is_self: false,
          token: null,
          elevations: isElevated ? [elevation] : [],
          constraints: row.flatMap((cell, index) => (cell === 'absent' ? [] : [ruleOf(scopes[index]!, cell, action)])),
          attributes: {},
        }),
      ),
    )
  const allowed = 'allow null project in_code'
  const deniedBy = (scope: ScopeType) => `deny policy_constraint_denied ${scope} policy_values`
  const widestLocked = (row: readonly Cell[]) => scopes.find((_scope, index) => row[index] === 'deny locked')
  const narrowestPresent = (row: readonly Cell[]) => scopes.findLastIndex((_scope, index) => row[index] !== 'absent')

  test('there are 64', () => expect(new Set(table.map(String)).size).toBe(64))

  test.each(table)('DE-11 D4 %s, %s, %s', (...row) => {
    const locked = widestLocked(row)
    const narrowest = narrowestPresent(row)
    const isDenied = narrowest >= 0 && row[narrowest] === 'deny'
    expect(ask(row, false)).toBe(locked ? deniedBy(locked) : isDenied ? deniedBy(scopes[narrowest]!) : allowed)
    // An elevation passes whatever is not locked.
    expect(ask(row, true)).toBe(locked ? deniedBy(locked) : allowed)
  })
})

test('DE-22 who answers, and for which scope, follows from the reason', () => {
  const scopeOf = { platform: 'global', tenant: 'tenant', project: 'project' } as const
  const seen = new Set<string>()
  fc.assert(
    fc.property(fc.constantFrom(...actionNames), aWorld, (action, world) => {
      const input = factsIn(world)
      const { reason_code, applied_scope, policy_source } = decide(action, input)
      const tier = scopeOf[actions[action].tier]
      const isOverride = reachesByOverride(action, input)
      const elevation = elevationFor(action, input)
      seen.add(`${reason_code} ${policy_source}`)
      if (reason_code === 'policy_constraint_denied') {
        if (policy_source === 'in_code') expect(applied_scope).toBe(world.is_suspended ? 'tenant' : 'project')
        else expect(input.constraints.map(({ scope_type }) => scope_type)).toContain(applied_scope)
        return
      }
      expect(policy_source).toBe('in_code')
      if (reason_code === 'actor_disabled') expect(applied_scope).toBe('global')
      else if (reason_code !== null) expect(applied_scope).toBe(tier)
      else expect(applied_scope).toBe(isOverride ? 'global' : (elevation?.scope ?? tier))
    }),
    { numRuns: 6000 },
  )
  expect(seen.size).toBe(8)
})
