import type { Project } from '@gatehouse/contract/projects'
import type { Kind } from '#rails/authz/kind.ts'

export const projectKind: Kind<Project> = {
  type: 'project',
  missing: 'project_not_found',
  placeOf: ({ id, org_id }) => ({ id, tenant_id: org_id, project_id: id, relations: [] }),
}

/**
 * A project as its organization sees it. Nothing but reads is allowed in an archived project, so bringing it back is
 * judged as something done in the organization, not in the project.
 */
export const projectInOrganizationKind: Kind<Project> = {
  ...projectKind,
  placeOf: ({ id, org_id }) => ({ id, tenant_id: org_id, project_id: null, relations: [] }),
}

export const projectMemberKind: Kind<Project & { user_id: string }> = {
  type: 'project_membership',
  missing: 'project_not_found',
  placeOf: ({ id, org_id, user_id }, actor) => ({
    id: user_id,
    tenant_id: org_id,
    project_id: id,
    relations: actor.type === 'user' && actor.id === user_id ? ['self'] : [],
  }),
}
