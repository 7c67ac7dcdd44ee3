import type { Chance } from './chance.ts'
import type { Relation } from './question.ts'

/** The registered actions by tier, and the built-in roles, typed from permissions.md and seed 002. What they mean is in reference.sql. */
export type Tier = 'platform' | 'tenant' | 'project'

const words = (text: string): string[] => text.trim().split(/\s+/)

export const keysOf: Record<Tier, readonly string[]> = {
  platform: words(`platform.ops.read platform.ops.runbook.read platform.node.read platform.node.probe platform.audit.read platform.admin
    platform.node.manage platform.authz.evaluate me.read me.invitation.accept me.ssh_key.read me.ssh_key.manage node.certificate.renew
    node.task.read node.task.report`),
  tenant: words(`tenant.user.invite tenant.user.remove tenant.user.read tenant.role.assign tenant.policy.write tenant.project.create
    tenant.project.read tenant.project.update tenant.read project.read tenant.billing.read tenant.billing.write tenant.invoice.read
    tenant.role.assign_any tenant.role.define tenant.role.read tenant.project.appoint_owner tenant.update tenant.policy.read
    tenant.audit.read tenant.shared_runtime.read tenant.shared_runtime.manage tenant.access_grant.manage tenant.project.read_own
    tenant.user.leave shared_runtime.allocation.read shared_runtime.attach shared_runtime.credential.deliver shared_runtime.detach
    shared_runtime.report shared_runtime.token.issue`),
  project: words(`project.role.assign project.member.invite allocation.create allocation.release allocation.read storage.read
    storage.write terminal.connect project.role.assign_any project.role.define project.role.read project.member.read
    project.member.remove project.policy.read project.audit.read project.service_account.manage project.service_account.key.create
    project.service_account.read project.access_grant.manage project.access_grant.read project.ssh_key.manage project.ssh_key.read
    allocation.ssh_keys.write workload.read workload.manage workload.token.issue storage.bucket.manage storage.grant.manage
    storage.credential.issue storage.credential.read storage.credential.revoke storage.mount_plan.read project.member.leave
    project.access_grant.read_own project.access_grant.revoke_own auth.token.introspect auth.token.issue auth.token.revoke_own`),
}

export const allKeys: readonly string[] = Object.values(keysOf).flat()
export const tierOf = (key: string): Tier => (Object.keys(keysOf) as Tier[]).find((tier) => keysOf[tier].includes(key))!

/** Only the actor himself has them. */
export const selfKeys = ['me.read', 'me.ssh_key.read', 'me.ssh_key.manage', 'tenant.user.leave', 'project.member.leave']

/** What standing so to a resource gives a person, for that resource. */
const related: Record<Relation, readonly string[]> = {
  invitee: ['me.invitation.accept'],
  allocation_owner: ['project.access_grant.manage', 'project.access_grant.read', 'allocation.ssh_keys.write'],
  grantee: ['project.access_grant.read_own', 'project.access_grant.revoke_own'],
}
export const ofOwners = related.allocation_owner
const ofRelations = Object.values(related).flat()
export const comesByRelation = (action: string): boolean => ofRelations.includes(action)
/** Mostly the one that gives what is asked for, if any does. */
export const relationsFor = (chance: Chance, action: string): Relation[] => {
  const others = comesByRelation(action) ? 0.3 : 0.05
  return (Object.keys(related) as Relation[]).filter((relation) => chance.is(related[relation].includes(action) ? 0.6 : others))
}

/** No role has them and nobody can give them to people: they come with being a machine. */
const ofMachines = /^(?:auth|node|shared_runtime)\./
/** What people are asked about: of what they never have, only now and then. */
export const askedOfPeople: Record<Tier, readonly string[]> = {
  platform: keysOf.platform.filter((key) => !ofMachines.test(key)),
  tenant: keysOf.tenant.filter((key) => !ofMachines.test(key)),
  // Twice what comes by relations: it comes in more ways.
  project: [...keysOf.project.filter((key) => !ofMachines.test(key)), ...related.allocation_owner, ...related.grantee],
}

/** Registered, but in a custom role they mean nothing. */
export const ungrantable = [
  'authorization.override.all',
  ...['tenant.role.assign_any', 'tenant.role.define', 'tenant.project.appoint_owner', 'tenant.user.leave'],
  ...['project.role.assign_any', 'project.role.define', 'project.member.leave', 'platform.admin', 'platform.ops.read', 'me.read'],
  ...['auth.token.issue', 'shared_runtime.report', 'shared_runtime.attach', 'project.access_grant.read_own', 'me.ssh_key.manage'],
]

export const builtinsOf: Record<Tier, readonly string[]> = {
  platform: ['platform_superadmin', 'platform_ops', 'platform_user'],
  tenant: ['tenant_owner', 'tenant_admin', 'tenant_member', 'tenant_billing_manager', 'tenant_billing_viewer', 'tenant_viewer'],
  project: ['project_owner', 'project_admin', 'project_member', 'project_viewer'],
}
