import { describe, expect, expectTypeOf, test } from 'vitest'
import type { Statement } from '#ground/db/statement.ts'
import { Problem } from '#ground/kernel/problem.ts'
import { type Actor, newTrail, type Work } from '#ground/work/work.ts'
import type { Action } from './actions.ts'
import { type Authority, type Authorized, authorityOf, authorize, authorizeAgain, authorizedAmong, systemProof } from './authorize.ts'
import { type Kind, platformKind, selfKind, thePlatform } from './kind.ts'
import { grantSeverity, requireNoSelfGrant } from './override-limits.ts'
import type { StandingRow } from './standing-queries.ts'
import { boundRole } from './testing/bound-role.ts'

// The engine's answers have tests of their own; here it is what a verb makes of them.

interface Row {
  id: string
  tenant_id: string | null
}
const kind: Kind<Row> = {
  type: 'organization',
  missing: 'organization_not_found',
  placeOf: ({ id, tenant_id }) => ({ id, tenant_id, project_id: null, relations: [] }),
}
/** The same, lying in a runtime and described by more than the connection. */
const described: Kind<Row> = {
  ...kind,
  placeOf: (row, actor) => ({ ...kind.placeOf(row, actor), shared_runtime_id: 'runtime-7', attributes: { region: 'eu' } }),
}
const aurora: Row = { id: 'aurora', tenant_id: 'aurora' }
const borealis: Row = { id: 'borealis', tenant_id: 'borealis' }

interface Person {
  platform?: string
  /** Where platform roles come from. */
  source?: string
  /** The role in each tenant that he belongs to. */
  tenants?: Readonly<Record<string, string>>
  is_disabled?: boolean
}
const standingIn = (
  actor_id: string,
  tenant_id: string | null,
  { platform, source = 'bindings', tenants = {}, is_disabled = false }: Person,
): StandingRow => {
  const held = tenant_id === null ? undefined : tenants[tenant_id]
  return {
    ...{ actor_id, is_disabled, platform_bindings: platform ? [boundRole(platform)] : [], tenant_state: tenant_id && 'active' },
    ...{ role_by_column: null, was_ever_bound: true, platform_role_source: source },
    ...{ is_tenant_member: held !== undefined, tenant_roles: held ? [boundRole(held)] : [] },
    ...{ project_tenant_id: null, project_state: null, is_project_member: false, project_roles: [] },
  }
}

/** The work of a person of whom the tables say this. */
const workOf = (person: Person, actor: Actor = { type: 'user', id: 'alice' }): Work => {
  const many = async ({ text, values, parse }: Statement<unknown>) => {
    if (text.includes('policy_constraints')) return []
    const [ids, tenants] = values.slice(-3) as [string[], (string | null)[]]
    return tenants.map((tenant_id, index) => parse({ n: index + 1, ...standingIn(ids[index]!, tenant_id, person) }))
  }
  const now = '2026-11-16T12:00:00.000Z'
  return { actor, correlation_id: 'test', source_ip: null, now, tx: { many, now }, trail: newTrail() } as unknown as Work
}
const member: Person = { tenants: { aurora: 'tenant_member' } }
const viewer: Person = { tenants: { aurora: 'tenant_viewer' } }
const superadmin: Person = { platform: 'platform_superadmin' }

/** What was refused, and why; or that nothing was. */
const said = async (asking: Promise<unknown>): Promise<string> => {
  try {
    await asking
    return 'allowed'
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    const { reason_code } = (error.details ?? {}) as { reason_code?: string }
    return reason_code ? `${error.code} ${reason_code}` : error.code
  }
}
const asked = (person: Person, action: Action | Action[], row: Row | undefined = aurora) =>
  said(authorize(workOf(person), action, kind, row))
/** A default stands for undefined, so that what is absent is asked about apart. */
const askedOfNothing = (person: Person, action: Action) => said(authorize(workOf(person), action, kind, undefined))

describe('who may', () => {
  test('DE-04 gets the row in a new object, and with it how the allow came about', async () => {
    const work = workOf(member)
    const proof = await authorize(work, 'tenant.read', kind, aurora)
    expect(proof).toEqual(aurora)
    expect(proof).not.toBe(aurora)
    const again = await authorize(work, 'tenant.user.read', kind, aurora)
    expect(authorityOf(proof)).toMatchObject({ action: 'tenant.read', is_override: false, may_override: false })
    expect(authorityOf(again)).toMatchObject({ action: 'tenant.user.read' })
    expect(authorityOf(proof).facts).toMatchObject({ actor: { id: 'alice' }, resource: { type: 'organization', tenant_id: 'aurora' } })
  })

  test('DE-06 override is what allowed it only where the person might not otherwise', async () => {
    const both = { ...superadmin, ...viewer }
    const authority = async (person: Person, action: Action) => {
      const { is_override, may_override } = authorityOf(await authorize(workOf(person), action, kind, aurora))
      return [is_override, may_override]
    }
    expect(await authority(superadmin, 'tenant.read')).toEqual([true, true])
    expect(await authority(both, 'tenant.read')).toEqual([false, true])
    expect(await authority(both, 'tenant.update')).toEqual([true, true])
    expect(await authority({ tenants: { aurora: 'tenant_billing_viewer' } }, 'tenant.billing.read')).toEqual([false, false])
  })

  test('DE-04 of several actions the first that is allowed counts; a refusal has the reason of the first', async () => {
    const proof = await authorize(workOf(viewer), ['tenant.update', 'tenant.read', 'tenant.project.read_own'], kind, aurora)
    expect(authorityOf(proof).action).toBe('tenant.read')
    expect(await asked(viewer, ['tenant.update', 'storage.read'])).toBe('insufficient_permissions permission_denied')
    expect(await asked(viewer, ['storage.read', 'tenant.update'])).toBe('insufficient_permissions membership_missing')
  })
})

describe('who may not', () => {
  test.each([
    ['a member is told why', viewer, 'tenant.update', 'insufficient_permissions permission_denied'],
    ['a stranger is told that there is nothing', {}, 'tenant.read', 'organization_not_found'],
    ['a stranger who is disabled is told that', { is_disabled: true }, 'tenant.read', 'insufficient_permissions actor_disabled'],
    ['one of the platform is told why', { platform: 'platform_ops' }, 'tenant.read', 'insufficient_permissions membership_missing'],
    ['what the platform owns is no secret', {}, 'platform.node.read', 'insufficient_permissions permission_denied'],
  ] as const)('AU-05 %s', async (_name, person, action, expected) => {
    expect(await asked(person, action)).toBe(expected)
  })

  test('AU-05 one alternative that is a tenant’s keeps the secret', async () => {
    expect(await asked({}, ['platform.node.read', 'tenant.read'])).toBe('organization_not_found')
    expect(await asked({}, ['platform.node.read', 'platform.ops.read'])).toBe('insufficient_permissions permission_denied')
  })
})

describe('what is absent', () => {
  test.each([
    ['to a stranger', {}, 'tenant.read', 'organization_not_found'],
    ['to a member, whose tenant it might be in', member, 'tenant.read', 'organization_not_found'],
    ['to one of the platform', { platform: 'platform_ops' }, 'tenant.read', 'organization_not_found'],
    ['to one who may everything', superadmin, 'tenant.read', 'organization_not_found'],
    ['to one who is disabled', { is_disabled: true }, 'tenant.read', 'insufficient_permissions actor_disabled'],
    ['to one who may not ask the platform', {}, 'platform.node.read', 'insufficient_permissions permission_denied'],
    ['to one who may ask the platform', { platform: 'platform_ops' }, 'platform.node.read', 'organization_not_found'],
  ] as const)('AU-05 %s', async (_name, person, action, expected) => {
    expect(await askedOfNothing(person, action)).toBe(expected)
  })

  test('AU-05 it is judged as lying in no tenant', async () => {
    const work = workOf(member)
    await said(authorize(work, 'tenant.read', kind, undefined))
    expect(work.trail.asked).toMatchObject([{ resource_id: null, tenant_id: null, project_id: null, relations: [], is_member: false }])
  })
})

describe('the trail', () => {
  test('AU-01 each question leaves what was asked and how it was answered, a refusal too', async () => {
    const work = workOf({ ...viewer, platform: 'platform_ops' })
    await authorize(work, 'tenant.read', kind, aurora)
    await said(authorize(work, ['tenant.update', 'tenant.user.invite'], kind, aurora))
    await said(authorize(work, 'tenant.read', kind, borealis))
    const here = { resource_type: 'organization', project_id: null, relations: [], missing: 'organization_not_found' }
    const inAurora = { ...here, resource_id: 'aurora', tenant_id: 'aurora', is_member: true }
    expect(work.trail.asked.map(({ decision_id: _id, ...rest }) => rest)).toEqual([
      { ...inAurora, actions: ['tenant.read'], allowed: true, reason_code: null },
      { ...inAurora, actions: ['tenant.update', 'tenant.user.invite'], allowed: false, reason_code: 'permission_denied' },
      {
        ...{ ...here, resource_id: 'borealis', tenant_id: 'borealis', is_member: false },
        ...{ actions: ['tenant.read'], allowed: false, reason_code: 'membership_missing' },
      },
    ])
    expect(new Set(work.trail.asked.map(({ decision_id }) => decision_id)).size).toBe(3)
    expect(work.trail.asked[0]!.decision_id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/)
    expect(work.trail.platform_role).toBe('platform_ops')
  })

  test('AU-01 MI-03 it says which runtime and which attributes were asked about, where there are any', async () => {
    const work = workOf(member)
    await authorize(work, 'tenant.read', described, aurora)
    expect(work.trail.asked).toMatchObject([{ resource_id: 'aurora', shared_runtime_id: 'runtime-7', attributes: { region: 'eu' } }])
  })

  test.each<[Action[], boolean]>([
    [['platform.node.read'], true],
    [['tenant.read', 'platform.node.read'], true],
    [['me.read', 'platform.node.read'], true],
    [['tenant.read'], false],
    [['me.read'], false],
    [['me.read', 'tenant.user.leave'], false],
  ])('RP-25 asked for %s, it notes that the sources of platform roles disagree: %s', async (actions, isNoted) => {
    const work = workOf({ platform: 'platform_ops', source: 'no such source' })
    await said(authorize(work, actions, kind, aurora))
    const mismatch = { source: null, users_role: 'user', bound_roles: ['platform_ops'] }
    expect(work.trail.platform_mismatch).toEqual(isNoted ? mismatch : null)
  })
})

describe('asking again', () => {
  const questions = async (work: Work) => {
    await authorize(work, ['tenant.update', 'tenant.read'], kind, aurora)
    await authorize(work, 'me.read', selfKind, { id: 'alice' })
    await authorize(work, 'tenant.read', described, aurora)
    return work.trail.asked
  }

  test('DE-19 the same questions are asked of the same places, and pass while they are allowed', async () => {
    const earlier = await questions(workOf(viewer))
    const work = workOf(viewer)
    await authorizeAgain(work, earlier)
    const spelled = work.trail.asked.map((each) => ({ ...each, decision_id: '' }))
    expect(spelled).toEqual(earlier.map((each) => ({ ...each, decision_id: '' })))
    expect(spelled.map(({ relations }) => relations)).toEqual([[], ['self'], []])
  })

  test('DE-19 what has been taken since is refused, as it would be now', async () => {
    const earlier = await questions(workOf(viewer))
    expect(await said(authorizeAgain(workOf({}), earlier))).toBe('organization_not_found')
    expect(await said(authorizeAgain(workOf({ tenants: { aurora: 'tenant_billing_viewer' } }), earlier))).toBe(
      'insufficient_permissions permission_denied',
    )
  })

  test('DE-05 one who has been disabled since is told so, though nothing had been asked', async () => {
    expect(await said(authorizeAgain(workOf({ is_disabled: true }), []))).toBe('insufficient_permissions actor_disabled')
    expect(await said(authorizeAgain(workOf({}), []))).toBe('allowed')
  })

  test('DE-08 an action that is none any more is passed over', async () => {
    const [first] = await questions(workOf(viewer))
    const work = workOf(viewer)
    await authorizeAgain(work, [{ ...first!, actions: ['tenant.abolish', 'tenant.read'] }])
    expect(work.trail.asked).toMatchObject([{ actions: ['tenant.read'], allowed: true }])
  })

  test('DE-08 DE-19 where none of the actions is one any more nobody may do it', async () => {
    const [first] = await questions(workOf(viewer))
    const refused = 'insufficient_permissions permission_denied'
    for (const person of [viewer, superadmin])
      expect(await said(authorizeAgain(workOf(person), [{ ...first!, actions: ['tenant.abolish'] }]))).toBe(refused)
  })
})

test('AU-05 of a list one sees what one might read one by one', async () => {
  const work = workOf({ tenants: { borealis: 'tenant_viewer' } })
  expect(await authorizedAmong(work, 'tenant.read', kind, [aurora, borealis, aurora])).toEqual([borealis])
  expect(await authorizedAmong(work, 'tenant.update', kind, [aurora, borealis])).toEqual([])
  expect(work.trail.asked).toEqual([])
})

test('AU-01 the product’s own doings hold a proof of their own', () => {
  const proof = systemProof('founding', 'tenant.update', aurora)
  expect(proof).toEqual(aurora)
  expect(proof).not.toBe(aurora)
  expect(() => authorityOf(proof)).toThrow('no authority')
})

test('AU-01 a copy of a proof is none, nor does one action’s speak for another’s', async () => {
  const proof = await authorize(workOf(member), 'tenant.read', kind, aurora)
  const copy = { ...proof, ...borealis }
  // @ts-expect-error: what was copied proves nothing
  expect(() => authorityOf(copy)).toThrow('no authority')
  expectTypeOf(proof).toExtend<Authorized<'tenant.read' | 'tenant.update', Row>>()
  expectTypeOf(proof).not.toExtend<Authorized<'tenant.update', Row>>()
  expectTypeOf(copy).not.toExtend<Authorized<'tenant.read', Row>>()
})

describe('the limits of override', () => {
  const authorityFor = async (person: Person): Promise<Authority> =>
    authorityOf(await authorize(workOf(person), 'platform.node.read', platformKind, thePlatform))
  const gives = (person: Person, grantee: string, actor?: Actor) =>
    said(authorityFor(person).then((authority) => requireNoSelfGrant(workOf(person, actor), authority, grantee)))

  test('RP-29 it gives nothing to the person who uses it', async () => {
    const refused = 'insufficient_permissions permission_denied'
    expect(await gives(superadmin, 'alice')).toBe(refused)
    expect(await gives(superadmin, 'arne')).toBe('allowed')
    expect(await gives({ platform: 'platform_ops' }, 'alice')).toBe('allowed')
    expect(await gives(superadmin, 'alice', { type: 'platform_operator', id: 'alice', credential_id: 'key' })).toBe('allowed')
    await expect(async () => requireNoSelfGrant(workOf(superadmin), await authorityFor(superadmin), 'alice')).rejects.toMatchObject({
      details: { detail: 'override_self_grant' },
    })
  })

  test('RP-29 AU-01 what it gave to others stands out in the log', async () => {
    expect(grantSeverity(await authorityFor(superadmin))).toBe('high')
    expect(grantSeverity(await authorityFor({ platform: 'platform_ops' }))).toBe('info')
  })
})
