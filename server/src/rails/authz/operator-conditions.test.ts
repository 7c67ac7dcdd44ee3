import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Statement } from '#ground/db/statement.ts'
import { type Action, actions } from './actions.ts'
import { type Decision, type DecisionInput, decide } from './decide.ts'
import { factsOf } from './facts.ts'
import { readStandingsOf } from './read-standings.ts'
import { heldAt } from './standing.ts'
import { boundRole } from './testing/bound-role.ts'

// MI-03's five conditions, written down by hand: the class of operators, the token's organization, its runtime, an action on its list,
// the project attached (to attach one: on the list of those that it may). The first that fails in the order of DE-04 names the reason.
// Who is no operator is not asked about attachments; and what may be attached is no question where attaching is not delegated, so that
// where two words stand the first is said of detaching, the second of attaching.
const table = `
  class org   run   list  att
  no    no    no    no    no    scope_mismatch
  no    no    no    no    yes   scope_mismatch
  no    no    no    yes   no    scope_mismatch
  no    no    no    yes   yes   scope_mismatch
  no    no    yes   no    no    scope_mismatch
  no    no    yes   no    yes   scope_mismatch
  no    no    yes   yes   no    scope_mismatch
  no    no    yes   yes   yes   scope_mismatch
  no    yes   no    no    no    scope_mismatch
  no    yes   no    no    yes   scope_mismatch
  no    yes   no    yes   no    scope_mismatch
  no    yes   no    yes   yes   scope_mismatch
  no    yes   yes   no    no    permission_denied
  no    yes   yes   no    yes   permission_denied
  no    yes   yes   yes   no    permission_denied
  no    yes   yes   yes   yes   permission_denied
  yes   no    no    no    no    scope_mismatch
  yes   no    no    no    yes   scope_mismatch
  yes   no    no    yes   no    scope_mismatch
  yes   no    no    yes   yes   scope_mismatch
  yes   no    yes   no    no    scope_mismatch
  yes   no    yes   no    yes   scope_mismatch
  yes   no    yes   yes   no    scope_mismatch
  yes   no    yes   yes   yes   scope_mismatch
  yes   yes   no    no    no    scope_mismatch
  yes   yes   no    no    yes   scope_mismatch
  yes   yes   no    yes   no    scope_mismatch
  yes   yes   no    yes   yes   scope_mismatch
  yes   yes   yes   no    no    membership_missing/permission_denied
  yes   yes   yes   no    yes   permission_denied
  yes   yes   yes   yes   no    membership_missing
  yes   yes   yes   yes   yes   allow`

const conditions = ['class', 'org', 'runtime', 'list', 'attached'] as const
type Condition = (typeof conditions)[number]
type Holds = Readonly<Record<Condition, boolean>>
const rows = table
  .trim()
  .split('\n')
  .slice(1)
  .map((line) => line.trim().split(/ +/))
  .map((words) => ({
    is: Object.fromEntries(conditions.map((condition, at) => [condition, words[at] === 'yes'])) as Holds,
    expected: words[5]!.split('/'),
  }))

const now = '2026-11-16T12:00:00.000Z'
const found = {
  ...{ n: 1, actor_id: 'runtime', home_tenant_id: 'tenant', tenant_state: 'active', project_state: 'active' },
  ...{ is_disabled: false, is_live: true, is_attached: true, is_eligible: true, delegated_actions: ['detach'] },
}
/** As the product puts it together from what the tables say. */
const inputOf = async (is: Holds, said: Partial<typeof found> = {}): Promise<DecisionInput> => {
  const row = {
    ...found,
    is_attached: is.attached,
    is_eligible: is.attached,
    delegated_actions: is.list ? ['attach', 'detach'] : [],
    ...said,
  }
  const reader = { many: async ({ parse }: Statement<unknown>) => [parse(row)] as never }
  const key = { actor_id: 'runtime', tenant_id: 'tenant', project_id: 'project' }
  const [standing] = await readStandingsOf(reader, 'shared_runtime_operator', [key])
  const token = { jti: 'j', tenant_id: 'tenant', project_id: null, shared_runtime_id: 'runtime', actions: null }
  const facts = factsOf(standing!, [], {
    actor: { type: 'shared_runtime_operator', id: 'runtime', token },
    place: {
      id: null,
      tenant_id: is.org ? 'tenant' : 'other tenant',
      project_id: 'project',
      shared_runtime_id: is.runtime ? 'runtime' : 'other runtime',
      relations: [],
    },
    resource_type: 'shared_runtime_attachment',
    attributes: {},
    now,
  })
  if (is.class) return facts
  // Of another class, and in all else alike. That its class gives it nothing of this, the next test shows.
  return { ...facts, actor: { ...facts.actor, type: 'workload' }, token, tenant: { ...facts.tenant, allowed: new Set() } }
}

type Engine = (action: Action, input: DecisionInput) => Decision
/** The rows that come out otherwise. */
const wrongBy = async (engine: Engine): Promise<string[]> => {
  const wrong: string[] = []
  for (const [at, action] of (['shared_runtime.detach', 'shared_runtime.attach'] as const).entries())
    for (const { is, expected } of rows) {
      const { decision, reason_code, applied_scope, policy_source } = engine(action, await inputOf(is))
      const answer = [decision === 'allow' ? 'allow' : reason_code, applied_scope, policy_source].join(' ')
      if (answer !== `${expected.at(Math.min(at, expected.length - 1))} tenant in_code`)
        wrong.push(`${action} ${JSON.stringify(is)} ${answer}`)
    }
  return wrong
}

/** Engines that are deaf to one of the five. */
const deaf: Record<Condition, Engine> = {
  class: (action, input) => {
    const { actor, tenant } = input
    return decide(action, actor.type === 'workload' ? { ...input, tenant: { ...tenant, allowed: new Set([action]) } } : input)
  },
  org: (action, input) => decide(action, { ...input, resource: { ...input.resource, tenant_id: input.token!.tenant_id } }),
  runtime: (action, input) => decide(action, { ...input, resource: { ...input.resource, shared_runtime_id: 'runtime' } }),
  list: (action, input) => {
    const isOperator = input.actor.type === 'shared_runtime_operator'
    return decide(action, isOperator ? { ...input, tenant: { ...input.tenant, allowed: new Set([action]) } } : input)
  },
  attached: (action, input) => decide(action, { ...input, project: { ...input.project, is_member: true, is_eligible: true } }),
}

describe('the five conditions of an operator’s request', () => {
  test('MI-03 X3 there are 32 rows, each combination once, and one of them is allowed', () => {
    expect(new Set(rows.map(({ is }) => JSON.stringify(is))).size).toBe(32)
    expect(rows.filter(({ expected }) => expected.join() === 'allow').map(({ is }) => Object.values(is))).toEqual([
      [true, true, true, true, true],
    ])
    const alone = rows.filter(({ is }) => Object.values(is).filter((holds) => !holds).length === 1)
    expect(Object.fromEntries(alone.map(({ is, expected }) => [conditions.find((condition) => !is[condition]), expected.join()]))).toEqual({
      class: 'permission_denied',
      org: 'scope_mismatch',
      runtime: 'scope_mismatch',
      list: 'permission_denied',
      attached: 'membership_missing',
    })
  })

  test('MI-03 X3 DE-04 the engine answers each combination with its own reason, for each delegated action', async () => {
    expect(await wrongBy(decide)).toEqual([])
  })

  test('TI-15 DE-04 while its runtime is disabled an operator is told that, and nothing else, whichever of the conditions hold', async () => {
    for (const action of ['shared_runtime.detach', 'shared_runtime.attach', 'shared_runtime.token.issue', 'tenant.user.read'] as const)
      for (const { is } of rows.filter((row) => row.is.class)) {
        const { reason_code, applied_scope } = decide(action, await inputOf(is, { is_disabled: true, is_live: false }))
        expect([action, is, reason_code, applied_scope]).toEqual([action, is, 'actor_disabled', 'global'])
      }
  })

  test.each(conditions)('MI-03 X3 the rows notice an engine that is deaf to: %s', async (condition) => {
    const wrong = await wrongBy(deaf[condition])
    const alone = conditions.map((each) => [each, each !== condition])
    expect(wrong).toContain(`shared_runtime.detach ${JSON.stringify(Object.fromEntries(alone))} allow tenant in_code`)
  })

  test('MI-03 no other class comes by an operator’s keys, be its row as rich as it can be', async () => {
    const custom = { is_builtin: false, permissions: Object.keys(actions) }
    const rich = {
      ...{ n: 1, actor_id: 'u', is_disabled: false, was_ever_bound: true, role_by_column: null, platform_role_source: 'bindings' },
      ...{ platform_bindings: [boundRole('platform_superadmin')], tenant_state: 'active', is_tenant_member: true },
      ...{ tenant_roles: [boundRole('tenant_owner'), boundRole('x', custom)], project_tenant_id: 'tenant', project_state: 'active' },
      ...{ is_project_member: true, project_roles: [boundRole('project_owner'), boundRole('y', custom)] },
    }
    const homed = { ...rich, home_tenant_id: 'tenant', home_project_id: 'project' }
    const key = { actor_id: 'u', tenant_id: 'tenant', project_id: 'project' }
    for (const [type, row] of [
      ['user', rich],
      ['service_account', homed],
      ['node_agent', { id: 'u' }],
      ['workload', rich],
    ] as const) {
      const [standing] = await readStandingsOf({ many: async ({ parse }: Statement<unknown>) => [parse(row)] as never }, type, [key])
      const { platform, tenant, project } = standing ? heldAt(standing, now) : {}
      const keys = [platform, tenant, project].flatMap((grants) => [...(grants?.allowed ?? []), ...(grants?.by_disabled ?? [])])
      expect([type, keys.filter((each) => each.startsWith('shared_runtime.'))]).toEqual([type, []])
      expect([type, standing !== undefined]).toEqual([type, type !== 'workload'])
    }
  })
})

describe('whatever is asked of an operator', () => {
  // Mostly so that nothing stands in the way: each key is then seen about twenty times, and missed by no chance worth naming.
  const mostly = <T>(usual: T, ...others: T[]) => fc.oneof({ arbitrary: fc.constant(usual), weight: 6 }, fc.constantFrom(...others))
  const aWhere = mostly('tenant', 'other', null)
  const aRuntime = mostly('runtime', 'other', null)
  const aWorld = fc.record({
    token: fc.option(fc.record({ tenant_id: aWhere, shared_runtime_id: aRuntime }), { freq: 10 }),
    tenant_id: aWhere,
    project_id: fc.constantFrom('project', null),
    shared_runtime_id: aRuntime,
    is_disabled: mostly(false, true),
    is_live: mostly(true, false),
    is_attached: fc.boolean(),
    is_eligible: fc.boolean(),
    delegated_actions: fc.subarray(['attach', 'detach']),
    action: fc.oneof(fc.constantFrom(...(Object.keys(actions) as Action[])), fc.constantFrom(...allowable())),
  })

  const allows = async (engine: Engine) => {
    const seen = new Set<string>()
    await fc.assert(
      fc.asyncProperty(aWorld, async ({ action, token, tenant_id, project_id, shared_runtime_id, ...said }) => {
        const whole = { class: true, org: true, runtime: true, list: true, attached: true }
        const input = await inputOf(whole, said)
        const bounds = token && { ...token, project_id: null, actions: null }
        const asked = { ...input, token: bounds, resource: { ...input.resource, tenant_id, project_id, shared_runtime_id } }
        if (engine(action, asked).decision === 'deny') return
        seen.add(action)
        expect(allowable()).toContain(action)
        expect([said.is_disabled, said.is_live]).toEqual([false, true])
        expect([token?.tenant_id, token?.shared_runtime_id, shared_runtime_id]).toEqual([tenant_id, 'runtime', 'runtime'])
        expect(tenant_id).not.toBe(null)
        if (action === 'shared_runtime.attach') expect([said.is_eligible, said.delegated_actions.includes('attach')]).toEqual([true, true])
        else if (project_id !== null) expect(said.is_attached).toBe(true)
        if (action === 'shared_runtime.detach') expect(said.delegated_actions).toContain('detach')
      }),
      // The same each time: what must be seen, and what must be found, is so for certain.
      { numRuns: 5000, seed: 1 },
    )
    return seen
  }

  test('MI-03 MI-05 an allow is of the list or delegated, in its own tenant, of its own live runtime, and where the project is attached', async () => {
    expect([...(await allows(decide))].sort()).toEqual(allowable().sort())
  })

  test.each(['org', 'runtime', 'list', 'attached'] as const)('MI-03 that is not so of an engine that is deaf to: %s', async (condition) => {
    const engine: Engine = (action, input) => (input.token ? deaf[condition](action, input) : decide(action, input))
    await expect(allows(engine)).rejects.toThrow()
  })

  test('TI-15 nor of one that is deaf to whether the runtime is disabled', async () => {
    const engine: Engine = (action, input) => decide(action, { ...input, actor: { ...input.actor, is_disabled: false } })
    await expect(allows(engine)).rejects.toThrow()
  })
})

/** By hand, from MI-04 and MI-05. */
function allowable(): Action[] {
  return [
    'tenant.shared_runtime.read',
    'shared_runtime.report',
    'shared_runtime.credential.deliver',
    'shared_runtime.allocation.read',
    'shared_runtime.attach',
    'shared_runtime.detach',
    'shared_runtime.token.issue',
  ]
}
