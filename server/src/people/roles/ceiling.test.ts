import { describe, expect, test } from 'vitest'
import { Problem } from '#ground/kernel/problem.ts'
import { type BuiltinRoleName, builtinRoleNames, permissionsOf, tierOf } from '#rails/authz/catalogue.ts'
import { blank, type Facts, factsOf } from '#rails/authz/facts.ts'
import { nowhere } from '#rails/authz/kind.ts'
import { requireWithinCeiling } from './ceiling.ts'

const authorityOf = (roles: readonly BuiltinRoleName[], is_override = false) => {
  const at = (tier: string) => ({
    allowed: new Set<string>(roles.filter((name) => tierOf(name) === tier).flatMap((name) => [...permissionsOf(name)])),
    by_disabled: new Set<string>(),
  })
  const facts: Facts = {
    ...factsOf(blank('somebody', false), [], {
      actor: { type: 'user', id: 'somebody' },
      place: nowhere,
      resource_type: 'organization',
      attributes: {},
      now: '2026-01-01T00:00:00.000Z',
    }),
    platform: at('platform'),
    tenant: { ...at('tenant'), is_member: true, is_suspended: false },
    project: { ...at('project'), is_member: true, is_archived: false },
  }
  return { action: 'tenant.role.assign', is_override, may_override: is_override, facts } as const
}

const isWithinCeiling = (...asked: Parameters<typeof requireWithinCeiling>): boolean => {
  try {
    requireWithinCeiling(...asked)
    return true
  } catch {
    return false
  }
}

test('a grant that only override allows is one made by override, and one within one’s own authority is not', () => {
  const small = { ...authorityOf(['project_admin']), may_override: true }
  expect(requireWithinCeiling(small, 'project', permissionsOf('project_owner')).is_override).toBe(true)
  expect(requireWithinCeiling(small, 'project', permissionsOf('project_viewer')).is_override).toBe(false)
})

/** Who may give what, written by hand: a row is the grantor, its words are all the roles of the tier that he may give. */
const mayGive: Record<'tenant' | 'project', Partial<Record<BuiltinRoleName, BuiltinRoleName[]>>> = {
  tenant: {
    tenant_owner: ['tenant_owner', 'tenant_admin', 'tenant_member', 'tenant_billing_manager', 'tenant_billing_viewer', 'tenant_viewer'],
    tenant_admin: ['tenant_admin', 'tenant_member', 'tenant_viewer'],
    tenant_member: ['tenant_member', 'tenant_viewer'],
    tenant_billing_manager: ['tenant_billing_manager', 'tenant_billing_viewer'],
    tenant_billing_viewer: ['tenant_billing_viewer'],
    tenant_viewer: ['tenant_viewer'],
  },
  project: {
    project_owner: ['project_owner', 'project_admin', 'project_member', 'project_viewer'],
    project_admin: ['project_admin', 'project_member', 'project_viewer'],
    project_member: ['project_member', 'project_viewer'],
    project_viewer: ['project_viewer'],
  },
}

describe.each(['tenant', 'project'] as const)('the %s tier', (tier) => {
  const roles = builtinRoleNames.filter((name) => tierOf(name) === tier)
  test.each(roles)('%s gives what he holds and no more', (grantor) => {
    const given = roles.filter((role) => isWithinCeiling(authorityOf([grantor]), tier, permissionsOf(role)))
    expect(given).toEqual(mayGive[tier][grantor])
  })

  test('override gives every role of the tier', () => {
    expect(roles.filter((role) => isWithinCeiling(authorityOf([], true), tier, permissionsOf(role)))).toEqual(roles)
  })
})

test('several roles count together', () => {
  const both = authorityOf(['tenant_admin', 'tenant_billing_manager'])
  expect(isWithinCeiling(both, 'tenant', permissionsOf('tenant_billing_viewer'))).toBe(true)
  expect(isWithinCeiling(both, 'tenant', permissionsOf('tenant_owner'))).toBe(false)
})

test('the owner of a tenant has no authority over roles of a project, nor the other way round', () => {
  expect(isWithinCeiling(authorityOf(['tenant_owner']), 'project', permissionsOf('project_viewer'))).toBe(false)
  expect(isWithinCeiling(authorityOf(['project_owner']), 'tenant', permissionsOf('tenant_viewer'))).toBe(false)
})

test('a permission that a disabled role would give is not held', () => {
  const authority = authorityOf(['tenant_viewer'])
  const withDisabled = {
    ...authority,
    facts: { ...authority.facts, tenant: { ...authority.facts.tenant, by_disabled: permissionsOf('tenant_owner') } },
  }
  expect(isWithinCeiling(withDisabled, 'tenant', permissionsOf('tenant_admin'))).toBe(false)
})

test('tenant_admin cannot grant tenant_owner, and is told which rule stopped him', () => {
  const refuse = () => requireWithinCeiling(authorityOf(['tenant_admin']), 'tenant', permissionsOf('tenant_owner'))
  expect(refuse).toThrow(Problem)
  try {
    refuse()
  } catch (error) {
    expect(error).toMatchObject({
      code: 'insufficient_permissions',
      details: { reason_code: 'permission_denied', detail: 'assignment_ceiling' },
    })
  }
})
