import { describe, expect, test } from 'vitest'
import type { Statement } from '#ground/db/statement.ts'
import { type Actor, newTrail, type Work } from '#ground/work/work.ts'
import type { Constraint } from '../policies/constraint.ts'
import { operatorKeys } from './actions.ts'
import { permissionsOf } from './catalogue.ts'
import { describedBy } from './decide.ts'
import { blank, type Circumstances, factsOf, nobody, readFacts, readFactsIn } from './facts.ts'
import { nowhere, type Place, platformKind, selfKind, thePlatform } from './kind.ts'
import { heldAt, standingOf } from './standing.ts'
import type { StandingRow } from './standing-queries.ts'
import { boundRole as role } from './testing/bound-role.ts'

// What the database says is in `facts.db.test.ts`; here it is said by hand.

const now = '2026-11-16T12:00:00.000Z'
const row = (said: Partial<StandingRow> = {}): StandingRow => ({
  actor_id: 'alice',
  is_disabled: false,
  ...{ platform_bindings: [], role_by_column: null, was_ever_bound: true, platform_role_source: 'bindings' },
  tenant_state: 'active',
  is_tenant_member: true,
  tenant_roles: [role('tenant_viewer')],
  project_tenant_id: 'aurora',
  project_state: 'active',
  is_project_member: true,
  project_roles: [role('project_viewer')],
  ...said,
})
const rule: Constraint = {
  ...{ constraint_id: 'c', version: 1, key: 'k', scope_type: 'tenant', actions: ['tenant.*'], condition: {}, time_zone: 'UTC' },
  ...{ is_locked: false, state: 'active' },
}
const inTraining: Place = { id: 'row', tenant_id: 'aurora', project_id: 'training', relations: ['self'] }
const circumstances: Circumstances = {
  actor: { type: 'user', id: 'alice' },
  place: inTraining,
  resource_type: 'project',
  attributes: {},
  now,
}
const factsFor = (said: Partial<StandingRow>, of: Partial<Circumstances> = {}) =>
  factsOf(standingOf(row(said)), [rule], { ...circumstances, ...of })

describe('the input of a decision', () => {
  test('DE-04 it is what was read, tier by tier, of the place that was asked about', () => {
    const standing = standingOf(row({ platform_bindings: [role('platform_ops')] }))
    const constraints = [rule]
    const facts = factsOf(standing, constraints, circumstances)
    const none = new Set<string>()
    expect(facts).toEqual({
      actor: { id: 'alice', type: 'user', is_disabled: false },
      token: null,
      platform: { allowed: permissionsOf('platform_ops'), by_disabled: none },
      tenant: { allowed: permissionsOf('tenant_viewer'), by_disabled: none, is_member: true, is_suspended: false },
      project: { allowed: permissionsOf('project_viewer'), by_disabled: none, is_member: true, is_archived: false },
      resource: { type: 'project', tenant_id: 'aurora', project_id: 'training', shared_runtime_id: null, relations: new Set(['self']) },
      now,
      elevations: [],
      constraints,
      attributes: {},
      local_times: new Map([['UTC', { minute_of_day: 720, weekday: 1 }]]),
      standing,
      platform_role: 'platform_ops',
      may_know: true,
    })
  })

  test('DE-05 who is disabled is disabled', () => {
    expect(factsFor({ is_disabled: true }).actor.is_disabled).toBe(true)
  })

  test.each([
    [null, false],
    ['active', false],
    ['suspended', true],
    ['archived', true],
    ['Active', true],
    ['', true],
  ])('DE-21 in the state %s it is frozen: %s', (state, isFrozen) => {
    expect(factsFor({ tenant_state: state })).toMatchObject({ tenant: { is_suspended: isFrozen }, project: { is_archived: false } })
    expect(factsFor({ project_state: state })).toMatchObject({ tenant: { is_suspended: false }, project: { is_archived: isFrozen } })
  })

  test.each([
    [true, true, true],
    [true, false, false],
    [false, true, false],
    [false, false, false],
  ])('RP-21 a member of the tenant: %s, of the project: %s, counts as one of the project: %s', (ofTenant, ofProject, counts) => {
    const facts = factsFor({ is_tenant_member: ofTenant, is_project_member: ofProject })
    expect([facts.tenant.is_member, facts.project.is_member]).toEqual([ofTenant, counts])
  })

  test.each([
    ['a member', true, { is_tenant_member: true }],
    ['a stranger', false, { is_tenant_member: false }],
    ['a stranger with the default role', false, { is_tenant_member: false, platform_bindings: [role('platform_user')] }],
    ['one of the platform', true, { is_tenant_member: false, platform_bindings: [role('platform_ops')] }],
    [
      'one whose platform role is disabled',
      false,
      { is_tenant_member: false, platform_bindings: [role('platform_ops', { state: 'disabled' })] },
    ],
  ])('AU-05 whether %s may know what exists in the tenant: %s', (_name, mayKnow, said) => {
    expect(factsFor(said).may_know).toBe(mayKnow)
  })

  test('RP-01 the highest platform role that is active is the one on record', () => {
    const roles = [role('platform_user'), role('platform_ops'), role('platform_superadmin', { state: 'disabled' })]
    expect(factsFor({ platform_bindings: roles }).platform_role).toBe('platform_ops')
  })

  test('DE-01 the request is described by what is known of it, and cannot say otherwise who asks, and about what', () => {
    const said = { region: 'eu', resource_type: 'bucket', actor_type: 'workload' }
    expect(describedBy(factsFor({}, { attributes: said }))('UTC')).toEqual({
      region: 'eu',
      resource_type: 'project',
      actor_type: 'user',
      minute_of_day: 720,
      weekday: 1,
    })
    const later = { time: '2026-11-17T01:00:00Z' }
    expect(describedBy(factsFor({}, { attributes: later }))('UTC')).toMatchObject({ minute_of_day: 60, weekday: 2 })
  })
})

describe('of whom nothing is known', () => {
  test.each([true, false])('DE-05 he has nothing, and is disabled as is said: %s', (is_disabled) => {
    const { comes_to: _, ...standing } = blank('nora', is_disabled)
    const { platform_role, platform, tenant, project } = heldAt(blank('nora', is_disabled), now)
    expect(platform_role).toBe('platform_user')
    expect(standing).toEqual({
      ...{ actor_id: 'nora', is_disabled, platform_roles: [], platform_mismatch: null },
      ...{ platform_bindings: [], role_by_column: null, was_ever_bound: false, platform_role_source: null },
      ...{ tenant_state: null, is_tenant_member: false, tenant_roles: [] },
      ...{ project_tenant_id: null, project_state: null, is_project_member: false, project_roles: [] },
    })
    for (const { allowed, by_disabled } of [platform, tenant, project]) expect([...allowed, ...by_disabled]).toEqual([])
  })

  test('DE-05 an actor without a record is nobody, and nobody is disabled', () => {
    expect(nobody({ id: 'agent-7' })).toMatchObject({ actor_id: 'agent-7', is_disabled: true })
  })
})

/** A transaction that answers each statement from these lists, and remembers what it was asked. */
const told = (standings: (StandingRow & { n: number; home_tenant_id?: string; home_project_id?: string })[], chains: Constraint[][]) => {
  const asked: (readonly unknown[])[] = []
  const many = async (statement: Statement<unknown>) => {
    asked.push(statement.values.slice(-3))
    const rows = statement.text.includes('policy_constraints') ? chains.flat().map((each) => ({ ...each, scope_id: 'aurora' })) : standings
    return rows.map(statement.parse)
  }
  const work = (actor: Actor, source_ip: string | null = null) =>
    ({ actor, correlation_id: 'test', source_ip, now, tx: { many, now }, trail: newTrail() }) as unknown as Work
  return { asked, work }
}
const alice: Actor = { type: 'user', id: 'alice' }
const inBorealis: Place = { ...nowhere, tenant_id: 'borealis' }

describe('what is read for a work', () => {
  test('DE-19 each place has its own facts and rules, in the order of the question, and in it the person his own standing', async () => {
    const { asked, work } = told([{ n: 2, ...row() }], [[], [rule]])
    const [borealis, training] = await readFactsIn(work(alice), 'organization', [inBorealis, inTraining])
    expect(asked).toEqual([
      [
        ['alice', 'alice'],
        ['borealis', 'aurora'],
        [null, 'training'],
      ],
      [['borealis', 'aurora'], ['training']],
    ])
    expect(borealis).toMatchObject({ actor: { is_disabled: true }, constraints: [], resource: { tenant_id: 'borealis' } })
    expect(training).toMatchObject({
      ...{ actor: { id: 'alice', is_disabled: false }, constraints: [rule], now },
      resource: { type: 'organization', tenant_id: 'aurora', project_id: 'training' },
    })
  })

  test('DE-05 of a machine no person’s standing is read, whatever its id', async () => {
    for (const type of ['workload', 'platform_operator', 'system'] as const) {
      const { asked, work } = told([{ n: 1, ...row() }], [[rule]])
      const facts = await readFacts(work({ type, id: 'alice', credential_id: 'key' } as Actor), 'organization', inTraining)
      expect(asked).toEqual([[['aurora'], ['training']]])
      expect(facts).toMatchObject({ actor: { id: 'alice', type, is_disabled: true }, constraints: [rule] })
    }
  })

  test('TI-25 of a service account its own record is read, and its project bounds it where no token is shown', async () => {
    const machine = { ...row({ is_tenant_member: false, project_roles: [] }), home_tenant_id: 'aurora', home_project_id: 'training' }
    const { work } = told([{ n: 1, ...machine }], [[]])
    const facts = await readFacts(work({ type: 'service_account', id: 'robot', credential_id: 'key' }), 'project', inTraining)
    expect(facts).toMatchObject({
      actor: { id: 'robot', type: 'service_account', is_disabled: false },
      token: { tenant_id: 'aurora', project_id: 'training', actions: null },
      may_know: true,
    })
    const token = { jti: 'j', tenant_id: 'aurora', project_id: 'training', actions: new Set(['storage.read']) }
    expect(
      (await readFacts(work({ type: 'service_account', id: 'robot', credential_id: 'key', token }), 'project', inTraining)).token,
    ).toBe(token)
  })

  test('AU-05 a service account does not know what exists in its own tenant, outside its project', async () => {
    const machine = { ...row({ is_tenant_member: false, is_project_member: false }), home_tenant_id: 'aurora', home_project_id: 'other' }
    const { work } = told([{ n: 1, ...machine }], [[]])
    expect((await readFacts(work({ type: 'service_account', id: 'robot', credential_id: 'key' }), 'project', inTraining)).may_know).toBe(
      false,
    )
  })

  describe('of an operator', () => {
    const robot = { type: 'shared_runtime_operator', id: 'runtime-7', credential_id: 'key' } as const
    const found = {
      ...{ n: 1, actor_id: 'runtime-7', home_tenant_id: 'aurora', tenant_state: 'active', project_state: 'active' },
      ...{ is_disabled: false, is_live: true, is_attached: true, is_eligible: false, delegated_actions: [] as string[] },
    }
    const standing = (rows: unknown[]) => {
      const many = async ({ text, parse }: Statement<unknown>) => (text.includes('shared_app_runtimes') ? rows.map(parse) : [])
      return readFacts({ ...told([], [[]]).work(robot), tx: { many, now } } as unknown as Work, 'shared_runtime', inTraining)
    }

    test('MI-02 DE-05 its runtime’s record is read, and no person’s; its tenant and its runtime bound it where no token is shown', async () => {
      const facts = await standing([found])
      expect(facts).toMatchObject({
        actor: { id: 'runtime-7', is_disabled: false },
        token: { tenant_id: 'aurora', project_id: null, shared_runtime_id: 'runtime-7', actions: null },
        tenant: { allowed: operatorKeys, is_member: true },
        project: { is_member: true, is_eligible: false },
        may_know: true,
      })
      for (const { allowed } of [facts.platform, facts.project]) expect([...allowed]).toEqual([])
    })

    test('MI-07 TI-15 while its runtime is disabled it is, belongs nowhere, and still knows its own tenant; one that is gone is nobody', async () => {
      expect(await standing([{ ...found, is_disabled: true, is_live: false }])).toMatchObject({
        ...{ actor: { is_disabled: true }, tenant: { is_member: false }, project: { is_member: false }, may_know: true },
      })
      expect(await standing([])).toMatchObject({ actor: { is_disabled: true }, token: null, may_know: false })
    })

    test.each([
      ['its own tenant, disabled and attached to nothing', true, { is_disabled: true, is_live: false }],
      ['a tenant that is not its own', false, { is_live: false, tenant_state: null, project_state: null }],
    ])('AU-05 whether it may know what exists in %s: %s', async (_name, mayKnow, said) => {
      expect((await standing([{ ...found, is_attached: false, ...said }])).may_know).toBe(mayKnow)
    })

    test('MI-05 what its tenant has delegated comes to the list, and no other word does', async () => {
      const given = async (delegated_actions: string[]) =>
        [...(await standing([{ ...found, delegated_actions }])).tenant.allowed].filter((key) => !operatorKeys.has(key as never))
      expect(await given(['attach'])).toEqual(['shared_runtime.attach'])
      expect(await given(['detach', 'attach'])).toEqual(['shared_runtime.detach', 'shared_runtime.attach'])
      expect(await given(['tenant.shared_runtime.manage', 'constructor', '__proto__', ''])).toEqual([])
    })
  })

  test('SG-16 a node stands alone: in no tenant, without a role; an unknown or retired one is nobody', async () => {
    const node = { type: 'node_agent', id: 'node-7', credential_id: 'serial' } as const
    const standing = (rows: unknown[]) => {
      const many = async ({ text, parse }: Statement<unknown>) => (text.includes('from nodes') ? rows.map(parse) : [])
      return readFacts({ ...told([], [[]]).work(node), tx: { many, now } } as unknown as Work, 'node', inTraining)
    }
    const facts = await standing([{ id: 'node-7' }])
    expect(facts).toMatchObject({
      actor: { is_disabled: false },
      may_know: false,
      tenant: { is_member: false },
      project: { is_member: false },
    })
    for (const { allowed } of [facts.platform, facts.tenant, facts.project]) expect([...allowed]).toEqual([])
    expect((await standing([])).actor.is_disabled).toBe(true)
  })

  test('TI-25 an unknown or deleted service account is nobody, and nobody is disabled', async () => {
    const { work } = told([], [[]])
    expect(await readFacts(work({ type: 'service_account', id: 'gone', credential_id: 'key' }), 'project', inTraining)).toMatchObject({
      actor: { is_disabled: true },
      token: null,
      may_know: false,
    })
  })

  test('DE-01 the connection tells where a request came from, where there is one', async () => {
    const { work } = told([{ n: 1, ...row() }], [[rule]])
    const from = async (address: string | null) => describedBy(await readFacts(work(alice, address), 'user', inTraining))('UTC')
    expect(await from('10.0.0.1')).toEqual({
      ...{ source_ip: '10.0.0.1', resource_type: 'user', actor_type: 'user', minute_of_day: 720, weekday: 1 },
    })
    expect(await from(null)).not.toHaveProperty('source_ip')
  })
})

describe('where things lie', () => {
  test('AU-05 what is nowhere is in no tenant, and nobody stands in a relation to it', () => {
    expect(nowhere).toEqual({ id: null, tenant_id: null, project_id: null, relations: [] })
  })

  test('AU-05 the platform is in no tenant', () => {
    expect(thePlatform).toEqual({ id: 'platform' })
    expect(platformKind.placeOf(thePlatform, alice)).toEqual({ ...nowhere, id: 'platform' })
    expect([platformKind.type, platformKind.missing]).toEqual(['platform', 'route_not_found'])
  })

  test('DE-08 a person stands to himself in a relation, to others in none; a machine never does', () => {
    const placeFor = (actor: Actor) => selfKind.placeOf({ id: 'alice' }, actor)
    expect(placeFor(alice)).toEqual({ ...nowhere, id: 'alice', relations: ['self'] })
    expect(placeFor({ type: 'user', id: 'arne' })).toEqual({ ...nowhere, id: 'alice' })
    expect(placeFor({ type: 'service_account', id: 'alice', credential_id: 'key' })).toEqual({ ...nowhere, id: 'alice' })
    expect([selfKind.type, selfKind.missing]).toEqual(['user', 'user_not_found'])
  })
})
