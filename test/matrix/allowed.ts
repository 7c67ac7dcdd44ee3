import { type ActorClass, isOneOf, nodeAgents, operators, type Person, personClasses, serviceAccounts } from './actor-classes.ts'

/**
 * Who may do what, written by hand from the seeds and from the tables of permissions, and reviewed as such: nothing of it is asked of the
 * product. One line for each operation: where it is judged first, then everybody who may. Whoever is not named is refused, as the rules at
 * the end of this file say.
 *
 * What is asked about is somebody else's: what a person may do to his own (leave, end a key, let somebody into his allocation) is said only
 * where the operation is about nothing else.
 */
export type Judged =
  /** Nobody's but his who asks. */
  | 'own'
  | 'platform'
  | 'tenant'
  | 'project'
  /** By the credential that is sent along. */
  | 'credential'
  /** At the door of nodes. */
  | 'node'
export interface Row {
  readonly judged: Judged
  readonly allowed: readonly ActorClass[]
}
type Named = ActorClass | readonly ActorClass[]
const of =
  (judged: Judged) =>
  (...named: readonly Named[]): Row => ({ judged, allowed: named.flat() })
const own = of('own')
const platform = of('platform')
const tenant = of('tenant')
const project = of('project')
const credential = of('credential')
const node = of('node')

// An owner has what an admin has, an admin what a member has, and in a project a member what a viewer has; the other roles stand alone.
const superadmin = 'platform_superadmin'
const ops: Named = [superadmin, 'platform_ops']
const tenantAdmins: Named = ['tenant_owner', 'tenant_admin']
const projectAdmins: Named = ['project_owner', 'project_admin']
const projectMembers: Named = [...projectAdmins, 'project_member']
const projectViewers: Named = [...projectMembers, 'project_viewer']
const tenantMembers: Named = [...tenantAdmins, 'tenant_member', ...projectViewers]
const wholeTenant: Named = [...tenantMembers, 'tenant_billing_manager', 'tenant_billing_viewer', 'tenant_viewer']
const everyPerson: Named = personClasses
const everyAccount: Named = serviceAccounts
const everyOperator: Named = operators
const viewingAccounts: Named = ['service_account_member', 'service_account_viewer']
const ownAccounts: Named = [...viewingAccounts, 'service_account_auditor', 'service_account_bare']
const ownOperators: Named = ['runtime_operator', 'delegated_operator']

export const rows: Readonly<Record<string, Row>> = {
  'allocation.access_grant.create': project(superadmin, tenantAdmins, projectAdmins),
  'allocation.access_grant.list': project(superadmin, tenantAdmins, projectMembers),
  'allocation.access_grant.revoke': project(superadmin, tenantAdmins, projectAdmins),
  'allocation.create': project(projectMembers, 'service_account_member'),
  'allocation.list': project(projectViewers, viewingAccounts),
  'allocation.owner.name': project(projectAdmins),
  'allocation.read': project(projectViewers, viewingAccounts),
  'allocation.release': project(projectMembers, 'service_account_member'),
  'allocation.ssh_keys.replace': project(projectAdmins),
  'allocation.ssh_session.list': project(superadmin, tenantAdmins, projectMembers),
  'audit_log.list_all': platform(ops),
  'audit_log.list_of_organization': tenant(superadmin, tenantAdmins),
  'audit_log.list_of_project': project(superadmin, projectAdmins, 'service_account_auditor'),
  'audit_log.verify': platform(ops),
  'auth.service_account_token.issue': credential(everyAccount),
  'auth.shared_runtime_operator_token.issue': credential(everyOperator),
  'auth.token.list_of_project': project(superadmin, projectAdmins),
  'auth.token.list_of_shared_runtime': tenant(superadmin, tenantAdmins),
  'auth.token.revoke': project(superadmin, projectAdmins),
  // Of himself everybody may ask, wherever; the answer is a decision.
  'authz.decide': own(everyPerson, everyAccount),
  'authz.decide_batch': own(everyPerson, everyAccount),
  'authz.explain': own(everyPerson, everyAccount),
  'delivery.unwrap': tenant(ownOperators),
  'invitation.accept': own(everyPerson),
  'invitation.create_of_organization': tenant(superadmin, tenantAdmins),
  'invitation.create_of_project': project(superadmin, projectAdmins),
  'invitation.end_of_organization': tenant(superadmin, tenantAdmins),
  'invitation.end_of_project': project(superadmin, projectAdmins),
  'invitation.list_of_organization': tenant(superadmin, tenantAdmins),
  'invitation.list_of_project': project(superadmin, projectAdmins),
  'me.invitation.list': own(everyPerson),
  'me.permissions': own(everyPerson, everyAccount),
  'me.read': own(everyPerson),
  'node.certificate.renew': node('node_agent'),
  'node.create': platform(superadmin),
  'node.describe': node('node_agent'),
  'node.drain': platform(superadmin),
  'node.enrol': credential('node_agent'),
  'node.enrolment.create': platform(superadmin),
  'node.event.report': node('node_agent'),
  'node.list': platform(ops),
  'node.probe': platform(ops),
  'node.read': platform(ops),
  'node.retire': platform(superadmin),
  'node.signer.list': platform(ops),
  'node.signer.revoke': platform(superadmin),
  'node.signer.rotate': platform(superadmin),
  'node.step.report': node('node_agent'),
  'node.task.list': platform(ops),
  'node.task.report': node('node_agent'),
  'node.task.wait': node('node_agent'),
  'node.undrain': platform(superadmin),
  'oauth.token.introspect': credential(everyAccount),
  'oauth.token.issue': credential(everyAccount, everyOperator),
  'oauth.token.revoke': credential(everyAccount),
  'ops.overview.read': platform(ops),
  'ops.runbook.list': platform(ops),
  'organization.create': platform(superadmin),
  'organization.list': own(everyPerson),
  'organization.member.list': tenant(superadmin, tenantMembers),
  'organization.member.remove': tenant(superadmin, tenantAdmins),
  'organization.read': tenant(superadmin, tenantMembers, 'tenant_viewer'),
  'organization.resume': platform(superadmin),
  'organization.suspend': platform(superadmin),
  'organization.update': tenant(superadmin, 'tenant_owner'),
  'policy.constraint.create_of_organization': tenant(superadmin, 'tenant_owner'),
  'policy.constraint.create_of_platform': platform(superadmin),
  'policy.constraint.create_of_project': tenant(superadmin, 'tenant_owner'),
  'policy.constraint.delete_of_organization': tenant(superadmin, 'tenant_owner'),
  'policy.constraint.delete_of_platform': platform(superadmin),
  'policy.constraint.delete_of_project': tenant(superadmin, 'tenant_owner'),
  'policy.constraint.list_of_organization': tenant(superadmin, tenantAdmins),
  'policy.constraint.list_of_platform': platform(ops),
  'policy.constraint.list_of_project': project(superadmin, tenantAdmins, projectAdmins, 'service_account_auditor'),
  'policy.constraint.list_versions_of_organization': tenant(superadmin, tenantAdmins),
  'policy.constraint.list_versions_of_platform': platform(ops),
  'policy.constraint.list_versions_of_project': project(superadmin, tenantAdmins, projectAdmins, 'service_account_auditor'),
  'policy.constraint.read_of_organization': tenant(superadmin, tenantAdmins),
  'policy.constraint.read_of_platform': platform(ops),
  'policy.constraint.read_of_project': project(superadmin, tenantAdmins, projectAdmins, 'service_account_auditor'),
  'policy.constraint.update_of_organization': tenant(superadmin, 'tenant_owner'),
  'policy.constraint.update_of_platform': platform(superadmin),
  'policy.constraint.update_of_project': tenant(superadmin, 'tenant_owner'),
  'policy.definition.list': platform(ops),
  'policy.value.list_of_organization': tenant(superadmin, tenantAdmins),
  'policy.value.list_of_platform': platform(ops),
  'policy.value.list_of_project': project(superadmin, tenantAdmins, projectAdmins, 'service_account_auditor'),
  'policy.value.remove_of_organization': tenant(superadmin, 'tenant_owner'),
  'policy.value.remove_of_platform': platform(superadmin),
  'policy.value.remove_of_project': tenant(superadmin, 'tenant_owner'),
  'policy.value.set_of_organization': tenant(superadmin, 'tenant_owner'),
  'policy.value.set_of_platform': platform(superadmin),
  'policy.value.set_of_project': tenant(superadmin, 'tenant_owner'),
  'project.archive': tenant(superadmin, tenantAdmins),
  'project.create': tenant(superadmin, 'tenant_owner'),
  // Whoever is of the tenant sees what he is a member of.
  'project.list': tenant(superadmin, wholeTenant),
  'project.member.add': project(superadmin, projectAdmins),
  'project.member.list': project(superadmin, projectViewers, viewingAccounts),
  'project.member.remove': project(superadmin, projectAdmins),
  'project.member.ssh_key.list': project(superadmin, tenantAdmins, projectAdmins),
  'project.owner.appoint': tenant(superadmin, 'tenant_owner'),
  'project.read': tenant(superadmin, tenantMembers, ownAccounts),
  'project.restore': tenant(superadmin, tenantAdmins),
  'project.ssh_key.create': project(projectMembers, 'service_account_member'),
  'project.ssh_key.delete': project(projectMembers, 'service_account_member'),
  'project.ssh_key.list': project(superadmin, projectViewers, viewingAccounts),
  'project.update': tenant(superadmin, tenantAdmins),
  'role.create_of_organization': tenant(superadmin, 'tenant_owner'),
  'role.create_of_project': project(superadmin, 'project_owner'),
  'role.delete_of_organization': tenant(superadmin, 'tenant_owner'),
  'role.delete_of_project': project(superadmin, 'project_owner'),
  'role.disable_builtin': platform(superadmin),
  'role.disable_of_organization': tenant(superadmin, 'tenant_owner'),
  'role.disable_of_project': project(superadmin, 'project_owner'),
  'role.enable_builtin': platform(superadmin),
  'role.enable_of_organization': tenant(superadmin, 'tenant_owner'),
  'role.enable_of_project': project(superadmin, 'project_owner'),
  'role.list_builtin': platform(ops),
  'role.list_of_organization': tenant(superadmin, tenantMembers),
  'role.list_of_project': project(superadmin, projectViewers, viewingAccounts),
  'role.preview_upgrade_of_organization': tenant(superadmin, 'tenant_owner'),
  'role.preview_upgrade_of_project': project(superadmin, 'project_owner'),
  'role.read_of_organization': tenant(superadmin, tenantMembers),
  'role.read_of_project': project(superadmin, projectViewers, viewingAccounts),
  'role.update_of_organization': tenant(superadmin, 'tenant_owner'),
  'role.update_of_project': project(superadmin, 'project_owner'),
  'role.upgrade_of_organization': tenant(superadmin, 'tenant_owner'),
  'role.upgrade_of_project': project(superadmin, 'project_owner'),
  'role.versions_of_organization': tenant(superadmin, tenantMembers),
  'role.versions_of_project': project(superadmin, projectViewers, viewingAccounts),
  'role_binding.create_of_organization': tenant(superadmin, tenantAdmins),
  'role_binding.create_of_platform': platform(superadmin),
  // To a person. To an account also an admin may give a role.
  'role_binding.create_of_project': project(superadmin, 'project_owner'),
  'role_binding.end_of_organization': tenant(superadmin, tenantAdmins),
  'role_binding.end_of_platform': platform(superadmin),
  'role_binding.end_of_project': project(superadmin, 'project_owner'),
  'role_binding.list_of_organization': tenant(superadmin, tenantMembers),
  'role_binding.list_of_platform': platform(superadmin),
  'role_binding.list_of_project': project(superadmin, projectViewers, viewingAccounts),
  'service_account.create': project(superadmin, projectAdmins),
  'service_account.delete': project(superadmin, projectAdmins),
  'service_account.disable': project(superadmin, projectAdmins),
  'service_account.enable': project(superadmin, projectAdmins),
  // What makes a credential is not open to override.
  'service_account.key.create': project(projectAdmins),
  'service_account.key.list': project(superadmin, projectMembers, 'service_account_member'),
  'service_account.key.revoke': project(superadmin, projectAdmins),
  'service_account.key.rotate': project(projectAdmins),
  'service_account.list': project(superadmin, projectMembers, 'service_account_member'),
  'service_account.read': project(superadmin, projectMembers, 'service_account_member'),
  'shared_runtime.allocation.list': tenant(ownOperators),
  'shared_runtime.attachment.create': tenant(superadmin, tenantAdmins, 'delegated_operator'),
  'shared_runtime.attachment.delete': tenant(superadmin, tenantAdmins, 'delegated_operator'),
  'shared_runtime.attachment.list': tenant(superadmin, tenantMembers, ownOperators),
  'shared_runtime.attachment.read': tenant(superadmin, tenantMembers, ownOperators),
  'shared_runtime.attachment.update': tenant(superadmin, tenantAdmins),
  'shared_runtime.create': tenant(superadmin, tenantAdmins),
  'shared_runtime.credential.deliver': tenant(ownOperators),
  'shared_runtime.credential.deposit': tenant(superadmin, tenantAdmins),
  'shared_runtime.credential.list': tenant(superadmin, tenantAdmins),
  'shared_runtime.credential.revoke': tenant(superadmin, tenantAdmins),
  'shared_runtime.delete': tenant(superadmin, tenantAdmins),
  'shared_runtime.disable': tenant(superadmin, tenantAdmins),
  'shared_runtime.eligible_project.list': tenant(superadmin, tenantAdmins),
  'shared_runtime.enable': tenant(superadmin, tenantAdmins),
  'shared_runtime.list': tenant(superadmin, tenantMembers),
  'shared_runtime.members.read': tenant(superadmin, tenantMembers, ownOperators),
  'shared_runtime.members.report': tenant(ownOperators),
  // Making a credential counts as granting all that an operator may, and override makes none.
  'shared_runtime.operator_credential.create': tenant('tenant_owner'),
  'shared_runtime.operator_credential.list': tenant(superadmin, tenantAdmins),
  'shared_runtime.operator_credential.revoke': tenant(superadmin, tenantAdmins),
  'shared_runtime.read': tenant(superadmin, tenantMembers, ownOperators),
  'shared_runtime.status.report': tenant(ownOperators),
  'shared_runtime.update': tenant(superadmin, tenantAdmins),
  'signing_key.list': platform(superadmin),
  'signing_key.retire': platform(superadmin),
  'signing_key.revoke': platform(superadmin),
  'signing_key.rotate': platform(superadmin),
  'ssh_key.create': own(everyPerson),
  'ssh_key.delete': own(everyPerson),
  'ssh_key.list': own(everyPerson),
  'user.disable': platform(superadmin),
  'user.enable': platform(superadmin),
  'user.list': platform(superadmin),
  'user.read': platform(superadmin),
}

export interface Refusal {
  readonly status: 400 | 401 | 403 | 404
  /** A refusal's code, or the reason that it names. */
  readonly reason: string
}
const forbidden = (reason: 'permission_denied' | 'membership_missing' | 'scope_mismatch'): Refusal => ({ status: 403, reason })
/** Says of what it does not know that it is not there, whatever that is. */
const notThere: Refusal = { status: 404, reason: '*_not_found' }
const noRoute: Refusal = { status: 404, reason: 'route_not_found' }
const unknown = (reason: string): Refusal => ({ status: 401, reason })

const isAdmitted = ({ allowed }: Row, kind: readonly ActorClass[]): boolean => kind.some((each) => allowed.includes(each))

/** What somebody hears who may not: whom an operation is not for at all is told so before anything is looked up. */
export const refusalOf = (operation: string, row: Row, who: ActorClass): Refusal => {
  if (isOneOf(nodeAgents, who)) return refusedNode(operation, row)
  if (row.judged === 'node') return unknown('certificate_missing')
  if (row.judged === 'credential') return refusedClient(operation, who)
  if (who === 'anonymous') return unknown('token_missing')
  if (isOneOf(serviceAccounts, who)) return refusedAccount(operation, row, who)
  if (isOneOf(operators, who)) return refusedOperator(operation, row, who)
  if (beyond[operation]?.includes(who)) return { status: 403, reason: 'assignment_ceiling' }
  return isAdmitted(row, personClasses) ? refusedPerson(row, who) : forbidden('permission_denied')
}

/** Who may do such a thing, and holds too little to give away what it gives. */
const beyond: Readonly<Record<string, readonly ActorClass[]>> = {
  'shared_runtime.operator_credential.create': [superadmin, 'tenant_admin'],
}

/** Another's is told from the path; and of a delivery that is not its own, that there is none. */
const refusedOperator = (operation: string, row: Row, who: ActorClass): Refusal => {
  if (!isAdmitted(row, operators) || who !== 'outside_operator') return forbidden('permission_denied')
  return operation === 'delivery.unwrap' ? notThere : forbidden('scope_mismatch')
}

/** A node comes to its own door, where there is nothing else. */
const refusedNode = (operation: string, { judged }: Row): Refusal => {
  if (judged === 'node') return forbidden('scope_mismatch')
  return operation === 'node.enrol' ? unknown('token_invalid') : noRoute
}

/** Whoever has no secret that counts. Where a token may stand for one, a person's is known, and is not a client's. */
const refusedClient = (operation: string, who: ActorClass): Refusal => {
  if (!operation.startsWith('oauth.')) return unknown('token_invalid')
  if (operation === 'oauth.token.issue' || who === 'anonymous') return unknown('invalid_client')
  return { status: 400, reason: 'unauthorized_client' }
}

/** By the request alone where it names the project; by an id alone, there is nothing that another project's account could know of. */
const byIdAlone = ['allocation.read', 'allocation.release']
/** A token reaches no further than what its account held when it was issued: that is found first. */
const refusedAccount = (operation: string, row: Row, who: ActorClass): Refusal => {
  if (!isAdmitted(row, serviceAccounts)) return forbidden('permission_denied')
  return who === 'outside_service_account' && byIdAlone.includes(operation) ? notThere : forbidden('scope_mismatch')
}

const strangers: readonly Person[] = ['platform_user', 'outsider', 'outside_project_owner']
const refusedPerson = ({ judged }: Row, who: Person): Refusal => {
  // What belongs to the platform is no secret.
  if (judged === 'platform') return forbidden('permission_denied')
  if (strangers.includes(who)) return notThere
  // Somebody of the platform may know what there is.
  if (who.startsWith('platform_')) return forbidden('membership_missing')
  if (judged === 'tenant') return forbidden('permission_denied')
  return forbidden(who.startsWith('project_') ? 'permission_denied' : 'membership_missing')
}
