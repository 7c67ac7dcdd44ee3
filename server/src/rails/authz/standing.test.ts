import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { aRoleOf } from '../../../../test/laws/random-world.ts'
import { actions, overridePermission } from './actions.ts'
import { builtinRoleNames, permissionsOf, tierOf } from './catalogue.ts'
import { heldAt, isActive, isLive, permissionsIn, standingOf, standingOfMachine } from './standing.ts'
import type { BoundRole, StandingRow } from './standing-queries.ts'
import { boundRole as role } from './testing/bound-role.ts'

const now = '2026-11-16T12:00:00.000Z'
const custom = (permissions: string[], said: Partial<BoundRole> = {}) => role('night-shift', { is_builtin: false, permissions, ...said })
const row = (roles: Partial<Pick<StandingRow, 'platform_bindings' | 'tenant_roles' | 'project_roles'>>): StandingRow => ({
  actor_id: 'u',
  is_disabled: false,
  ...{ platform_bindings: [], role_by_column: null, was_ever_bound: true, platform_role_source: 'bindings' },
  tenant_state: 'active',
  is_tenant_member: true,
  tenant_roles: [],
  project_tenant_id: 't',
  project_state: 'active',
  is_project_member: true,
  project_roles: [],
  ...roles,
})
const sorted = (keys: Iterable<string>) => [...keys].sort()

describe('what one role comes to', () => {
  test('RP-04 a built-in role gives what the catalogue says at its own tier, and nothing at another', () => {
    for (const name of builtinRoleNames)
      for (const tier of ['platform', 'tenant', 'project'] as const)
        expect(permissionsIn(tier, role(name))).toEqual(tier === tierOf(name) ? permissionsOf(name) : new Set())
  })

  test('RP-04 what the table says of a built-in role is not heard, nor is a name that the catalogue does not know', () => {
    expect(permissionsIn('tenant', role('tenant_viewer', { permissions: ['tenant.update'] }))).toEqual(permissionsOf('tenant_viewer'))
    expect(permissionsIn('tenant', role('tenant_emperor', { permissions: ['tenant.update'] })).size).toBe(0)
    expect(permissionsIn('tenant', role('constructor')).size).toBe(0)
  })

  test('RP-10 E8 a custom role gives what may be given at its tier, and nothing else that was forced into it', () => {
    const forced = [
      'tenant.read',
      'storage.read',
      'platform.admin',
      overridePermission,
      'tenant.role.define',
      'tenant.user.leave',
      '__proto__',
    ]
    expect(sorted(permissionsIn('tenant', custom(forced)))).toEqual(['tenant.read'])
    expect(sorted(permissionsIn('project', custom(forced)))).toEqual(['storage.read'])
    expect(permissionsIn('platform', custom(Object.keys(actions))).size).toBe(0)
  })

  test('RP-05 a custom role that is called like a built-in one is a custom role', () => {
    expect(sorted(permissionsIn('tenant', role('tenant_owner', { is_builtin: false, permissions: ['tenant.read'] })))).toEqual([
      'tenant.read',
    ])
  })
})

describe('what roles come to at an instant', () => {
  test('DE-04 active roles give their union; disabled ones are kept apart', () => {
    const { tenant } = heldAt(
      standingOf(
        row({ tenant_roles: [role('tenant_viewer'), role('tenant_billing_viewer'), role('tenant_admin', { state: 'disabled' })] }),
      ),
      now,
    )
    expect(sorted(tenant.allowed)).toEqual(['tenant.billing.read', 'tenant.invoice.read', 'tenant.read'])
    expect(tenant.by_disabled).toEqual(permissionsOf('tenant_admin'))
  })

  test.each(['disabled', 'retired', 'ACTIVE', ''])('DE-09 the state "%s" is not active', (state) => {
    const { tenant } = heldAt(standingOf(row({ tenant_roles: [role('tenant_viewer', { state })] })), now)
    expect([tenant.allowed.size, tenant.by_disabled.size]).toEqual([0, 1])
  })

  test.each([
    [null, true],
    ['2026-11-16T12:00:00.001Z', true],
    [now, false],
    ['2026-11-16T11:59:59.999Z', false],
  ])('RP-21 a binding that ends at %s counts now: %s', (expires_at, counts) => {
    expect(isLive(role('tenant_viewer', { expires_at }), now)).toBe(counts)
    for (const tier of ['tenant', 'project'] as const) {
      const standing = standingOf(row({ [`${tier}_roles`]: [role(`${tier}_viewer`, { expires_at })] }))
      expect(heldAt(standing, now)[tier].allowed.size > 0).toBe(counts)
    }
  })

  const [before, after] = ['2026-11-16T11:59:59.999Z', '2026-11-16T12:00:00.001Z']
  test.each([
    ['active', null, [true, true, true]],
    ['active', now, [true, true, true]],
    ['disabled', null, [false, false, false]],
    ['disabled', now, [true, false, false]],
    ['disabled', after, [true, true, false]],
    ['disabled', '2027', [true, true, true]],
    ['retired', '2027', [false, false, false]],
  ])('DE-09 a role that is %s with a grace until %s counts just before, now and just after: %s', (state, grace_until, counts) => {
    const viewer = role('tenant_viewer', { state, grace_until })
    const ops = role('platform_ops', { state, grace_until })
    const standing = standingOf(row({ tenant_roles: [viewer], platform_bindings: [ops] }))
    const at = [before, now, after]
    expect(at.map((each) => isActive(viewer, each))).toEqual(counts)
    expect(at.map((each) => heldAt(standing, each).tenant.allowed.size === 1)).toEqual(counts)
    expect(at.map((each) => heldAt(standing, each).tenant.by_disabled.size === 0)).toEqual(counts)
    expect(at.map((each) => heldAt(standing, each).platform_role === 'platform_ops')).toEqual(counts)
  })

  test('DE-09 a disabled role past its end is no reason any more', () => {
    const ended = role('tenant_viewer', { state: 'disabled', expires_at: now })
    expect(heldAt(standingOf(row({ tenant_roles: [ended] })), now).tenant.by_disabled.size).toBe(0)
  })

  test('DE-19 what was read once is judged anew at each instant', () => {
    const standing = standingOf(row({ tenant_roles: [role('tenant_viewer', { expires_at: now }), role('tenant_billing_viewer')] }))
    expect(heldAt(standing, '2026-11-16T11:59:59.999Z').tenant.allowed.has('tenant.read')).toBe(true)
    expect(heldAt(standing, now).tenant.allowed.has('tenant.read')).toBe(false)
    expect(heldAt(standing, '2026-11-16T11:59:59.999Z').tenant.allowed.has('tenant.read')).toBe(true)
    expect(heldAt(standing, now).tenant.allowed.has('tenant.invoice.read')).toBe(true)
  })

  test('RP-01 each tier has what its own roles give', () => {
    const roles = {
      platform_bindings: [role('platform_ops')],
      tenant_roles: [role('tenant_viewer')],
      project_roles: [role('project_viewer')],
    }
    const { platform, tenant, project } = heldAt(standingOf(row(roles)), now)
    expect(platform.allowed).toEqual(permissionsOf('platform_ops'))
    // One role alone is not copied for everybody who has it.
    expect(tenant.allowed).toBe(permissionsOf('tenant_viewer'))
    expect(project.allowed).toBe(permissionsOf('project_viewer'))
  })

  test('DE-13 where nothing ends it is said once for all time; where something does, it is not', () => {
    const lasting = standingOf(row({ tenant_roles: [role('tenant_viewer')], project_roles: [custom(['storage.read'])] }))
    expect(heldAt(lasting, '2026-11-16T11:59:59.999Z')).toBe(heldAt(lasting, now))
    for (const tier of ['tenant', 'project'] as const) {
      const ending = standingOf(
        row({ tenant_roles: [], project_roles: [], [`${tier}_roles`]: [role(`${tier}_viewer`, { expires_at: now })] }),
      )
      expect(heldAt(ending, now)).not.toBe(heldAt(ending, now))
    }
  })

  test('DE-13 people who stand alike share what that comes to; nobody shares it with one who stands otherwise', () => {
    const alike = row({ tenant_roles: [role('tenant_viewer')], project_roles: [role('project_viewer')] })
    const held = heldAt(standingOf(alike), now)
    expect(heldAt(standingOf({ ...alike, actor_id: 'somebody else' }), now)).toBe(held)
    const otherwise: Partial<StandingRow>[] = [
      { tenant_state: 'suspended' },
      { project_state: 'archived' },
      { is_tenant_member: false },
      { is_project_member: false },
      { platform_bindings: [role('platform_ops')] },
      { tenant_roles: [role('tenant_viewer', { state: 'disabled' })] },
      { tenant_roles: [role('tenant_viewer', { is_builtin: false, permissions: ['tenant.read'] })] },
      { tenant_roles: [role('tenant_member')] },
      { project_roles: [] },
      { tenant_roles: [], project_roles: [role('tenant_viewer'), role('project_viewer')] },
    ]
    for (const said of otherwise) expect([said, heldAt(standingOf({ ...alike, ...said }), now) === held]).toEqual([said, false])
  })

  test('DE-13 C4 for anybody, and whoever stands nearly as he does: what is shared is what it would come to for him alone', () => {
    const said = { name: fc.constantFrom('tenant_viewer', 'project_viewer', 'custom'), is_builtin: fc.boolean() }
    const anyRole = fc.record({
      ...said,
      state: fc.constantFrom('active', 'disabled'),
      permissions: fc.subarray(['tenant.read', 'storage.read']),
    })
    const someRoles = fc.array(
      anyRole.map(({ name, ...rest }) => role(name, rest)),
      { maxLength: 2 },
    )
    const anybody = fc.record({
      platform_bindings: fc.array(fc.constantFrom(role('platform_ops'), role('platform_superadmin')), { maxLength: 2 }),
      tenant_state: fc.constantFrom(null, 'active', 'suspended'),
      is_tenant_member: fc.boolean(),
      tenant_roles: someRoles,
      project_state: fc.constantFrom(null, 'active', 'archived'),
      is_project_member: fc.boolean(),
      project_roles: someRoles,
    })
    const differences: ((each: BoundRole) => BoundRole)[] = [
      (each) => ({ ...each, name: each.name === 'platform_ops' ? 'platform_superadmin' : 'tenant_member' }),
      (each) => ({ ...each, is_builtin: !each.is_builtin }),
      (each) => ({ ...each, state: each.state === 'active' ? 'disabled' : 'active' }),
      (each) => ({ ...each, permissions: each.permissions.length > 0 ? [] : ['tenant.read', 'storage.read'] }),
    ]
    // Over, so that it gives nothing; but whoever has something that ends shares with nobody.
    const over = role('project_owner', { expires_at: now })
    fc.assert(
      fc.property(anybody, (drawn) => {
        const near = (['platform_bindings', 'tenant_roles', 'project_roles'] as const).flatMap((where) =>
          differences.map((changed) => ({ ...drawn, [where]: drawn[where].map(changed) })),
        )
        for (const each of [drawn, ...near]) {
          const alone = standingOf(row({ ...each, project_roles: [...each.project_roles, over] }))
          expect(heldAt(standingOf(row(each)), now)).toEqual(heldAt(alone, now))
        }
      }),
      { numRuns: 300 },
    )
  })

  test('DE-13 for any roles: a key is allowed iff one of the roles that count gives it', () => {
    fc.assert(
      fc.property(fc.array(aRoleOf('project'), { maxLength: 5 }), (project_roles) => {
        const { allowed, by_disabled } = heldAt(standingOf(row({ project_roles })), now).project
        const counting = project_roles.filter((each) => each.expires_at === null || each.expires_at > now)
        const given = (isActive: boolean) =>
          sorted(
            new Set(
              counting.filter(({ state }) => (state === 'active') === isActive).flatMap((each) => [...permissionsIn('project', each)]),
            ),
          )
        expect(sorted(allowed)).toEqual(given(true))
        expect(sorted(by_disabled)).toEqual(given(false))
      }),
    )
  })
})

describe('how a service account stands', () => {
  const home = { tenant_id: 't', project_id: 'p', actions: null }
  const machine = (roles: readonly BoundRole[], said: Partial<StandingRow> = {}) =>
    standingOfMachine({ ...row({}), is_tenant_member: false, project_roles: [...roles], ...said }, home)
  const isFit = (key: string) => actions[key as keyof typeof actions]?.fit_for_service_accounts

  test('RP-23 it has of its roles what is fit for service accounts, whichever role has it', () => {
    for (const name of ['project_owner', 'project_admin', 'project_member', 'project_viewer'] as const) {
      const { project } = heldAt(machine([role(name)]), now)
      expect(sorted(project.allowed)).toEqual(sorted([...permissionsOf(name)].filter(isFit)))
      for (const unfit of ['project.role.assign', 'project.role.assign_any', 'project.service_account.key.create', 'project.member.invite'])
        expect(project.allowed.has(unfit)).toBe(false)
    }
    const forced = custom([
      'storage.read',
      'project.service_account.manage',
      'project.access_grant.manage',
      'platform.admin',
      overridePermission,
    ])
    expect(sorted(heldAt(machine([forced]), now).project.allowed)).toEqual(['storage.read'])
  })

  test('RP-23 what only a disabled role would give is told, and only of what is fit', () => {
    const { project } = heldAt(machine([role('project_admin', { state: 'disabled' })]), now)
    expect(project.allowed.size).toBe(0)
    expect(sorted(project.by_disabled)).toEqual(sorted([...permissionsOf('project_admin')].filter(isFit)))
  })

  test('RP-24 it has nothing of the platform or the tenant, whatever the row says', () => {
    const forced = { platform_bindings: [role('platform_superadmin')], role_by_column: role('platform_superadmin') }
    const standing = machine([role('project_member')], { ...forced, platform_role_source: 'transition' })
    expect([standing.platform_roles, standing.platform_mismatch, heldAt(standing, now).platform_role]).toEqual([[], null, 'platform_user'])
    const { platform, tenant } = heldAt(standing, now)
    expect([platform.allowed.size, platform.by_disabled.size, tenant.allowed.size, tenant.is_member]).toEqual([0, 0, 0, false])
  })

  test('TI-25 it belongs to its own project without belonging to the tenant, and to no other', () => {
    expect(heldAt(machine([]), now).project.is_member).toBe(true)
    expect(heldAt(machine([], { is_project_member: false }), now).project.is_member).toBe(false)
    expect(machine([]).home).toBe(home)
  })

  test('RP-21 a role that ends by itself ends for it as well', () => {
    const standing = machine([role('project_viewer', { expires_at: now })])
    expect(heldAt(standing, '2026-11-16T11:59:59.999Z').project.allowed.has('storage.read')).toBe(true)
    expect(heldAt(standing, now).project.allowed.size).toBe(0)
    const both = machine([role('project_viewer'), role('project_member', { expires_at: now })])
    expect(heldAt(both, '2026-11-16T11:59:59.999Z').project.allowed.has('storage.write')).toBe(true)
    expect(heldAt(both, now).project.allowed.has('storage.write')).toBe(false)
    const lasting = machine([role('project_viewer')])
    expect(heldAt(lasting, now)).toBe(heldAt(lasting, '2026-11-16T11:59:59.999Z'))
  })

  test('TI-25 a suspended organization and an archived project are so for it too', () => {
    const { tenant, project } = heldAt(machine([], { tenant_state: 'suspended', project_state: 'archived' }), now)
    expect([tenant.is_suspended, project.is_archived]).toEqual([true, true])
  })
})
