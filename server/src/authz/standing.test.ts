import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { aRoleOf } from '../../../test/laws/random-world.ts'
import { actions, overridePermission } from './actions.ts'
import { builtinRoleNames, permissionsOf, tierOf } from './catalogue.ts'
import { isLive, permissionsIn, standingOf } from './standing.ts'
import type { BoundRole, StandingRow } from './standing-queries.ts'

const now = '2026-11-16T12:00:00.000Z'
const role = (name: string, said: Partial<BoundRole> = {}): BoundRole => ({
  binding_id: 'b',
  role_id: 'r',
  role_version_id: 'v',
  name,
  version: 1,
  is_builtin: true,
  state: 'active',
  expires_at: null,
  permissions: [],
  ...said,
})
const custom = (permissions: string[], said: Partial<BoundRole> = {}) => role('night-shift', { is_builtin: false, permissions, ...said })
const row = (roles: Partial<Pick<StandingRow, 'platform_roles' | 'tenant_roles' | 'project_roles'>>): StandingRow => ({
  user_id: 'u',
  is_disabled: false,
  platform_roles: [],
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
    const { tenant } = standingOf(
      row({ tenant_roles: [role('tenant_viewer'), role('tenant_billing_viewer'), role('tenant_admin', { state: 'disabled' })] }),
    ).grantsAt(now)
    expect(sorted(tenant.allowed)).toEqual(['tenant.billing.read', 'tenant.invoice.read', 'tenant.read'])
    expect(tenant.by_disabled).toEqual(permissionsOf('tenant_admin'))
  })

  test.each(['disabled', 'retired', 'ACTIVE', ''])('DE-09 the state "%s" is not active', (state) => {
    const { tenant } = standingOf(row({ tenant_roles: [role('tenant_viewer', { state })] })).grantsAt(now)
    expect([tenant.allowed.size, tenant.by_disabled.size]).toEqual([0, 1])
  })

  test.each([
    [null, true],
    ['2026-11-16T12:00:00.001Z', true],
    [now, false],
    ['2026-11-16T11:59:59.999Z', false],
  ])('RP-20 a binding that ends at %s counts now: %s', (expires_at, counts) => {
    expect(isLive(role('tenant_viewer', { expires_at }), now)).toBe(counts)
    for (const tier of ['tenant', 'project'] as const) {
      const standing = standingOf(row({ [`${tier}_roles`]: [role(`${tier}_viewer`, { expires_at })] }))
      expect(standing.grantsAt(now)[tier].allowed.size > 0).toBe(counts)
    }
  })

  test('DE-09 a disabled role past its end is no reason any more', () => {
    const ended = role('tenant_viewer', { state: 'disabled', expires_at: now })
    expect(standingOf(row({ tenant_roles: [ended] })).grantsAt(now).tenant.by_disabled.size).toBe(0)
  })

  test('DE-19 what was read once is judged anew at each instant', () => {
    const standing = standingOf(row({ tenant_roles: [role('tenant_viewer', { expires_at: now }), role('tenant_billing_viewer')] }))
    expect(standing.grantsAt('2026-11-16T11:59:59.999Z').tenant.allowed.has('tenant.read')).toBe(true)
    expect(standing.grantsAt(now).tenant.allowed.has('tenant.read')).toBe(false)
    expect(standing.grantsAt('2026-11-16T11:59:59.999Z').tenant.allowed.has('tenant.read')).toBe(true)
    expect(standing.grantsAt(now).tenant.allowed.has('tenant.invoice.read')).toBe(true)
  })

  test('DE-13 for any roles: a key is allowed iff one of the roles that count gives it', () => {
    fc.assert(
      fc.property(fc.array(aRoleOf('project'), { maxLength: 5 }), (project_roles) => {
        const { allowed, by_disabled } = standingOf(row({ project_roles })).grantsAt(now).project
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
