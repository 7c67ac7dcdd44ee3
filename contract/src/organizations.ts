import Type, { type Static } from 'typebox'
import { listOperation, operation } from './operation.ts'
import { Exactly, Id, Instant, Name, OneOf, Reason, Slug } from './shapes.ts'

export const Organization = Exactly({
  id: Id('org'),
  type: OneOf(['personal', 'enterprise']),
  name: Name,
  slug: Slug,
  state: OneOf(['active', 'suspended']),
  created_at: Instant,
})
export type Organization = Static<typeof Organization>

const byId = { org_id: Id('org') }

export const listOrganizations = listOperation({
  id: 'organization.list',
  path: '/api/v1/orgs',
  summary: 'The organizations that the caller may read.',
  description: 'Each item is one for which `tenant.read` is allowed.',
  actors: ['user'],
  action: 'me.read',
  item: Organization,
  problems: [],
})

export const createOrganization = operation({
  id: 'organization.create',
  method: 'POST',
  path: '/api/v1/orgs',
  summary: 'Create an organization and name its first owner.',
  actors: ['user'],
  action: 'platform.admin',
  effect: 'change',
  body: Exactly({ name: Name, slug: Slug, owner_user_id: Id('user'), reason: Type.Optional(Reason) }),
  reply: Organization,
  success: 201,
  problems: ['user_not_found', 'organization_already_exists', 'role_not_assignable'],
})

export const readOrganization = operation({
  id: 'organization.read',
  method: 'GET',
  path: '/api/v1/orgs/:org_id',
  summary: 'One organization.',
  actors: ['user'],
  action: 'tenant.read',
  effect: 'read',
  params: byId,
  reply: Organization,
  problems: ['organization_not_found'],
})

export const updateOrganization = operation({
  id: 'organization.update',
  method: 'PATCH',
  path: '/api/v1/orgs/:org_id',
  summary: 'Rename an organization.',
  actors: ['user'],
  action: 'tenant.update',
  effect: 'change',
  params: byId,
  body: Exactly({ name: Name, reason: Type.Optional(Reason) }),
  reply: Organization,
  problems: ['organization_not_found'],
})

export const suspendOrganization = operation({
  id: 'organization.suspend',
  method: 'POST',
  path: '/api/v1/orgs/:org_id/suspend',
  summary: 'Suspend an organization: until it is resumed, only reads are allowed in it.',
  actors: ['user'],
  action: 'platform.admin',
  effect: 'change',
  params: byId,
  body: Exactly({ reason: Reason }),
  reply: Organization,
  problems: ['organization_not_found', 'state_conflict'],
})

export const resumeOrganization = operation({
  id: 'organization.resume',
  method: 'POST',
  path: '/api/v1/orgs/:org_id/resume',
  summary: 'Resume a suspended organization.',
  actors: ['user'],
  action: 'platform.admin',
  effect: 'change',
  params: byId,
  body: Exactly({ reason: Reason }),
  reply: Organization,
  problems: ['organization_not_found', 'state_conflict'],
})
