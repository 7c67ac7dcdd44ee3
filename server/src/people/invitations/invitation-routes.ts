import * as invitations from '@gatehouse/contract/invitations'
import { answer } from '#rails/http/answer.ts'
import { acceptInvitation } from './accept-invitation.ts'
import { endInvitation } from './end-invitation.ts'
import { inviteToOrganization, inviteToProject } from './invite.ts'
import { listInvitations, listMyInvitations } from './list-invitations.ts'

export const invitationRoutes = [
  answer(invitations.inviteToOrganization, inviteToOrganization),
  answer(invitations.inviteToProject, inviteToProject),
  answer(invitations.listOrganizationInvitations, listInvitations),
  answer(invitations.listProjectInvitations, listInvitations),
  answer(invitations.endOrganizationInvitation, endInvitation),
  answer(invitations.endProjectInvitation, endInvitation),
  answer(invitations.listMyInvitations, listMyInvitations),
  answer(invitations.acceptInvitation, acceptInvitation),
]
