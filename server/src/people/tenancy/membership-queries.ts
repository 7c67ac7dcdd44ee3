import { Member } from '@gatehouse/contract/members'
import type { Organization } from '@gatehouse/contract/organizations'
import type { Project } from '@gatehouse/contract/projects'
import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { sql } from '#ground/db/statement.ts'
import type { Authorized } from '#rails/authz/authorize.ts'
import { projectRoleNames, tenantRoleNames } from '#rails/authz/bound-roles.ts'

const Ended = Exactly({ id: Type.String() })
const EndedProject = Exactly({ project_id: Type.String() })

export const tenantMembership = (tenant_id: string, user_id: string) => sql(Ended)`
  select id from tenant_memberships where tenant_id = ${tenant_id} and user_id = ${user_id} and deleted_at is null`

export const insertTenantMembership = (
  organization: Authorized<'platform.admin' | 'tenant.user.invite' | 'tenant.role.assign', Organization>,
  id: string,
  user_id: string,
  created_by: string | null,
  now: string,
) => sql(Ended)`
  insert into tenant_memberships (id, tenant_id, user_id, created_at, created_by)
  values (${id}, ${organization.id}, ${user_id}, ${now}, ${created_by})
  returning id`

export const insertProjectMembership = (
  project: Authorized<'tenant.project.create' | 'tenant.project.appoint_owner' | 'project.member.invite' | 'project.role.assign', Project>,
  id: string,
  user_id: string,
  created_by: string | null,
  now: string,
) => sql(Ended)`
  insert into project_memberships (id, project_id, user_id, created_at, created_by)
  values (${id}, ${project.id}, ${user_id}, ${now}, ${created_by})
  returning id`

export const endTenantMembership = (
  organization: Authorized<'tenant.user.remove' | 'tenant.user.leave', Organization>,
  user_id: string,
  by: string,
  reason: string,
  now: string,
) => sql(Ended)`
  update tenant_memberships set deleted_at = ${now}, deleted_by = ${by}, delete_reason = ${reason}
   where tenant_id = ${organization.id} and user_id = ${user_id} and deleted_at is null
  returning id`

/** What rests on a membership of the organization ends with it. */
export const endProjectMemberships = (
  organization: Authorized<'tenant.user.remove' | 'tenant.user.leave', Organization>,
  user_id: string,
  by: string,
  reason: string,
  now: string,
) => sql(EndedProject)`
  update project_memberships m set deleted_at = ${now}, deleted_by = ${by}, delete_reason = ${reason}
    from projects p
   where p.id = m.project_id and p.org_id = ${organization.id} and m.user_id = ${user_id} and m.deleted_at is null
  returning m.project_id`

export const endProjectMembership = (
  project: Authorized<'project.member.remove' | 'project.member.leave', Project>,
  user_id: string,
  by: string,
  reason: string,
  now: string,
) => sql(EndedProject)`
  update project_memberships set deleted_at = ${now}, deleted_by = ${by}, delete_reason = ${reason}
   where project_id = ${project.id} and user_id = ${user_id} and deleted_at is null
  returning project_id`

export const membersOfOrganization = (org_id: string, after: string | null, limit: number) => sql(Member)`
  select u.id as user_id, u.username, u.email, m.created_at, ${tenantRoleNames('m.tenant_id', 'u.id')} as roles
    from tenant_memberships m join users u on u.id = m.user_id
   where m.tenant_id = ${org_id} and m.deleted_at is null and (${after}::uuid is null or u.id > ${after}::uuid)
   order by u.id limit ${limit}`

export const membersOfProject = (project_id: string, after: string | null, limit: number) => sql(Member)`
  select u.id as user_id, u.username, u.email, m.created_at, ${projectRoleNames('m.project_id', 'u.id')} as roles
    from project_memberships m join users u on u.id = m.user_id
   where m.project_id = ${project_id} and m.deleted_at is null and (${after}::uuid is null or u.id > ${after}::uuid)
   order by u.id limit ${limit}`

export const projectMember = (project_id: string, user_id: string) => sql(Member)`
  select u.id as user_id, u.username, u.email, m.created_at, ${projectRoleNames('m.project_id', 'u.id')} as roles
    from project_memberships m join users u on u.id = m.user_id
   where m.project_id = ${project_id} and m.user_id = ${user_id} and m.deleted_at is null`
