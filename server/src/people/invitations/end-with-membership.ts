import { record } from '#rails/audit/record.ts'
import { systemProof } from '#rails/authz/authorize.ts'
import type { TenancySubscribers } from '../tenancy/subscribers.ts'
import { endInvitationsOf } from './invitation-queries.ts'

/** Who leaves offers nothing there any more, and nothing that was offered to him brings him back. */
export const endInvitations: TenancySubscribers['onMembershipEnded'][number] = async (work, { tenant_id, project_id, user_id, reason }) => {
  const proof = systemProof('membership_cascade', 'tenant.user.remove', {})
  const ended = await work.tx.many(endInvitationsOf(proof, { tenant_id, project_id, user_id }, work.actor.id, reason, work.now))
  if (ended.length === 0) return
  record(work, {
    action: 'invitation.end_with_membership',
    resource_type: project_id === null ? 'tenant_membership' : 'project_membership',
    resource_id: user_id,
    tenant_id,
    project_id,
    metadata: { user_id, count: ended.length, invitation_ids: ended.map(({ id }) => id), reason },
  })
}
