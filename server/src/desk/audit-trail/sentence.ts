import type { AuditRow } from './audit-log-queries.ts'

type Told = Pick<
  AuditRow,
  'action' | 'actor_type' | 'actor_id' | 'actor_name' | 'resource_type' | 'resource_id' | 'result' | 'reason_code' | 'metadata'
>

/** What each action is called when it is told; `{name}` is taken from the metadata. */
const told: Record<string, string> = {
  'allocation.access.resume': 'let those in again who could enter before the {because} rested',
  'allocation.access.suspend': 'let nobody in while the {because} rests',
  'allocation.access_grant.create': 'let {grantee_user_id} in with the key {fingerprint}',
  'allocation.access_grant.revoke': 'ended the access of {grantee_user_id} with the key {fingerprint} ({cause})',
  'allocation.access_drift': 'found the keys of the allocation changed by hand on the node ({found}), and put them right',
  'allocation.access_drift.not_restored': 'found access on the node other than it should be, and could not put it right ({failure})',
  'allocation.activate': 'opened the allocation',
  'allocation.ask_again': 'asked the node again for what it owes',
  'allocation.clear': 'put away what was left of the failed allocation',
  'allocation.create': 'asked for an allocation of {gpus} {sku} in {region}',
  'allocation.fail': 'could not provide the allocation ({failure})',
  'allocation.owner.end': 'ended the ownership of {user_id} with the membership',
  'allocation.owner.name': 'named {user_id} as the owner',
  'allocation.provision': 'placed the allocation on the node {node_id}',
  'allocation.release': 'gave the allocation back',
  'allocation.release_fail': 'could not put the allocation away ({failure})',
  'allocation.released': 'put the allocation away, and its place is free',
  'allocation.ssh_keys.end': 'took keys of its own from the allocation ({cause})',
  'allocation.ssh_keys.install': 'made the account of the allocation, and was sent its first set of keys',
  'allocation.ssh_keys.not_applied': 'could not apply set {generation} of keys ({failure})',
  'allocation.ssh_keys.replace': 'replaced the keys of the allocation itself',
  'allocation.ssh_keys.restore': 'found the keys of the allocation changed on the node, and put them right',
  'allocation.ssh_session.end': 'saw the session {session_id} of {whose} end ({end})',
  'allocation.ssh_session.start': 'saw a session begin with the key {fingerprint} of {whose}',
  'answer.repeat': 'was given the answer to {operation} again',
  'audit_log.list_all': 'read the record of the platform',
  'audit_log.list_of_organization': 'read the record of the organization',
  'audit_log.list_of_project': 'read the record of the project',
  'audit_log.verify': 'verified the record',
  'auth.token.list_of_project': 'read which tokens were issued in the project',
  'auth.token.list_of_shared_runtime': 'read which tokens were issued to the operator of the runtime',
  'auth.token.revoke': 'ended tokens of the {subject_type} {subject_id}',
  'auth.token.issue': 'was issued a token for {audience}',
  'authz.explain': 'had it explained whether {asked} is allowed there',
  'oauth.token.introspect': 'asked whether a token counts',
  'delivery.unwrap': 'opened a delivery of version {version} of {name}',
  'development.move': 'moved {people} development people to another provider',
  'development.seed': 'seeded {people} development people',
  'installation.rewrap': 're-sealed every secret at rest',
  'installation.restore.accept': 'accepted a restored database and began epoch {epoch}',
  'invitation.accept': 'accepted an invitation as {role_name}',
  'invitation.create': 'invited {email} as {role_name}',
  'invitation.end': 'ended the invitation of {email}',
  'invitation.end_with_role': 'ended {count} invitations to the deleted role {role_name}',
  'invitation.end_with_membership': 'ended {count} invitations with the membership of {user_id}',
  'node.agent_version': 'runs version {agent_version} of the agent',
  'node.authority.create': 'made the authority that vouches for nodes',
  'node.certificate.renew': 'renewed the certificate of the node',
  'node.create': 'registered the node {name}',
  'node.describe': 'described its devices and its sshd',
  'node.drain': 'let nothing more be placed on the node {name}',
  'node.enrol': 'enrolled as the node',
  'node.enrol.repeat': 'asked once more for the certificate of its enrolment, and got the same',
  'node.enrolment.create': 'made a new enrolment token for the node {name}',
  'node.event.report': 'told what happened on it',
  'node.probe': 'asked the node for a sign of life',
  'node.protocol_version': 'speaks version {to} of the nodes’ protocol, and spoke version {from} before',
  'node.retire': 'ended the identity of the node {name}',
  'node.signer.activate': 'began to sign tasks with the first key at hand',
  'node.signer.retire': 'put version {version} of the key away that signs tasks',
  'node.signer.revoke': 'revoked version {version} of the key that signs tasks',
  'node.signer.rotate': 'began to sign tasks with version {version} of the key',
  'node.signer.stage': 'let nodes know version {version} of the key that signs tasks',
  'node.step.report': 'told which of its steps are stuck',
  'node.step.stuck': 'has been at the step {step} for more than a minute, since {since}',
  'node.step.unstuck': 'is no longer stuck at the step {step}',
  'node.task.dispatch': 'was given the task {task_type} (generation {generation})',
  'node.task.expire': 'put the task {task_type} away, since nobody waits for it any more',
  'node.task.overdue': 'found the task {task_type} (generation {generation}) unanswered for too long',
  'node.task.renew': 're-signed the task {task_type} (generation {generation})',
  'node.task.report': 'reported the task {task_type} (generation {generation}) as {outcome}',
  'node.undrain': 'let the node {name} be placed on again',
  'organization.create': 'created the organization {slug}',
  'organization.member.remove': 'ended the membership of {user_id} in the organization',
  'organization.resume': 'resumed the organization',
  'organization.suspend': 'suspended the organization',
  'organization.update': 'renamed the organization',
  'policy.constraint.create': 'wrote the constraint {key}',
  'policy.constraint.delete': 'ended the constraint {key}',
  'policy.constraint.update': 'wrote version {version} of the constraint {key}',
  'policy.value.remove': 'ended the value of the policy {key}',
  'policy.value.set': 'set the policy {key}',
  'platform_role.mismatch': 'asked for an action of the platform while users.role ({users_role}) and the bindings disagree',
  'platform_role.source_unreadable': 'asked for an action of the platform while it cannot be read where platform roles come from',
  'project.archive': 'archived the project',
  'project.create': 'created the project {slug}',
  'project.member.add': 'added {user_id} to the project as {role_name}',
  'project.member.remove': 'ended the membership of {user_id} in the project',
  'project.restore': 'restored the project',
  'project.ssh_key.create': 'registered the SSH key {fingerprint} for the project’s automation',
  'project.ssh_key.delete': 'deleted the SSH key {fingerprint} of the project’s automation',
  'project.update': 'renamed the project',
  'project.owner.appoint': 'appointed {user_id} owner of the project',
  'role.create': 'defined the role {name}',
  'role.delete': 'ended the role {name}',
  'role.disable': 'disabled the role {name} ({mode})',
  'role.enable': 'enabled the role {name}',
  'role.update': 'wrote version {version} of the role {name}',
  'role.upgrade': 'moved {moved} bindings of the role {name} to version {to_version}',
  'role_binding.create': 'bound {principal_id} to the role {role_name}',
  'role_binding.end': 'ended the binding of {principal_id} to the role {role_name}',
  'service_account.create': 'created the service account {slug}',
  'service_account.delete': 'ended the service account {slug}',
  'service_account.disable': 'disabled the service account {slug}',
  'service_account.enable': 'enabled the service account {slug}',
  'service_account.key.create': 'made a key for the service account {slug}',
  'service_account.key.revoke': 'revoked a key of the service account {slug}',
  'service_account.key.rotate': 'made a key for the service account {slug} in the place of another',
  'shared_runtime.allocation.list': 'read which allocations are contributed to the runtime',
  'shared_runtime.attachment.create': 'attached a project to the runtime {display_name} ({contribution_policy})',
  'shared_runtime.attachment.delete': 'detached a project from the runtime {display_name}',
  'shared_runtime.attachment.list': 'read which projects are attached to the runtime',
  'shared_runtime.attachment.read': 'read an attachment of the runtime',
  'shared_runtime.attachment.update': 'changed what a project contributes to the runtime {display_name} to {contribution_policy}',
  'shared_runtime.create': 'created the shared runtime {display_name}',
  'shared_runtime.credential.deliver': 'was promised version {version} of the secret {name}',
  'shared_runtime.credential.deposit': 'left version {version} of the secret {name} for the runtime {display_name}',
  'shared_runtime.credential.list': 'read which secrets are left for the runtime',
  'shared_runtime.credential.revoke': 'took back version {version} of the secret {name} of the runtime {display_name}',
  'shared_runtime.delete': 'ended the shared runtime {display_name}',
  'shared_runtime.deliveries.end': 'ended {deliveries_ended_count} deliveries that waited for the operator of the runtime {display_name}',
  'shared_runtime.disable': 'disabled the shared runtime {display_name}',
  'shared_runtime.enable': 'enabled the shared runtime {display_name}',
  'shared_runtime.members.read': 'read the members of the runtime',
  'shared_runtime.members.report': 'reported {members} members of the runtime {display_name} (report {sequence})',
  'shared_runtime.operator_credential.create': 'made a credential for the operator of the runtime {display_name}',
  'shared_runtime.operator_credential.end': 'ended {count} credentials of the operator with the runtime {display_name}',
  'shared_runtime.operator_credential.list': 'read which credentials the operator of the runtime has',
  'shared_runtime.operator_credential.revoke': 'revoked a credential of the operator of the runtime {display_name}',
  'shared_runtime.read': 'read the runtime',
  'shared_runtime.status.report': 'reported the runtime {display_name} as {state} (report {sequence})',
  'shared_runtime.update': 'wrote version {version} of the shared runtime {display_name}',
  'signing_key.activate': 'began to sign tokens with the first key at hand',
  'signing_key.retire': 'put a signing key away',
  'signing_key.revoke': 'revoked a signing key, and with it every token that it signed',
  'signing_key.rotate': 'began to sign tokens with the next key',
  'signing_key.stage': 'made the next signing key public',
  'ssh_key.create': 'registered the SSH key {fingerprint}',
  'ssh_key.delete': 'deleted the SSH key {fingerprint}',
  'user.address': 'took over the address that the provider vouches for',
  'user.create': 'signed a person in for the first time',
  'user.disable': 'disabled the person',
  'user.enable': 'enabled the person',
}

/** What it is called where the record says that something there was changed (`updated`). */
const toldOfUpdate: Record<string, string> = {
  'shared_runtime.credential.deposit':
    'left version {version} of the secret {name} for the runtime {display_name}, in the place of version {replaced_version}',
  'allocation.access_grant.create': 'changed until when and why {grantee_user_id} is let in with the key {fingerprint}',
}

/** The same where a report came later than one that was taken before it (`is_taken` is false). */
const toldOfLate: Record<string, string> = {
  'shared_runtime.members.report': 'reported {members} members of the runtime {display_name} (report {sequence}), too late to count',
  'shared_runtime.status.report': 'reported the runtime {display_name} as {state} (report {sequence}), too late to count',
}

/** What was refused for a reason that the record knows and the caller does not (`why`). */
const toldOfRefusal: Record<string, string> = {
  'auth.token.deny': 'asked for a token and got none ({why})',
  'delivery.unwrap': 'tried to open a delivery of version {version} of {name}, and got nothing ({why})',
  'node.certificate.refuse': 'showed a certificate that is no node’s ({why})',
}

/** Has a sentence of its own shape. */
const rejected = 'auth.token.reject'

export const toldActions: ReadonlySet<string> = new Set([...Object.keys(told), ...Object.keys(toldOfRefusal), rejected])

const filled = (template: string, metadata: unknown): string =>
  template.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = (metadata as Record<string, unknown> | null)?.[name]
    return typeof value === 'string' || typeof value === 'number' ? String(value) : `(${name})`
  })

const whoDid = ({ actor_type, actor_id, actor_name }: Told): string => {
  if (actor_type === 'system') return `The system (${actor_id})`
  if (actor_type === 'node_agent') return actor_name === null ? `The node ${actor_id}` : `The node ${actor_name} (${actor_id})`
  return `${actor_name ?? 'Somebody'} (${actor_type} ${actor_id})`
}

const templateOf = ({ action, result, metadata }: Told): string | undefined => {
  const { updated, is_taken, why } = (metadata ?? {}) as { updated?: unknown; is_taken?: unknown; why?: unknown }
  if (result !== 'success') return why === undefined ? undefined : toldOfRefusal[action]
  return (updated === true ? toldOfUpdate[action] : undefined) ?? (is_taken === false ? toldOfLate[action] : undefined) ?? told[action]
}

/** One row as a sentence. Names are as their owners wrote them; whoever shows them must treat them as text. */
export const sentenceOf = (row: Told): string => {
  const who = whoDid(row)
  const what = templateOf(row)
  const which = row.resource_id === null ? row.resource_type : `${row.resource_type} ${row.resource_id}`
  // Counted, not recorded one by one: there is nobody to name.
  if (row.action === rejected) return filled(`{count} requests were refused before anybody was known: ${row.reason_code}.`, row.metadata)
  if (what || row.result === 'success') return `${who} ${what ? filled(what, row.metadata) : `did ${row.action}`}: ${which}.`
  return `${who} was refused ${row.action} on ${which}: ${row.reason_code}.`
}
