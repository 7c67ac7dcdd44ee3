import type { Organization } from '@gatehouse/contract/organizations'
import type { Project } from '@gatehouse/contract/projects'
import type { Work } from '#ground/work/work.ts'
import { type Authorized, authorize } from '#rails/authz/authorize.ts'
import type { Kind } from '#rails/authz/kind.ts'
import type { RoleScope, ScopeParams } from '../roles/role-scope.ts'
import { organizationKind } from '../tenancy/organization.ts'
import { findOrganization, lockOrganization } from '../tenancy/organization-queries.ts'
import { projectKind } from '../tenancy/project.ts'
import { findProject, lockProject } from '../tenancy/project-queries.ts'

/** Adding somebody with a role is for those who may invite and for those who may assign. */
export const intoOrganization = ['tenant.user.invite', 'tenant.role.assign'] as const
export const intoProject = ['project.member.invite', 'project.role.assign'] as const
export type InvitingOrganization = Authorized<(typeof intoOrganization)[number], Organization>
export type InvitingProject = Authorized<(typeof intoProject)[number], Project>
export type Inviting = InvitingOrganization | InvitingProject

export const scopeOf = (place: Organization | Project): RoleScope =>
  'org_id' in place
    ? { tier: 'project', id: place.id, org_id: place.org_id, project_id: place.id }
    : { tier: 'tenant', id: place.id, org_id: place.id, project_id: null }

/** An invitation, before it is known whether it is there: it is judged by where it would be. */
const about = <R>(kind: Kind<R>, id: string | undefined): Kind<R> => ({
  ...kind,
  type: 'invitation',
  placeOf: (row, actor) => ({ ...kind.placeOf(row, actor), ...(id === undefined ? {} : { id }) }),
})

const authorizeIn = async (work: Work, { org_id, project_id }: ScopeParams, id: string | undefined, lock: boolean): Promise<Inviting> => {
  if (project_id !== undefined) {
    const project = await work.tx.maybe(lock ? lockProject(project_id) : findProject(project_id))
    return authorize(work, intoProject, about(projectKind, id), project)
  }
  const organization = await work.tx.maybe(lock ? lockOrganization(org_id!) : findOrganization(org_id!))
  return authorize(work, intoOrganization, about(organizationKind, id), organization)
}

/** Who may invite sees who is invited, and may take it back. */
export const authorizeToSee = (work: Work, params: ScopeParams) => authorizeIn(work, params, undefined, false)
export const authorizeToEnd = (work: Work, params: ScopeParams, id: string) => authorizeIn(work, params, id, true)
