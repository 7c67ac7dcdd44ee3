import type { Invitation, acceptInvitation as Op } from '@gatehouse/contract/invitations'
import { Problem } from '#ground/kernel/problem.ts'
import { newTrail, type Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import { authorize } from '#rails/authz/authorize.ts'
import { type Kind, selfKind } from '#rails/authz/kind.ts'
import type { Answering } from '#rails/http/answer.ts'
import { findOrganization, lockOrganization } from '../tenancy/organization-queries.ts'
import { lockProject } from '../tenancy/project-queries.ts'
import { type Accepting, endInvitation, invitationTo, setAccepted } from './invitation-queries.ts'
import { judgeForOrganization, judgeForProject } from './judge-inviter.ts'

/** An invitation as the invited person sees it: only such rows are found for him. */
const ownInvitationKind: Kind<Invitation> = {
  type: 'invitation',
  missing: 'invitation_not_found',
  placeOf: ({ id, org_id, project_id }) => ({ id, tenant_id: org_id, project_id, relations: ['invitee'] }),
}

/** The invitation and where it leads, with the organization locked: who belongs there, and as what, stays so from here on. */
const findOwn = async (work: Work, invitation_id: string) => {
  const found = await work.tx.maybe(invitationTo(work.actor.id, invitation_id))
  if (!found) throw new Problem('invitation_not_found')
  const project = found.project_id === null ? null : await work.tx.one(lockProject(found.project_id))
  const organization = await work.tx.one(project ? findOrganization(found.org_id) : lockOrganization(found.org_id))
  // Once more: what was pending before the lock was given may be accepted by now.
  const invitation = await authorize(
    work,
    'me.invitation.accept',
    ownInvitationKind,
    await work.tx.maybe(invitationTo(work.actor.id, invitation_id)),
  )
  return { invitation, organization, project }
}

const isLostAuthority = (error: unknown): boolean =>
  error instanceof Problem &&
  (error.status === 403 || error.status === 404) &&
  // A rule about time or place says nothing about the person; it may hold no longer in an hour.
  (error.details as { reason_code?: string } | undefined)?.reason_code !== 'policy_constraint_denied'

/** An offer of somebody who may not make it any more is void. The refusal rolls this work back, so that is written with the refusal. */
const endWithRefusal = (work: Work, invitation: Accepting): void => {
  work.trail.on_refusal.push(async (refusal) => {
    const reason = 'inviter_lost_authority'
    if (!(await refusal.tx.maybe(endInvitation(invitation, invitation.id, null, reason, refusal.now)))) return
    record(refusal, {
      action: 'invitation.end',
      resource_type: 'invitation',
      resource_id: invitation.id,
      tenant_id: invitation.org_id,
      project_id: invitation.project_id,
      severity: 'warning',
      metadata: { email: invitation.email, role_name: invitation.role_name, inviter_user_id: invitation.inviter_user_id, reason },
    })
  })
}

export const acceptInvitation: Answering<typeof Op> = async (work, { body }) => {
  // Whoever is disabled is told so, and not whether there is such an invitation.
  await authorize(work, 'me.read', selfKind, { id: work.actor.id })
  const { invitation, organization, project } = await findOwn(work, body.invitation_id)
  if (invitation.state !== 'pending') throw new Problem('state_conflict', { state: invitation.state })

  // Judged as the inviter, in a trail of its own: it is no decision about the caller.
  const asInviter: Work = { ...work, actor: { type: 'user', id: invitation.inviter_user_id }, trail: newTrail() }
  const judging = project
    ? judgeForProject(asInviter, invitation, organization, project, work.actor.id)
    : judgeForOrganization(asInviter, invitation, organization, work.actor.id)
  const judged = await judging.catch((error: unknown) => {
    if (!isLostAuthority(error)) throw error
    endWithRefusal(work, invitation)
    throw new Problem('insufficient_permissions', {
      reason_code: 'permission_denied',
      action: project ? 'project.member.invite' : 'tenant.user.invite',
      detail: 'assignment_ceiling',
      because: 'The inviter may no longer give this role. Ask for a new invitation.',
    })
  })
  await judged.join()
  // Ended meanwhile with somebody's refusal, which takes no lock.
  if (!(await work.tx.maybe(setAccepted(invitation, work.actor.id, work.now)))) throw new Problem('state_conflict', { state: 'ended' })
  record(work, {
    action: 'invitation.accept',
    resource_type: 'invitation',
    resource_id: invitation.id,
    tenant_id: organization.id,
    project_id: invitation.project_id,
    severity: judged.severity,
    metadata: {
      user_id: work.actor.id,
      inviter_user_id: invitation.inviter_user_id,
      role_id: invitation.role_id,
      role_name: invitation.role_name,
      version: invitation.version,
      joined: judged.joined,
    },
  })
  return { ...invitation, state: 'accepted' }
}
