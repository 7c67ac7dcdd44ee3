import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Action, actions } from '#rails/authz/actions.ts'
import { type Decision, decide, elevationFor } from '#rails/authz/decide.ts'
import { blank } from '#rails/authz/facts.ts'
import { casesIn, inputOf, known } from '../../../../cases/decision-case.ts'
import { anAction, aWorld, factsIn, type World } from '../../../../test/laws/random-world.ts'
import { explanationOf } from './explain-decision.ts'
import type { Judged } from './judge-questions.ts'
import type { Readable } from './veil.ts'

const aReadable = fc.record({ global: fc.boolean(), tenant: fc.boolean(), project: fc.boolean() })
const all: Readable = { global: true, tenant: true, project: true }
const strangerStanding = blank('actor', false)
const none: Readable = { global: false, tenant: false, project: false }

const judgedOf = (action: Action, world: World, readable: Readable): Judged => {
  const facts = factsIn(world)
  const { tenant_id, project_id, relations } = facts.resource
  return {
    asked: {
      actor: { type: 'user', id: world.actor.id },
      action,
      resource_type: facts.resource.type,
      said: { tenant_id, project_id },
      place: { id: null, tenant_id, project_id, relations: [...relations] },
      attributes: world.attributes,
      asking: ['me.read'],
      kind: { type: 'project', missing: 'project_not_found' },
    },
    facts,
    decision: decide(action, facts),
    readable,
    rules: () => readable,
    callers: facts.standing,
  }
}
const explained = (action: Action, world: World, readable: Readable) => {
  const judged = judgedOf(action, world, readable)
  return { ...judged, ...explanationOf(judged) }
}

describe('of an operator', () => {
  const rows = casesIn('operators.json').filter(({ given }) => given.actor?.type === 'shared_runtime_operator')
  const told = rows.map(({ because, action: key, given }) => {
    const action = known(key)
    const facts = { ...inputOf(action, given), standing: strangerStanding } as unknown as Judged['facts']
    const decision = decide(action, facts)
    const judged = { asked: { action }, facts, decision, readable: all, rules: () => all } as unknown as Judged
    return { because, action, decision, ...explanationOf(judged) }
  })

  test('DE-14 MI-03 the step that settled it is told last, in words of runtimes and lists: it has no role and no membership', () => {
    expect(told.length).toBeGreaterThanOrEqual(90)
    for (const { because, decision, steps, missing, roles } of told) {
      expect([because, stepOf(decision)]).toEqual([because, expect.arrayContaining([steps.at(-1)!.step])])
      expect([because, roles, missing.length > 0]).toEqual([because, [], decision.decision === 'deny'])
      expect([because, ...steps.map((each) => each.because), ...missing].slice(1).join(' ')).not.toMatch(/(?<!\.)\brole\b|membership/)
    }
  })

  test('DE-14 MI-05 it is told whether a key is on the list, delegated, to be delegated, or out of reach', () => {
    const of = (wanted: string) => told.find(({ because }) => because === wanted)!
    const permission = (because: string) => of(because).steps.find(({ step }) => step === 'permission')?.because
    expect(permission('an operator reads its own runtime')).toBe('The list of what operators may do has tenant.shared_runtime.read.')
    expect(permission('an operator detaches an attached project where that is delegated')).toBe(
      'The organization has delegated shared_runtime.detach to the operator of this runtime.',
    )
    expect(permission('an operator turns its credential into a token')).toBe(
      'Every shared_runtime_operator may do shared_runtime.token.issue for itself.',
    )
    expect(of('an operator detaches nothing where that is not delegated').missing).toEqual([
      'The organization must delegate shared_runtime.detach to the operator of this runtime.',
    ])
    expect(of('an operator cannot list people').missing).toEqual(['Nobody can give tenant.user.read to an operator.'])
    expect(of('an operator cannot see an allocation of a project that is not attached').missing).toEqual([
      'The project must be attached to the operator’s runtime.',
    ])
    expect(of('an operator attaches no project that is not on its list').missing).toEqual([
      'The project must be on the list of those that the operator of this runtime may attach.',
    ])
    const { steps, missing } = of('a disabled runtime attaches nothing, delegated or not')
    expect([steps.at(-1)?.because, missing]).toEqual([
      'The operator’s runtime is disabled, or gone.',
      ['The runtime must be enabled again.'],
    ])
  })
})

const order = ['actor', 'token', 'override', 'elevation', 'membership', 'permission', 'state', 'constraints']
/** At which step each answer falls, by the order of the merge. */
const stepOf = ({ reason_code, policy_source }: Decision): string[] => {
  switch (reason_code) {
    case null:
      return ['override', 'elevation', 'constraints']
    case 'policy_constraint_denied':
      return [policy_source === 'in_code' ? 'state' : 'constraints']
    default:
      return [
        {
          actor_disabled: 'actor',
          scope_mismatch: 'token',
          membership_missing: 'membership',
          role_disabled: 'permission',
          permission_denied: 'permission',
        }[reason_code],
      ]
  }
}
const runs = { numRuns: 3000 }

describe('an explanation', () => {
  test('DE-14 ends with the step that settled the matter, as it was settled; the steps before it let the question pass', () => {
    const seen = new Set<string>()
    fc.assert(
      fc.property(anAction, aWorld, aReadable, (action, world, readable) => {
        const { steps, decision } = explained(action, world, readable)
        const last = steps.at(-1)!
        seen.add(`${last.step} ${last.outcome}`)
        expect(last.outcome).toBe(decision.decision === 'allow' ? 'allowed' : 'denied')
        expect(stepOf(decision)).toContain(last.step)
        expect(steps.slice(0, -1).every(({ outcome }) => outcome === 'passed')).toBe(true)
        for (const { because } of steps) expect(because).toMatch(/^[A-Z].+\.$/)
      }),
      runs,
    )
    expect([...seen].sort()).toEqual([
      'actor denied',
      'constraints allowed',
      'constraints denied',
      'elevation allowed',
      'membership denied',
      'override allowed',
      'permission denied',
      'state denied',
      'token denied',
    ])
  })

  test('DE-14 tells the steps in the order of the merge, none twice and none left out but by an elevation', () => {
    fc.assert(
      fc.property(anAction, aWorld, (action, world) => {
        const { steps, facts } = explained(action, world, all)
        const told = steps.map(({ step }) => step)
        const isElevated = elevationFor(action, facts) !== undefined && told.includes('elevation')
        const whole = order.slice(0, order.indexOf(told.at(-1)!) + 1)
        expect(told).toEqual(isElevated ? whole.filter((step) => !['membership', 'permission', 'state'].includes(step)) : whole)
      }),
      runs,
    )
  })

  test('DE-14 says what is missing for an allow if it is none, and nothing if it is one', () => {
    fc.assert(
      fc.property(anAction, aWorld, aReadable, (action, world, readable) => {
        const { missing, decision } = explained(action, world, readable)
        expect(missing.length === 0).toBe(decision.decision === 'allow')
      }),
      runs,
    )
  })

  test('DE-14 leaves the decision as it is, whoever may read what', () => {
    fc.assert(
      fc.property(anAction, aWorld, aReadable, (action, world, readable) => {
        const { decision, steps } = explained(action, world, readable)
        const whole = explained(action, world, all)
        expect(decision).toEqual(whole.decision)
        expect(steps.map(({ step, outcome }) => [step, outcome])).toEqual(whole.steps.map(({ step, outcome }) => [step, outcome]))
      }),
      runs,
    )
  })
})

/** Custom roles have names that stand nowhere else; what built-in roles give is no secret, who holds them is. */
const rolesNamed = (world: World) => ({
  tenant: world.tenant_roles.filter(({ is_builtin }) => !is_builtin),
  project: world.project_roles.filter(({ is_builtin }) => !is_builtin),
})

describe('what the caller may not read', () => {
  test('DE-14 no role of a scope is told in words or in the list where its roles are not the caller’s to read', () => {
    let hidden = 0
    fc.assert(
      fc.property(anAction, aWorld, aReadable, (action, world, readable) => {
        const { steps, missing, roles } = explained(action, world, readable)
        const texts = JSON.stringify([steps, missing])
        const named = rolesNamed(world)
        for (const scope of ['tenant', 'project'] as const)
          if (!readable[scope])
            for (const { name } of named[scope]) {
              const other = scope === 'tenant' ? 'project' : 'tenant'
              if (named[other].some((role) => role.name === name)) continue
              hidden += 1
              expect(texts).not.toContain(name)
            }
        expect(roles.filter(({ scope }) => !readable[scope])).toEqual([])
      }),
      runs,
    )
    expect(hidden).toBeGreaterThan(300)
  })

  test('DE-14 a stranger to all scopes hears the same of whoever is bound to whatever, if the answer is the same', () => {
    fc.assert(
      fc.property(anAction, aWorld, aWorld, (action, world, other) => {
        const swapped = { ...world, tenant_roles: other.tenant_roles, project_roles: other.project_roles }
        const [one, two] = [explained(action, world, none), explained(action, swapped, none)]
        if (JSON.stringify(one.decision) !== JSON.stringify(two.decision)) return
        expect(one.roles).toEqual([])
        // By which of his standings he belongs is not told either, but that a role gives it, or that belonging does, is.
        const withoutGift = ({ steps }: typeof one) => steps.filter(({ step }) => step !== 'permission')
        expect(withoutGift(one)).toEqual(withoutGift(two))
        expect(one.missing).toEqual(two.missing)
      }),
      runs,
    )
  })

  test('DE-14 where they are the caller’s to read, the role that gives it is named with its version', () => {
    const viewer = {
      binding_id: 'b',
      role_id: 'r',
      role_version_id: 'v',
      name: 'night-shift',
      version: 3,
      is_builtin: false,
      state: 'active',
    }
    const world: World = {
      actor: { id: 'a', type: 'user', is_disabled: false },
      platform_roles: [],
      tenant_roles: [],
      project_roles: [{ ...viewer, grace_until: null, expires_at: null, permissions: ['storage.read'] }],
      is_tenant_member: true,
      is_project_member: true,
      is_suspended: false,
      is_archived: false,
      place: 'project',
      is_self: false,
      token: null,
      elevations: [],
      constraints: [],
      attributes: {},
    }
    const because = (readable: Readable) =>
      explained('storage.read', world, readable).steps.find(({ step }) => step === 'permission')?.because
    expect(because(all)).toBe('A role at the project gives storage.read: night-shift (version 3, active).')
    expect(because({ ...all, project: false })).toBe('A role at the project gives storage.read.')
    expect(explained('storage.read', world, all).roles).toMatchObject([
      { role_name: 'night-shift', version: 3, gives: true, scope: 'project' },
    ])

    const disabled = { ...world, project_roles: world.project_roles.map((role) => ({ ...role, state: 'disabled' })) }
    const told = (readable: Readable) => explained('storage.read', disabled, readable).steps.at(-1)?.because
    expect(told(all)).toBe('Only a disabled role gives storage.read: night-shift (version 3, disabled).')
    expect(told(none)).not.toContain('night-shift')
  })
})

test('DE-14 what is missing names every built-in role that would give it, and a custom one where one may', () => {
  const nobody: World = {
    actor: { id: 'a', type: 'user', is_disabled: false },
    platform_roles: [],
    tenant_roles: [],
    project_roles: [],
    is_tenant_member: true,
    is_project_member: false,
    is_suspended: false,
    is_archived: false,
    place: 'tenant',
    is_self: false,
    token: null,
    elevations: [],
    constraints: [],
    attributes: {},
  }
  expect(explained('tenant.invoice.read', nobody, none).missing).toEqual([
    'A role at the organization that gives tenant.invoice.read: tenant_billing_manager, tenant_billing_viewer, a custom role with this key.',
  ])
  expect(explained('tenant.role.define', nobody, none).missing).toEqual([
    'A role at the organization that gives tenant.role.define: tenant_owner.',
  ])
  expect(actions['platform.admin'].override_eligible).toBe(true)
  expect(explained('platform.admin', nobody, none).missing).toEqual([
    'A role at the platform that gives platform.admin: platform_superadmin by override.',
  ])
})

describe('an exemption is named as a way round a rule exactly where one of a narrower scope would count', () => {
  const role = (name: string) => ({
    ...{ binding_id: 'b', role_id: 'r', role_version_id: 'v', name, version: 1, is_builtin: true, state: 'active' },
    ...{ grace_until: null, expires_at: null, permissions: [] },
  })
  const rule = { constraint_id: 'c', version: 1, key: 'k', condition: {}, time_zone: 'UTC', state: 'active' }
  const [exempt, locked] = ['; or a narrower scope must exempt from it', '; it is locked, so no narrower scope can exempt from it']
  type Row = [action: Action, place: World['place'], scope: 'global' | 'tenant' | 'project', is_locked: boolean, told: string]
  const rows: Row[] = [
    ['tenant.update', 'tenant', 'global', false, exempt],
    ['tenant.update', 'tenant', 'global', true, locked],
    ['tenant.update', 'tenant', 'tenant', false, ''],
    ['tenant.update', 'project', 'tenant', false, exempt],
    ['storage.write', 'project', 'global', false, exempt],
    ['storage.write', 'project', 'tenant', false, exempt],
    ['storage.write', 'project', 'tenant', true, locked],
    ['storage.write', 'project', 'project', false, ''],
    ['storage.write', 'project', 'project', true, ''],
    ['tenant.policy.write', 'project', 'global', false, ''],
    ['platform.ops.read', 'platform', 'global', false, ''],
    ['platform.ops.read', 'tenant', 'global', false, ''],
  ]
  test.for(rows)('DE-14 %s in a %s, by a rule of the %s, locked: %s', ([action, place, scope_type, is_locked, told]) => {
    const constraints = [{ ...rule, actions: [action], scope_type, is_locked }]
    const world: World = {
      actor: { id: 'a', type: 'user', is_disabled: false },
      ...{ platform_roles: [role('platform_ops')], tenant_roles: [role('tenant_owner')], project_roles: [role('project_owner')] },
      ...{ is_tenant_member: true, is_project_member: true, is_suspended: false, is_archived: false, is_self: false },
      ...{ place, token: null, elevations: [], constraints, attributes: {} },
    }
    const { missing, decision } = explained(action, world, all)
    expect(decision).toMatchObject({ policy_source: 'policy_values', applied_scope: scope_type })
    const whose = { global: 'the platform', tenant: 'the organization', project: 'the project' }[scope_type]
    expect(missing).toEqual([`The request must not meet the condition of k, or ${whose} must change that constraint${told}.`])
    // What is told is so.
    const narrower = (['tenant', 'project'] as const).slice(scope_type === 'global' ? 0 : 1, { platform: 0, tenant: 1, project: 2 }[place])
    const isExempt = (scope: 'tenant' | 'project') => {
      const exemption = { ...rule, actions: [action], scope_type: scope, is_locked: false, state: 'disabled' }
      return explained(action, { ...world, constraints: [...constraints, exemption] }, all).decision.decision === 'allow'
    }
    expect(scope_type !== 'project' && narrower.some(isExempt)).toBe(told === exempt)
  })
})
