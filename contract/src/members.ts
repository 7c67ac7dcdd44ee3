import Type, { type Static } from 'typebox'
import { listOperation, operation } from './operation.ts'
import { Exactly, Id, Instant, Nullable, Reason } from './shapes.ts'

const RoleName = Type.String({ minLength: 1, maxLength: 63, pattern: '^[a-z][a-z0-9_-]*$' })

export const Member = Exactly({
  user_id: Id('user'),
  username: Type.String(),
  email: Nullable(Type.String()),
  roles: Type.Array(RoleName),
  created_at: Instant,
})
export type Member = Static<typeof Member>

const org = { org_id: Id('org') }
const project = { project_id: Id('project') }
const user = { user_id: Id('user') }
const Ending = Exactly({ reason: Type.Optional(Reason) })

export const listOrganizationMembers = listOperation({
  id: 'organization.member.list',
  path: '/api/v1/orgs/:org_id/members',
  summary: 'The members of an organization, with their roles.',
  actors: ['user'],
  action: 'tenant.user.read',
  params: org,
  item: Member,
  problems: ['organization_not_found'],
})

export const removeOrganizationMember = operation({
  id: 'organization.member.remove',
  method: 'DELETE',
  path: '/api/v1/orgs/:org_id/members/:user_id',
  summary: 'End a membership of an organization, and with it all that rests on it. One may always leave, unless one is the last owner.',
  actors: ['user'],
  action: ['tenant.user.remove', 'tenant.user.leave'],
  effect: 'change',
  params: { ...org, ...user },
  body: Ending,
  problems: ['organization_not_found', 'member_not_found', 'last_owner'],
})

export const listProjectMembers = listOperation({
  id: 'project.member.list',
  path: '/api/v1/projects/:project_id/members',
  summary: 'The members of a project, with their roles.',
  actors: ['user', 'service_account'],
  action: 'project.member.read',
  params: project,
  item: Member,
  problems: ['project_not_found'],
})

export const addProjectMember = operation({
  id: 'project.member.add',
  method: 'POST',
  path: '/api/v1/projects/:project_id/members',
  summary: 'Add a member of the organization to a project, with a role that is within your own authority.',
  actors: ['user'],
  action: ['project.member.invite', 'project.role.assign'],
  effect: 'change',
  params: project,
  body: Exactly({ user_id: Id('user'), role_name: RoleName, reason: Type.Optional(Reason) }),
  reply: Member,
  success: 201,
  problems: ['project_not_found', 'not_tenant_member', 'role_not_found', 'role_not_assignable', 'member_already_exists'],
})

export const removeProjectMember = operation({
  id: 'project.member.remove',
  method: 'DELETE',
  path: '/api/v1/projects/:project_id/members/:user_id',
  summary: 'End a membership of a project, and with it all that rests on it. One may always leave, unless one is the last owner.',
  actors: ['user'],
  action: ['project.member.remove', 'project.member.leave'],
  effect: 'change',
  params: { ...project, ...user },
  body: Ending,
  problems: ['project_not_found', 'member_not_found', 'last_owner'],
})
