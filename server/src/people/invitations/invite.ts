import type { Invited, inviteToOrganization as ToOrganization, inviteToProject as ToProject } from '@gatehouse/contract/invitations'
import type { Input } from '@gatehouse/contract/operation'
import type { Role, RoleVersion } from '@gatehouse/contract/roles'
import { newId } from '#ground/kernel/ids.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import { type Authority, authorityOf, authorize } from '#rails/authz/authorize.ts'
import { grantSeverity, requireNoSelfGrant } from '#rails/authz/override-limits.ts'
import type { Answering } from '#rails/http/answer.ts'
import { readPolicy } from '#rails/policies/read-policy.ts'
import { assignableRole } from '../roles/bind-role.ts'
import { insertProjectBinding } from '../roles/binding-queries.ts'
import { requireWithinCeiling } from '../roles/ceiling.ts'
import { insertProjectMembership, projectMember } from '../tenancy/membership-queries.ts'
import { organizationKind } from '../tenancy/organization.ts'
import { findOrganization, lockOrganization } from '../tenancy/organization-queries.ts'
import { projectKind } from '../tenancy/project.ts'
import { lockProject } from '../tenancy/project-queries.ts'
import { settleAddress } from './address.ts'
import { addressOf, endExpired, findInvitation, insertInvitation, membersAt } from './invitation-queries.ts'
import { type Inviting, type InvitingProject, intoOrganization, intoProject, scopeOf } from './inviting.ts'

type Body = Input<typeof ToOrganization>['body']

/** What is offered, to which address, and by which authority. */
interface Offer {
  readonly email: string
  readonly role: Role
  readonly version: RoleVersion
  readonly authority: Authority
  readonly reason: string | null
}

const offerOf = async (work: Work, inviting: Inviting, body: Body): Promise<Offer> => {
  const email = settleAddress(body.email)
  const scope = scopeOf(inviting)
  const { role, version } = await assignableRole(work, scope, body)
  const authority = requireWithinCeiling(authorityOf(inviting), scope.tier, version.permissions)
  if ((await work.tx.maybe(addressOf(work.actor.id)))?.email === email) requireNoSelfGrant(work, authority, work.actor.id)
  return { email, role, version, authority, reason: body.reason ?? null }
}

const offer = async (work: Work, inviting: Inviting, { email, role, version, authority, reason }: Offer): Promise<Invited> => {
  const scope = scopeOf(inviting)
  const place = { tenant_id: scope.org_id, project_id: scope.project_id }
  const ttl_seconds = await readPolicy(work.tx, 'tenancy.invitation_ttl_seconds', place)
  const expired = await work.tx.maybe(endExpired(inviting, scope, email, work.now))
  const id = newId('invitation')
  await work.tx.one(insertInvitation(inviting, scope, { id, email, role_version_id: version.id, ttl_seconds }, work.actor.id, work.now))
  const invitation = await work.tx.one(findInvitation(scope, id))
  const { ends_at } = invitation
  record(work, {
    action: 'invitation.create',
    resource_type: 'invitation',
    resource_id: id,
    ...place,
    severity: grantSeverity(authority),
    metadata: { email, role_id: role.id, role_name: role.name, version: version.version, ends_at, expired: expired?.id ?? null, reason },
  })
  return { status: 'pending', invitation, member: null }
}

export const inviteToOrganization: Answering<typeof ToOrganization> = async (work, { params, body }) => {
  const organization = await authorize(work, intoOrganization, organizationKind, await work.tx.maybe(lockOrganization(params.org_id)))
  const offered = await offerOf(work, organization, body)
  if ((await work.tx.many(membersAt(organization.id, offered.email))).length > 0) throw new Problem('member_already_exists')
  return offer(work, organization, offered)
}

/** A member of the organization has agreed to belong to it already. */
const addAtOnce = async (
  work: Work,
  project: InvitingProject,
  user_id: string,
  { role, version, authority, reason }: Offer,
): Promise<Invited> => {
  requireNoSelfGrant(work, authority, user_id)
  await work.tx.one(insertProjectMembership(project, newId('membership'), user_id, work.actor.id, work.now))
  await work.tx.one(insertProjectBinding(project, newId('binding'), user_id, version.id, work.actor.id, work.now))
  record(work, {
    action: 'project.member.add',
    resource_type: 'project_membership',
    resource_id: user_id,
    tenant_id: project.org_id,
    project_id: project.id,
    severity: grantSeverity(authority),
    metadata: { user_id, role_name: role.name, version: version.version, reason },
  })
  return { status: 'added', invitation: null, member: await work.tx.one(projectMember(project.id, user_id)) }
}

/** Whoever comes from outside becomes a member of the organization too, which is for those to offer who invite into it. */
const requireInvitingIntoOrganization = async (work: Work, org_id: string): Promise<Authority> => {
  const organization = await work.tx.one(findOrganization(org_id))
  const inviting = await authorize(work, 'tenant.user.invite', organizationKind, organization).catch((error: unknown) => {
    throw error instanceof Problem && error.code === 'insufficient_permissions' ? new Problem('not_tenant_member') : error
  })
  return authorityOf(inviting)
}

export const inviteToProject: Answering<typeof ToProject> = async (work, { params, body }) => {
  const project = await authorize(work, intoProject, projectKind, await work.tx.maybe(lockProject(params.project_id)))
  const offered = await offerOf(work, project, body)
  const members = await work.tx.many(membersAt(project.org_id, offered.email))
  // Two providers vouch for one address: whom it means, its id must say.
  if (members.length > 1) throw new Problem('state_conflict', { state: 'ambiguous' })
  const member = members[0]
  if (member) return addAtOnce(work, project, member.user_id, offered)
  const { is_override } = await requireInvitingIntoOrganization(work, project.org_id)
  const authority = { ...offered.authority, is_override: offered.authority.is_override || is_override }
  if ((await work.tx.maybe(addressOf(work.actor.id)))?.email === offered.email) requireNoSelfGrant(work, authority, work.actor.id)
  return offer(work, project, { ...offered, authority })
}
