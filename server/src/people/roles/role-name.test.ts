import { expect, test } from 'vitest'
import { builtinRoleNames } from '#rails/authz/catalogue.ts'
import { imitatedBy, skeletonOf } from './role-name.ts'

test.for([
  ['separators', ['tenant-owner', 'tenantowner', 'tenant__owner', 'tenant.owner', 't-e-n-a-n-t-owner', 'tenant owner', '_tenant_owner_']],
  [
    'digits for letters',
    ['tenant_0wner', 't3nant_owner', 'tenant_own3r', '7enan7_owner', 'project_adm1n', 'project_v1ewer', 'tenant_bi11ing_viewer'],
  ],
  ['case', ['Tenant_Owner', 'TENANT_OWNER']],
  ['one stroke for another', ['tenant_bliling_viewer', 'tenant_bi|ling_viewer', 'tenant_biiiing_manager']],
  ['letters that join', ['project_rnernber', 'tenant_ovvner', 'tenant_aclmin', 'tenant_adnnin', 'project_ouuner']],
  ['Cyrillic', ['tеnаnt_оwnеr', 'рrојесt_оwnеr']],
  ['Greek', ['tεnαnt_οwnεr']],
  ['full width', ['ｔｅｎａｎｔ＿ｏｗｎｅｒ']],
  ['mathematical letters', ['𝐭𝐞𝐧𝐚𝐧𝐭_𝐨𝐰𝐧𝐞𝐫', '𝓽𝓮𝓷𝓪𝓷𝓽_𝓸𝔀𝓷𝓮𝓻']],
  ['marks', ['ténänt_ówner', 'tenant_owne\u0301r']],
  ['what cannot be seen', ['tenant\u200b_owner', 'tenant\u00ad_owner', 'tenant\u2060owner']],
  ['another word for tenant', ['org_owner', 'organization-owner', 'organisation_admin', 'orgs-member', 'tenants_viewer']],
  ['another tier', ['project-owner', 'platform-ops', 'platform_user']],
] as const)('RP-34 role name: %s → is taken for a built-in role', ([, names]) => {
  for (const name of names) expect([name, imitatedBy(name)]).toEqual([name, expect.stringMatching(/^the built-in role /)])
})

test('RP-34 role name: a word for all power → is refused wherever it stands', () => {
  for (const name of [
    'superadmin',
    'superaclmin',
    'super-admin',
    'sup3radmin',
    'our_super_admin',
    'superuser',
    'platform_admin',
    'sysadmin',
    'root',
    'admin',
    '4dmin',
    'owner',
  ])
    expect([name, imitatedBy(name)]).toEqual([name, 'a role of the platform'])
})

test('RP-34 role name: a name of its own → is allowed', () => {
  const names = [
    'auditor',
    'billing-clerk',
    'platform-engineer',
    'ml-researcher',
    'project-lead',
    'owner-of-datasets',
    'storage_admin',
    'tenant-auditor',
    'viewer2',
    'night-shift',
    'organizer',
    'rooted-tree',
  ]
  for (const name of names) expect([name, imitatedBy(name)]).toEqual([name, undefined])
})

test('RP-34 skeleton: every built-in role → has one of its own, and is found by its own name', () => {
  expect(new Set(builtinRoleNames.map(skeletonOf)).size).toBe(builtinRoleNames.length)
  for (const name of builtinRoleNames) expect(imitatedBy(name)).toBe(`the built-in role ${name}`)
})
