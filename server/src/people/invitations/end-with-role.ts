import { record } from '#rails/audit/record.ts'
import { systemProof } from '#rails/authz/authorize.ts'
import type { RoleSubscribers } from '../roles/role-subscribers.ts'
import { endInvitationsAs } from './invitation-queries.ts'

/** A deleted role never comes back, so nobody can accept what was offered with it. A disabled one may: its invitations wait. */
export const endInvitationsToRole: RoleSubscribers['onRoleDeleted'][number] = async (work, { org_id, project_id }, role) => {
  const proof = systemProof('role_cascade', 'tenant.role.define', {})
  const ended = await work.tx.many(endInvitationsAs(proof, role.id, work.actor.id, work.now))
  if (ended.length === 0) return
  record(work, {
    action: 'invitation.end_with_role',
    resource_type: 'role',
    resource_id: role.id,
    tenant_id: org_id,
    project_id,
    metadata: { role_name: role.name, count: ended.length, invitation_ids: ended.map(({ id }) => id), reason: 'role_deleted' },
  })
}
