import { describe, expect, test } from 'vitest'
import { fixedId } from '#ground/kernel/ids.ts'
import {
  actions,
  classKeys,
  delegatedKeys,
  isAction,
  isFitForServiceAccounts,
  membershipKeys,
  operatorKeys,
  relationKeys,
} from './actions.ts'
import {
  builtinRoleNames,
  builtinRoles,
  highestPlatformRole,
  isBuiltinRole,
  isForServiceAccounts,
  isOwnerRole,
  ownerRoleOf,
  permissionsOf,
  roleIdOf,
  roleVersionIdOf,
  tierOf,
} from './catalogue.ts'

// Both tables were written down here by hand from the specification, not from the code: that is what makes the comparison worth something.

/** What each role has by itself in the baseline, and the role that it includes. */
const baseline: Record<string, { includes: string | null; keys: string[] }> = {
  platform_superadmin: { includes: null, keys: ['authorization.override.all'] },
  platform_ops: {
    includes: null,
    keys: ['platform.audit.read', 'platform.node.probe', 'platform.node.read', 'platform.ops.read', 'platform.ops.runbook.read'],
  },
  platform_user: { includes: null, keys: [] },
  tenant_owner: {
    includes: 'tenant_admin',
    keys: [
      'tenant.billing.read',
      'tenant.billing.write',
      'tenant.policy.write',
      'tenant.project.create',
      'tenant.role.assign',
      'tenant.user.invite',
      'tenant.user.remove',
    ],
  },
  tenant_admin: {
    includes: 'tenant_member',
    keys: [
      'tenant.billing.read',
      'tenant.project.read',
      'tenant.project.update',
      'tenant.role.assign',
      'tenant.user.invite',
      'tenant.user.remove',
    ],
  },
  tenant_member: { includes: null, keys: ['project.read', 'tenant.read', 'tenant.user.read'] },
  tenant_billing_manager: { includes: null, keys: ['tenant.billing.read', 'tenant.billing.write', 'tenant.invoice.read'] },
  tenant_billing_viewer: { includes: null, keys: ['tenant.billing.read', 'tenant.invoice.read'] },
  tenant_viewer: { includes: null, keys: ['tenant.read'] },
  project_owner: {
    includes: 'project_admin',
    keys: [
      'allocation.create',
      'allocation.read',
      'allocation.release',
      'project.role.assign',
      'storage.read',
      'storage.write',
      'terminal.connect',
    ],
  },
  project_admin: {
    includes: 'project_member',
    keys: [
      'allocation.create',
      'allocation.read',
      'allocation.release',
      'project.member.invite',
      'storage.read',
      'storage.write',
      'terminal.connect',
    ],
  },
  project_member: {
    includes: 'project_viewer',
    keys: ['allocation.create', 'allocation.read', 'allocation.release', 'storage.read', 'storage.write', 'terminal.connect'],
  },
  project_viewer: { includes: null, keys: ['allocation.read', 'storage.read'] },
}

/** tier, key, first role that has it (- nobody), open to override, fit for service accounts. */
const extension = `
  platform platform.admin                     -              y n
  platform platform.node.manage               -              y n
  platform platform.authz.evaluate            platform_ops   y n
  tenant   tenant.role.assign_any             tenant_owner   y n
  tenant   tenant.role.define                 tenant_owner   y n
  tenant   tenant.role.read                   tenant_member  y n
  tenant   tenant.project.appoint_owner       tenant_owner   y n
  tenant   tenant.update                      tenant_owner   y n
  tenant   tenant.policy.read                 tenant_admin   y n
  tenant   tenant.audit.read                  tenant_admin   y n
  tenant   tenant.shared_runtime.read         tenant_member  y n
  tenant   tenant.shared_runtime.manage       tenant_admin   y n
  tenant   tenant.access_grant.manage         tenant_admin   y n
  project  project.role.assign_any            project_owner  y n
  project  project.role.define                project_owner  y n
  project  project.role.read                  project_viewer y y
  project  project.member.read                project_viewer y y
  project  project.member.remove              project_admin  y n
  project  project.policy.read                project_admin  y y
  project  project.audit.read                 project_admin  y y
  project  project.service_account.manage     project_admin  y n
  project  project.service_account.key.create project_admin  n n
  project  project.service_account.read       project_member y y
  project  project.access_grant.manage        project_admin  y n
  project  project.access_grant.read          project_member y n
  project  project.ssh_key.manage             project_member n y
  project  project.ssh_key.read               project_viewer y y
  project  allocation.ssh_keys.write          project_admin  n n
  project  workload.read                      project_viewer n y
  project  workload.manage                    project_member n y
  project  workload.token.issue               project_member n y
  project  storage.bucket.manage              project_admin  n y
  project  storage.grant.manage               project_admin  n n
  project  storage.credential.issue           project_member n y
  project  storage.credential.read            project_member n y
  project  storage.credential.revoke          project_admin  n n
  project  storage.mount_plan.read            project_member n y`
  .trim()
  .split('\n')
  .map((line) => {
    const [tier, key, first, o, s] = line.trim().split(/\s+/) as [string, string, string, string, string]
    return { tier, key, first, override_eligible: o === 'y', fit_for_service_accounts: s === 'y' }
  })

/** The same two columns for the baseline's keys: tier, key, open to override, fit for service accounts. */
const baselineMarks = `
  platform platform.audit.read       y n
  platform platform.node.probe       y n
  platform platform.node.read        y n
  platform platform.ops.read         y n
  platform platform.ops.runbook.read y n
  tenant   project.read              y n
  tenant   tenant.billing.read       n n
  tenant   tenant.billing.write      n n
  tenant   tenant.invoice.read       n n
  tenant   tenant.policy.write       y n
  tenant   tenant.project.create     y n
  tenant   tenant.project.read       y n
  tenant   tenant.project.update     y n
  tenant   tenant.read               y n
  tenant   tenant.role.assign        y n
  tenant   tenant.user.invite        y n
  tenant   tenant.user.read          y n
  tenant   tenant.user.remove        y n
  project  allocation.create         n y
  project  allocation.read           n y
  project  allocation.release        n y
  project  project.member.invite     y n
  project  project.role.assign       y n
  project  storage.read              n y
  project  storage.write             n y
  project  terminal.connect          n y`
  .trim()
  .split('\n')
  .map((line) => {
    const [tier, key, o, s] = line.trim().split(/\s+/) as [string, string, string, string]
    return { tier, key, override_eligible: o === 'y', fit_for_service_accounts: s === 'y' }
  })

const roleNames = Object.keys(baseline)
const ownBaseline = (role: string) => baseline[role]!.keys
const ownExtension = (role: string) => extension.filter(({ first }) => first === role).map(({ key }) => key)
const effective = (role: string): string[] => {
  const { includes } = baseline[role]!
  return [...ownBaseline(role), ...ownExtension(role), ...(includes ? effective(includes) : [])]
}
const sorted = (keys: Iterable<string>) => [...new Set(keys)].sort()
const everyKey = sorted(['authorization.override.all', ...baselineMarks.map(({ key }) => key), ...extension.map(({ key }) => key)])

const namesOf = (tier: string) => builtinRoleNames.filter((name) => tierOf(name) === tier)

test('RP-01 the platform roles are these three', () => {
  expect(namesOf('platform')).toEqual(['platform_superadmin', 'platform_ops', 'platform_user'])
})

test('RP-02 the tenant roles are these six', () => {
  expect(namesOf('tenant')).toEqual([
    'tenant_owner',
    'tenant_admin',
    'tenant_member',
    'tenant_billing_manager',
    'tenant_billing_viewer',
    'tenant_viewer',
  ])
})

test('RP-03 the project roles are these four', () => {
  expect(namesOf('project')).toEqual(['project_owner', 'project_admin', 'project_member', 'project_viewer'])
})

describe.each(roleNames)('%s', (role) => {
  if (!isBuiltinRole(role)) throw new Error(`${role} is in the table and not in the catalogue`)

  test(`RP-04 ${role} has exactly its row of the baseline`, () => {
    expect(sorted(builtinRoles[role].baseline)).toEqual(ownBaseline(role))
  })

  test(`RP-04 ${role} has exactly the extensions that begin with it`, () => {
    expect(sorted(builtinRoles[role].extension)).toEqual(sorted(ownExtension(role)))
  })

  test(`RP-04 ${role} cell by cell, with what it includes`, () => {
    const cells = (has: (key: string) => boolean) => Object.fromEntries(everyKey.map((key) => [key, has(key)]))
    const expected = new Set(effective(role))
    expect(cells((key) => permissionsOf(role).has(key as never))).toEqual(cells((key) => expected.has(key)))
    expect(permissionsOf(role).size).toBe(expected.size)
  })

  test(`RP-06 ${role} includes what the table says and stays inside its tier`, () => {
    const entry: { tier: string; includes?: string } = builtinRoles[role]
    expect(entry.includes ?? null).toBe(baseline[role]!.includes)
    if (entry.includes) expect(tierOf(entry.includes as never)).toBe(entry.tier)
  })
})

test.each([...baselineMarks, ...extension])(
  'DE-08 the registry has $key at tier $tier, override $override_eligible, service accounts $fit_for_service_accounts',
  ({ key, tier, override_eligible, fit_for_service_accounts }) => {
    expect(isAction(key)).toBe(true)
    expect(actions[key as keyof typeof actions]).toMatchObject({ tier, override_eligible, fit_for_service_accounts })
    expect(isFitForServiceAccounts(key)).toBe(fit_for_service_accounts)
  },
)

test('DE-08 what no table names is given by a relation or a class alone, and no role can give it to a service account', () => {
  const rest = Object.keys(actions).filter((key) => !everyKey.includes(key))
  expect(rest.sort()).toEqual([
    'auth.token.introspect',
    'auth.token.issue',
    'auth.token.revoke_own',
    'me.invitation.accept',
    'me.read',
    'me.ssh_key.manage',
    'me.ssh_key.read',
    'node.certificate.renew',
    'node.task.read',
    'node.task.report',
    'project.access_grant.read_own',
    'project.access_grant.revoke_own',
    'project.member.leave',
    'shared_runtime.allocation.read',
    'shared_runtime.attach',
    'shared_runtime.credential.deliver',
    'shared_runtime.detach',
    'shared_runtime.report',
    'shared_runtime.token.issue',
    'tenant.project.read_own',
    'tenant.user.leave',
  ])
  const byBeing = [...Object.values(relationKeys), ...Object.values(classKeys)].flatMap((keys) => [...keys])
  const ofOperators = [...operatorKeys, ...Object.values(delegatedKeys)]
  const related: string[] = [...byBeing, ...ofOperators, ...Object.keys(membershipKeys)]
  for (const key of rest) {
    expect(related).toContain(key)
    expect(actions[key as keyof typeof actions]).toMatchObject({ override_eligible: false, fit_for_service_accounts: false })
  }
  for (const role of builtinRoleNames) for (const key of rest) expect(permissionsOf(role).has(key as never)).toBe(false)
})

test('DE-08 the reserved override key is no action, and neither are names that every object has', () => {
  for (const key of ['authorization.override.all', 'toString', 'constructor', '__proto__', 'tenant.*', ''])
    expect([isAction(key), isFitForServiceAccounts(key)]).toEqual([false, false])
  for (const name of ['toString', 'constructor', '__proto__', 'owner']) expect(isBuiltinRole(name)).toBe(false)
})

test('RP-04 the override belongs to one role alone, and customers have nothing of the platform', () => {
  expect(builtinRoleNames.filter((name) => permissionsOf(name).has('authorization.override.all'))).toEqual(['platform_superadmin'])
  const platformKeys = [...namesOf('tenant'), ...namesOf('project')].flatMap((name) =>
    [...permissionsOf(name)].filter((key) => key.startsWith('platform.')),
  )
  expect(platformKeys).toEqual([])
})

test('RP-23 two project roles can be held by service accounts, no other role can', () => {
  expect(builtinRoleNames.filter(isForServiceAccounts)).toEqual(['project_member', 'project_viewer'])
})

test('RP-05 each tier has one owner role', () => {
  expect(ownerRoleOf).toEqual({ platform: 'platform_superadmin', tenant: 'tenant_owner', project: 'project_owner' })
  const names = [...builtinRoleNames, 'night-shift', 'platform', '']
  expect(names.filter(isOwnerRole).sort()).toEqual(['platform_superadmin', 'project_owner', 'tenant_owner'])
})

test('RP-01 of several platform roles the highest is recorded, and nobody has less than the default', () => {
  expect(highestPlatformRole(['platform_user', 'platform_ops', 'platform_superadmin'])).toBe('platform_superadmin')
  expect(highestPlatformRole(['platform_user', 'platform_ops'])).toBe('platform_ops')
  expect(highestPlatformRole([])).toBe('platform_user')
  expect(highestPlatformRole(['tenant_owner', 'unknown'])).toBe('platform_user')
})

test('the ids of built-ins are the same on every machine and all different', () => {
  expect(roleIdOf('tenant_owner')).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect([roleIdOf('tenant_owner'), roleVersionIdOf('tenant_owner')]).toEqual([
    fixedId('role', 'tenant_owner'),
    fixedId('role_version', 'tenant_owner'),
  ])
  const ids = builtinRoleNames.flatMap((name) => [roleIdOf(name), roleVersionIdOf(name)])
  expect(new Set(ids).size).toBe(builtinRoleNames.length * 2)
  expect(builtinRoleNames.map(roleIdOf)).toEqual(builtinRoleNames.map(roleIdOf))
})
