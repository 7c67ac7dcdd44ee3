/**
 * The action registry: every key that can be asked about, in code, reviewed as code. What is not said here is not so: an action
 * is not open to override, not fit for service accounts and not a read unless its line says it.
 */
export type Tier = 'platform' | 'tenant' | 'project'
type Mark = 'override' | 'service_account' | 'read'

export interface ActionEntry {
  readonly tier: Tier
  readonly override_eligible: boolean
  readonly fit_for_service_accounts: boolean
  /** Still allowed in a suspended organization and an archived project. */
  readonly is_read: boolean
}

const at = (tier: Tier, ...marks: Mark[]): ActionEntry => ({
  tier,
  override_eligible: marks.includes('override'),
  fit_for_service_accounts: marks.includes('service_account'),
  is_read: marks.includes('read'),
})

export const actions = {
  // Platform: no membership is needed.
  'platform.admin': at('platform', 'override'),
  'platform.audit.read': at('platform', 'override', 'read'),
  'platform.authz.evaluate': at('platform', 'override', 'read'),
  'platform.node.manage': at('platform', 'override'),
  'platform.node.probe': at('platform', 'override'),
  'platform.node.read': at('platform', 'override', 'read'),
  'platform.ops.read': at('platform', 'override', 'read'),
  'platform.ops.runbook.read': at('platform', 'override', 'read'),

  // Given by a relation to the resource, never by a role.
  'me.read': at('platform', 'read'),
  'tenant.project.read_own': at('tenant', 'read'),
  'tenant.user.leave': at('tenant'),
  'project.member.leave': at('project'),

  // Tenant.
  'project.read': at('tenant', 'override', 'read'),
  'tenant.access_grant.manage': at('tenant', 'override'),
  'tenant.audit.read': at('tenant', 'override', 'read'),
  'tenant.billing.read': at('tenant', 'read'),
  'tenant.billing.write': at('tenant'),
  'tenant.invoice.read': at('tenant', 'read'),
  'tenant.policy.read': at('tenant', 'override', 'read'),
  'tenant.policy.write': at('tenant', 'override'),
  'tenant.project.appoint_owner': at('tenant', 'override'),
  'tenant.project.create': at('tenant', 'override'),
  'tenant.project.read': at('tenant', 'override', 'read'),
  'tenant.project.update': at('tenant', 'override'),
  'tenant.read': at('tenant', 'override', 'read'),
  'tenant.role.assign': at('tenant', 'override'),
  'tenant.role.assign_any': at('tenant', 'override'),
  'tenant.role.define': at('tenant', 'override'),
  'tenant.role.read': at('tenant', 'override', 'read'),
  'tenant.shared_runtime.manage': at('tenant', 'override'),
  'tenant.shared_runtime.read': at('tenant', 'override', 'read'),
  'tenant.update': at('tenant', 'override'),
  'tenant.user.invite': at('tenant', 'override'),
  'tenant.user.read': at('tenant', 'override', 'read'),
  'tenant.user.remove': at('tenant', 'override'),

  // Project. What touches a customer's data or shell is never open to override.
  'allocation.create': at('project', 'service_account'),
  'allocation.read': at('project', 'service_account', 'read'),
  'allocation.release': at('project', 'service_account'),
  'allocation.ssh_keys.write': at('project'),
  'project.access_grant.manage': at('project', 'override'),
  'project.access_grant.read': at('project', 'override', 'read'),
  'project.audit.read': at('project', 'override', 'service_account', 'read'),
  'project.member.invite': at('project', 'override'),
  'project.member.read': at('project', 'override', 'service_account', 'read'),
  'project.member.remove': at('project', 'override'),
  'project.policy.read': at('project', 'override', 'service_account', 'read'),
  'project.role.assign': at('project', 'override'),
  'project.role.assign_any': at('project', 'override'),
  'project.role.define': at('project', 'override'),
  'project.role.read': at('project', 'override', 'service_account', 'read'),
  'project.service_account.key.create': at('project'),
  'project.service_account.manage': at('project', 'override'),
  'project.service_account.read': at('project', 'override', 'service_account', 'read'),
  'project.ssh_key.manage': at('project', 'service_account'),
  'project.ssh_key.read': at('project', 'override', 'service_account', 'read'),
  'storage.bucket.manage': at('project', 'service_account'),
  'storage.credential.issue': at('project', 'service_account'),
  'storage.credential.read': at('project', 'service_account', 'read'),
  'storage.credential.revoke': at('project'),
  'storage.grant.manage': at('project'),
  'storage.mount_plan.read': at('project', 'service_account', 'read'),
  'storage.read': at('project', 'service_account', 'read'),
  'storage.write': at('project', 'service_account'),
  'terminal.connect': at('project', 'service_account'),
  'workload.manage': at('project', 'service_account'),
  'workload.read': at('project', 'service_account', 'read'),
  'workload.token.issue': at('project', 'service_account'),
} as const satisfies Record<string, ActionEntry>

export type Action = keyof typeof actions

/** Reserved: no action, no prefix, consulted only in the override step. */
export const overridePermission = 'authorization.override.all'
export type PermissionKey = Action | typeof overridePermission

export const isAction = (key: string): key is Action => Object.hasOwn(actions, key)

/** A relation of the actor to the resource gives these keys, for that resource only. */
export const relationKeys = {
  self: ['me.read', 'tenant.user.leave', 'project.member.leave'],
  belongs_to_tenant: ['tenant.project.read_own'],
  belongs_to_project: ['project.read'],
} as const satisfies Record<string, readonly Action[]>
export type Relation = keyof typeof relationKeys
