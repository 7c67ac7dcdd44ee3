import { describe, expect, test } from 'vitest'
import { caseFiles, casesIn, type GivenTier, inputOf, known } from '../../../../cases/decision-case.ts'
import { type Action, actions, overridePermission, type Tier } from './actions.ts'
import { type Decision, decide } from './decide.ts'

describe.each(caseFiles)('%s', (file) => {
  for (const { proves, because, action, given, expect: expected } of casesIn(file))
    test(`${proves} ${because}`, () => expect(decide(known(action), inputOf(known(action), given))).toEqual(expected))
})

describe('the rows as a whole', () => {
  const cases = caseFiles.flatMap(casesIn)
  const spelledKeys = (value: object = {}) => Object.keys(value)

  test('DE-03 there are many, each says something of its own and where it comes from, and each reason comes up often', () => {
    expect(cases.length).toBeGreaterThanOrEqual(260)
    expect(new Set(cases.map(({ because }) => because)).size).toBe(cases.length)
    for (const { source } of cases) expect(source).toMatch(/^(?:seed 00\d|permissions\.md|ADR 00\d\d|threats|[A-Z]{2}-\d\d)/)
    const counted = Map.groupBy(cases, ({ expect: { reason_code } }) => reason_code)
    for (const reason of reasons) expect({ reason, rows: counted.get(reason)?.length }).toEqual({ reason, rows: atLeast(15) })
    expect([...counted.keys()].sort()).toEqual([null, ...reasons].sort())
  })

  test('DE-13 no row asks the same question of the same world as another', () => {
    const spelled = cases.map(({ action, given }) => JSON.stringify([action, given]))
    const twice = spelled.filter((text, index) => spelled.indexOf(text) !== index)
    expect(twice).toEqual([])
  })

  test('a row gives nothing that its reader would pass over', () => {
    const members = [
      'actor',
      'token',
      'platform',
      'tenant',
      'project',
      'resource',
      'elevations',
      'constraints',
      'attributes',
      'unspeakable',
    ]
    const inTier = [
      ...['is_member', 'is_suspended', 'is_archived', 'is_eligible', 'roles', 'disabled_roles', 'permissions', 'disabled_permissions'],
      ...['grace', 'newer_permissions'],
    ]
    const inRule = ['scope', 'key', 'actions', 'condition', 'time_zone', 'is_locked', 'state']
    for (const { given, ...row } of cases) {
      expect(Object.keys(row).sort()).toEqual(['action', 'because', 'expect', 'proves', 'source'])
      expect(members).toEqual(expect.arrayContaining(spelledKeys(given)))
      for (const tier of [given.platform, given.tenant, given.project]) expect(inTier).toEqual(expect.arrayContaining(spelledKeys(tier)))
      for (const rule of given.constraints ?? []) expect(inRule).toEqual(expect.arrayContaining(spelledKeys(rule)))
      for (const each of given.elevations ?? [])
        expect(['scope', 'where', 'actions', 'starts_at', 'ends_at']).toEqual(expect.arrayContaining(spelledKeys(each)))
      expect(['type', 'is_disabled']).toEqual(expect.arrayContaining(spelledKeys(given.actor)))
      expect(['tenant_id', 'project_id', 'shared_runtime_id', 'actions']).toEqual(expect.arrayContaining(spelledKeys(given.token)))
      expect(['in', 'type', 'shared_runtime_id', 'relations']).toEqual(expect.arrayContaining(spelledKeys(given.resource)))
    }
  })
})

const reasons = [
  'permission_denied',
  'membership_missing',
  'scope_mismatch',
  'policy_constraint_denied',
  'role_disabled',
  'actor_disabled',
] as const
const atLeast = (least: number) => expect.toSatisfy((count: number) => count >= least, `at least ${least}`)

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
  'suspended',
  'archived',
  'constrained',
] as const
type Holds = Record<(typeof conditions)[number], boolean>

// Belonging gives these two without any role, and these seven are the person's own: no rule takes them away.
const givenByBelonging = ['tenant.project.read_own', 'project.read']
const personal = [
  'me.read',
  'me.ssh_key.read',
  'me.ssh_key.manage',
  'me.invitation.accept',
  'tenant.user.leave',
  'project.member.leave',
  'tenant.project.read_own',
]

const expectedOf = (action: Action, is: Holds): string => {
  const { tier, override_eligible, is_read } = actions[action]
  const scope = scopeOf[tier]
  const isGranted = is.granted || givenByBelonging.includes(action)
  // The rule is the tenant's, which has no say over the platform's own actions and over who writes rules.
  const isDenied = is.constrained && !personal.includes(action) && tier !== 'platform' && !/^tenant\.policy\./.test(action)
  const steps: [boolean, string][] = [
    [is.disabled, 'deny actor_disabled global in_code'],
    [is.outside_token, `deny scope_mismatch ${scope} in_code`],
    [is.override && override_eligible, 'allow null global in_code'],
    [is.elevated && isDenied && is.locked, 'deny policy_constraint_denied tenant policy_values'],
    [is.elevated, 'allow null project in_code'],
    [tier !== 'platform' && !is.member, `deny membership_missing ${scope} in_code`],
    [!isGranted && is.by_disabled, `deny role_disabled ${scope} in_code`],
    [!isGranted, `deny permission_denied ${scope} in_code`],
    [is.suspended && !is_read, 'deny policy_constraint_denied tenant in_code'],
    [is.archived && !is_read, 'deny policy_constraint_denied project in_code'],
    [isDenied, 'deny policy_constraint_denied tenant policy_values'],
  ]
  return steps.find(([holds]) => holds)?.[1] ?? `allow null ${scope} in_code`
}

const worldOf = (action: Action, is: Holds) => {
  const { tier } = actions[action]
  const here: GivenTier = { permissions: is.granted ? [action] : [], disabled_permissions: is.by_disabled ? [action] : [] }
  const at = (wanted: Tier): GivenTier => (wanted === tier ? here : {})
  const platform = at('platform')
  return inputOf(action, {
    actor: { is_disabled: is.disabled },
    ...(is.outside_token ? { token: { tenant_id: 'elsewhere' } } : {}),
    platform: is.override ? { ...platform, permissions: [...(platform.permissions ?? []), overridePermission] } : platform,
    tenant: { ...at('tenant'), is_member: is.member, is_suspended: is.suspended },
    project: { ...at('project'), is_member: is.member, is_archived: is.archived },
    resource: { in: 'project' },
    ...(is.elevated ? { elevations: [{ scope: 'project' }] } : {}),
    ...(is.constrained ? { constraints: [{ scope: 'tenant', is_locked: is.locked }] } : {}),
  })
}

const spelled = ({ decision, reason_code, applied_scope, policy_source }: Decision) =>
  `${decision} ${reason_code} ${applied_scope} ${policy_source}`

test('DE-13 an answer is given to everybody who gets the same one, and nobody can change it for the others', () => {
  const answers = new Set(caseFiles.flatMap(casesIn).map(({ action, given }) => decide(known(action), inputOf(known(action), given))))
  const told = [...answers].map(spelled)
  expect(new Set(told).size).toBe(told.length)
  for (const reason of ['allow null', ...reasons.map((each) => `deny ${each}`)])
    expect({ reason, given: told.some((each) => each.startsWith(reason)) }).toEqual({ reason, given: true })
  expect([...answers].filter((each) => !Object.isFrozen(each))).toEqual([])
})

test('DE-04 D5 for every action, every combination of the steps is decided by the first that holds, and each reason decides often', () => {
  const wrong: string[] = []
  const hits = new Map<string | null, number>()
  for (const action of names)
    for (let bits = 0; bits < 2 ** conditions.length; bits += 1) {
      const is = Object.fromEntries(conditions.map((condition, at) => [condition, (bits & (1 << at)) !== 0])) as Holds
      const decision = decide(action, worldOf(action, is))
      hits.set(decision.reason_code, (hits.get(decision.reason_code) ?? 0) + 1)
      if (spelled(decision) !== expectedOf(action, is)) wrong.push(`${action} ${JSON.stringify(is)}: ${spelled(decision)}`)
    }
  expect(wrong.slice(0, 5)).toEqual([])
  for (const reason of reasons) expect({ reason, hits: hits.get(reason) }).toEqual({ reason, hits: atLeast(1000) })
})
