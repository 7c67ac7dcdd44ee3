import Type, { type Static } from 'typebox'
import { listOperation, operation } from './operation.ts'
import { Exactly, Id, Instant, Name, OneOf, Reason, Slug } from './shapes.ts'

export const Project = Exactly({
  id: Id('project'),
  org_id: Id('org'),
  name: Name,
  slug: Slug,
  state: OneOf(['active', 'archived']),
  created_at: Instant,
})
export type Project = Static<typeof Project>

const byId = { project_id: Id('project') }

export const listProjects = listOperation({
  id: 'project.list',
  path: '/api/v1/orgs/:org_id/projects',
  summary: 'The projects of an organization.',
  description:
    'Exactly those that could be read one by one: all that `project.read` shows in the organization, or those that one is a member of, without what rules hide. Whoever has `tenant.project.read` alone is shown all that no rule takes from him.',
  actors: ['user'],
  action: ['tenant.project.read', 'project.read', 'tenant.project.read_own'],
  params: { org_id: Id('org') },
  item: Project,
  problems: ['organization_not_found'],
})

export const createProject = operation({
  id: 'project.create',
  method: 'POST',
  path: '/api/v1/orgs/:org_id/projects',
  summary: 'Create a project. Its creator, or the named member of the organization, becomes its first owner.',
  actors: ['user'],
  action: 'tenant.project.create',
  effect: 'change',
  params: { org_id: Id('org') },
  body: Exactly({ name: Name, slug: Slug, owner_user_id: Type.Optional(Id('user')), reason: Type.Optional(Reason) }),
  reply: Project,
  success: 201,
  problems: ['organization_not_found', 'project_already_exists', 'not_tenant_member', 'role_not_assignable'],
})

export const readProject = operation({
  id: 'project.read',
  method: 'GET',
  path: '/api/v1/projects/:project_id',
  summary: 'One project.',
  actors: ['user', 'service_account'],
  action: 'project.read',
  effect: 'read',
  params: byId,
  reply: Project,
  problems: ['project_not_found'],
})

export const updateProject = operation({
  id: 'project.update',
  method: 'PATCH',
  path: '/api/v1/projects/:project_id',
  summary: 'Rename a project.',
  actors: ['user'],
  action: 'tenant.project.update',
  effect: 'change',
  params: byId,
  body: Exactly({ name: Name, reason: Type.Optional(Reason) }),
  reply: Project,
  problems: ['project_not_found'],
})

export const archiveProject = operation({
  id: 'project.archive',
  method: 'POST',
  path: '/api/v1/projects/:project_id/archive',
  summary: 'Archive a project: until it is restored, only reads are allowed in it.',
  actors: ['user'],
  action: 'tenant.project.update',
  effect: 'change',
  params: byId,
  body: Exactly({ reason: Reason }),
  reply: Project,
  problems: ['project_not_found', 'state_conflict'],
})

export const restoreProject = operation({
  id: 'project.restore',
  method: 'POST',
  path: '/api/v1/projects/:project_id/restore',
  summary: 'Restore an archived project.',
  actors: ['user'],
  action: 'tenant.project.update',
  effect: 'change',
  params: byId,
  body: Exactly({ reason: Reason }),
  reply: Project,
  problems: ['project_not_found', 'state_conflict'],
})
