import Type, { type Static, type TProperties } from 'typebox'
import { Member } from './members.ts'
import { listOperation, operation } from './operation.ts'
import type { ProblemCode } from './problems.ts'
import { inOrganization, inProject, RoleName } from './roles.ts'
import { Exactly, Id, Instant, Named, Nullable, OneOf, Reason } from './shapes.ts'

const maybe = Type.Optional
const Version = Type.Integer({ minimum: 1, maximum: 2_147_483_647 })

// Neither blanks, nor what cannot be seen, nor the signs with which mail writes more than one bare address.
const part = '[^\\s\\p{C}@<>()\\[\\]\\\\,;:"]+'
const Email = Type.String({
  minLength: 3,
  maxLength: 320,
  pattern: `^[^\\S\\p{C}]*${part}@${part}[^\\S\\p{C}]*$`,
  description: 'One bare address. Capitals do not matter; beyond ASCII there may be none.',
})

export const invitationStates = ['pending', 'accepted', 'ended', 'expired'] as const

export const Invitation = Named('Invitation', {
  id: Id('invitation'),
  org_id: Id('org'),
  org_name: Type.String(),
  project_id: Nullable(Id('project')),
  project_name: Nullable(Type.String()),
  email: Type.String(),
  role_id: Id('role'),
  role_name: RoleName,
  version: Version,
  inviter_user_id: Id('user'),
  state: OneOf(invitationStates),
  created_at: Instant,
  ends_at: Instant,
})
export type Invitation = Static<typeof Invitation>

/** A member of the organization needs no invitation into a project of it: they are added at once. */
const Invited = Exactly({
  status: OneOf(['pending', 'added']),
  invitation: Nullable(Invitation),
  member: Nullable(Member),
})
export type Invited = Static<typeof Invited>

interface InvitingScope<P extends TProperties, A extends string> {
  readonly name: string
  readonly whose: string
  readonly path: string
  readonly params: P
  /** Who may add a member with a role: by either key. */
  readonly invite: readonly A[]
  readonly missing: ProblemCode
}

const createIn = <P extends TProperties, const A extends string>(
  { name, path, params, invite, missing }: InvitingScope<P, A>,
  summary: string,
  more: readonly ProblemCode[] = [],
) =>
  operation({
    id: `invitation.create_${name}`,
    // A member of the organization is added to its project at once, and needs no invitation.
    recorded_as: ['invitation.create', 'project.member.add'],
    method: 'POST',
    path: `${path}/invitations`,
    summary,
    description: 'It waits as long as policy `tenancy.invitation_ttl_seconds` says. No mail is sent: tell the person yourself.',
    actors: ['user'],
    action: invite,
    effect: 'change',
    params,
    body: Exactly({
      email: Email,
      role_id: maybe(Id('role')),
      role_name: maybe(RoleName),
      version: maybe(Version),
      reason: maybe(Reason),
    }),
    reply: Invited,
    success: 201,
    problems: [missing, 'role_not_found', 'role_not_assignable', 'member_already_exists', 'invitation_already_exists', ...more],
  })

const listIn = <P extends TProperties, const A extends string>({ name, whose, path, params, invite, missing }: InvitingScope<P, A>) =>
  listOperation({
    id: `invitation.list_${name}`,
    path: `${path}/invitations`,
    summary: `The invitations into ${whose} that wait to be accepted.`,
    actors: ['user'],
    action: invite,
    params,
    item: Invitation,
    problems: [missing],
  })

const endIn = <P extends TProperties, const A extends string>({ name, path, params, invite, missing }: InvitingScope<P, A>) =>
  operation({
    id: `invitation.end_${name}`,
    recorded_as: 'invitation.end',
    method: 'DELETE',
    path: `${path}/invitations/:invitation_id`,
    summary: 'Take an invitation back that nobody has accepted.',
    actors: ['user'],
    action: invite,
    effect: 'change',
    params: { ...params, invitation_id: Id('invitation') },
    body: Exactly({ reason: maybe(Reason) }),
    problems: [missing, 'invitation_not_found'],
  })

const organization = { ...inOrganization, invite: ['tenant.user.invite', 'tenant.role.assign'] } as const
const project = { ...inProject, invite: ['project.member.invite', 'project.role.assign'] } as const

export const inviteToOrganization = createIn(
  organization,
  'Invite an address into an organization, with a role that is within your own authority.',
)
export const inviteToProject = createIn(
  project,
  'Add the member of the organization with this address to a project, or invite whoever has it into both, with a role that is within your own authority.',
  ['not_tenant_member', 'state_conflict'],
)
export const listOrganizationInvitations = listIn(organization)
export const listProjectInvitations = listIn(project)
export const endOrganizationInvitation = endIn(organization)
export const endProjectInvitation = endIn(project)

export const listMyInvitations = listOperation({
  id: 'me.invitation.list',
  path: '/api/v1/me/invitations',
  summary: 'The invitations to your verified address that wait to be accepted.',
  actors: ['user'],
  action: 'me.read',
  item: Invitation,
  problems: [],
})

export const acceptInvitation = operation({
  id: 'invitation.accept',
  method: 'POST',
  path: '/api/v1/invitations/accept',
  summary: 'Accept an invitation to your verified address, while the inviter may still give what they offered.',
  actors: ['user'],
  action: 'me.invitation.accept',
  effect: 'change',
  body: Exactly({ invitation_id: Id('invitation') }),
  reply: Invitation,
  problems: ['invitation_not_found', 'state_conflict', 'role_not_assignable', 'member_already_exists'],
})
