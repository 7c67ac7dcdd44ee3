import { fixedId } from '#ground/kernel/ids.ts'
import type { PermissionKey, Tier } from './actions.ts'

/**
 * The built-in roles: immutable, owned by this file. `baseline` and `extension` come from two tables and are compared with
 * each; a role also has all that the role it `includes` has. Nothing else in the product may spell a role's name.
 */
interface BuiltinRole {
  readonly tier: Tier
  readonly includes?: string
  readonly is_assignable_to_service_accounts?: boolean
  readonly baseline: readonly PermissionKey[]
  readonly extension: readonly PermissionKey[]
}

const runtime = [
  'allocation.create',
  'allocation.release',
  'allocation.read',
  'storage.read',
  'storage.write',
  'terminal.connect',
] as const satisfies readonly PermissionKey[]

export const builtinRoles = {
  platform_superadmin: { tier: 'platform', baseline: ['authorization.override.all'], extension: [] },
  platform_ops: {
    tier: 'platform',
    baseline: ['platform.ops.read', 'platform.ops.runbook.read', 'platform.node.read', 'platform.node.probe', 'platform.audit.read'],
    extension: ['platform.authz.evaluate'],
  },
  platform_user: { tier: 'platform', baseline: [], extension: [] },

  tenant_owner: {
    tier: 'tenant',
    includes: 'tenant_admin',
    baseline: [
      'tenant.user.invite',
      'tenant.user.remove',
      'tenant.role.assign',
      'tenant.policy.write',
      'tenant.project.create',
      'tenant.billing.read',
      'tenant.billing.write',
    ],
    extension: ['tenant.role.assign_any', 'tenant.role.define', 'tenant.project.appoint_owner', 'tenant.update'],
  },
  tenant_admin: {
    tier: 'tenant',
    includes: 'tenant_member',
    baseline: [
      'tenant.user.invite',
      'tenant.user.remove',
      'tenant.role.assign',
      'tenant.project.read',
      'tenant.project.update',
      'tenant.billing.read',
    ],
    extension: ['tenant.policy.read', 'tenant.audit.read', 'tenant.shared_runtime.manage', 'tenant.access_grant.manage'],
  },
  tenant_member: {
    tier: 'tenant',
    baseline: ['tenant.read', 'project.read', 'tenant.user.read'],
    extension: ['tenant.role.read', 'tenant.shared_runtime.read'],
  },
  tenant_billing_manager: {
    tier: 'tenant',
    baseline: ['tenant.billing.read', 'tenant.billing.write', 'tenant.invoice.read'],
    extension: [],
  },
  tenant_billing_viewer: { tier: 'tenant', baseline: ['tenant.billing.read', 'tenant.invoice.read'], extension: [] },
  tenant_viewer: { tier: 'tenant', baseline: ['tenant.read'], extension: [] },

  project_owner: {
    tier: 'project',
    includes: 'project_admin',
    baseline: ['project.role.assign', ...runtime],
    extension: ['project.role.assign_any', 'project.role.define'],
  },
  project_admin: {
    tier: 'project',
    includes: 'project_member',
    baseline: ['project.member.invite', ...runtime],
    extension: [
      'project.member.remove',
      'project.policy.read',
      'project.audit.read',
      'project.service_account.manage',
      'project.service_account.key.create',
      'project.access_grant.manage',
      'allocation.ssh_keys.write',
      'storage.bucket.manage',
      'storage.grant.manage',
      'storage.credential.revoke',
    ],
  },
  project_member: {
    tier: 'project',
    includes: 'project_viewer',
    is_assignable_to_service_accounts: true,
    baseline: runtime,
    extension: [
      'project.service_account.read',
      'project.access_grant.read',
      'project.ssh_key.manage',
      'workload.manage',
      'workload.token.issue',
      'storage.credential.issue',
      'storage.credential.read',
      'storage.mount_plan.read',
    ],
  },
  project_viewer: {
    tier: 'project',
    is_assignable_to_service_accounts: true,
    baseline: ['allocation.read', 'storage.read'],
    extension: ['project.role.read', 'project.member.read', 'project.ssh_key.read', 'workload.read'],
  },
} as const satisfies Record<string, BuiltinRole>

export type BuiltinRoleName = keyof typeof builtinRoles
export const builtinRoleNames = Object.keys(builtinRoles) as BuiltinRoleName[]

const entryOf = (name: BuiltinRoleName): BuiltinRole => builtinRoles[name]
export const isBuiltinRole = (name: string): name is BuiltinRoleName => Object.hasOwn(builtinRoles, name)

const expand = (name: BuiltinRoleName): PermissionKey[] => {
  const { baseline, extension, includes } = entryOf(name)
  return [...baseline, ...extension, ...(includes ? expand(includes as BuiltinRoleName) : [])]
}
const expanded = new Map(builtinRoleNames.map((name) => [name, new Set<PermissionKey>(expand(name))]))

/** All that a built-in role allows, with what it includes. */
export const permissionsOf = (name: BuiltinRoleName): ReadonlySet<PermissionKey> => expanded.get(name)!
export const tierOf = (name: BuiltinRoleName): Tier => entryOf(name).tier
export const isForServiceAccounts = (name: BuiltinRoleName): boolean => entryOf(name).is_assignable_to_service_accounts ?? false

/** What only an owner may give or take, per tier. */
export const ownerRoleOf = { platform: 'platform_superadmin', tenant: 'tenant_owner', project: 'project_owner' } as const satisfies Record<
  Tier,
  BuiltinRoleName
>

export const isOwnerRole = (name: string): boolean => Object.values(ownerRoleOf).some((owner) => owner === name)

/** What everybody has who has no platform binding. */
export const defaultPlatformRole = 'platform_user' satisfies BuiltinRoleName

/** The catalogue lists platform roles from the highest down. */
export const highestPlatformRole = (names: readonly string[]): BuiltinRoleName =>
  builtinRoleNames.find((name) => tierOf(name) === 'platform' && names.includes(name)) ?? defaultPlatformRole

export const roleIdOf = (name: BuiltinRoleName) => fixedId('role', name)
export const roleVersionIdOf = (name: BuiltinRoleName) => fixedId('role_version', name)
