import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { sql } from '#ground/db/statement.ts'
import type { Authorized } from '#rails/authz/authorize.ts'

const Bound = Exactly({ id: Type.String() })
const OwnerRow = Exactly({ principal_id: Type.String(), is_disabled: Type.Boolean() })

/** A place and the right to bind somebody in it: the proof is the place, so it cannot be used for another. */
type GrantingTenant = Authorized<'platform.admin' | 'tenant.user.invite' | 'tenant.role.assign', { readonly id: string }>
type GrantingProject = Authorized<
  'tenant.project.create' | 'tenant.project.appoint_owner' | 'project.member.invite' | 'project.role.assign',
  { readonly id: string }
>

export const insertPlatformBinding = (
  _platform: Authorized<'platform.admin', object>,
  id: string,
  user_id: string,
  role_id: string,
  created_by: string | null,
  now: string,
) => sql(Bound)`
  insert into platform_role_bindings (id, principal_type, principal_id, role_definition_id, created_at, created_by)
  values (${id}, 'user', ${user_id}, ${role_id}, ${now}, ${created_by})
  returning id`

export const insertTenantBinding = (
  tenant: GrantingTenant,
  id: string,
  user_id: string,
  role_version_id: string,
  created_by: string | null,
  now: string,
) => sql(Bound)`
  insert into tenant_role_bindings (id, tenant_id, principal_type, principal_id, role_version_id, created_at, created_by)
  values (${id}, ${tenant.id}, 'user', ${user_id}, ${role_version_id}, ${now}, ${created_by})
  returning id`

export const insertProjectBinding = (
  project: GrantingProject,
  id: string,
  user_id: string,
  role_version_id: string,
  created_by: string | null,
  now: string,
) => sql(Bound)`
  insert into project_role_bindings (id, project_id, principal_type, principal_id, role_version_id, created_at, created_by)
  values (${id}, ${project.id}, 'user', ${user_id}, ${role_version_id}, ${now}, ${created_by})
  returning id`

type EndingTenant = Authorized<'tenant.user.remove', { readonly id: string }>
type EndingProject = Authorized<'project.member.remove', { readonly id: string }>

export const endTenantBindings = (tenant: EndingTenant, user_id: string, by: string, reason: string, now: string) => sql(Bound)`
  update tenant_role_bindings set deleted_at = ${now}, deleted_by = ${by}, delete_reason = ${reason}
   where tenant_id = ${tenant.id} and principal_type = 'user' and principal_id = ${user_id} and deleted_at is null
  returning id`

export const endProjectBindings = (project: EndingProject, user_id: string, by: string, reason: string, now: string) => sql(Bound)`
  update project_role_bindings set deleted_at = ${now}, deleted_by = ${by}, delete_reason = ${reason}
   where project_id = ${project.id} and principal_type = 'user' and principal_id = ${user_id} and deleted_at is null
  returning id`

/** A service account's bindings end with it. */
export const endServiceAccountBindings = (
  project: Authorized<'project.service_account.manage', { readonly id: string }>,
  service_account_id: string,
  by: string,
  reason: string,
  now: string,
) => sql(Bound)`
  update project_role_bindings set deleted_at = ${now}, deleted_by = ${by}, delete_reason = ${reason}
   where project_id = ${project.id} and principal_type = 'service_account' and principal_id = ${service_account_id} and deleted_at is null
  returning id`

/** Who holds this role of a tenant. Ending a membership ends its bindings, and an owner's binding has no end of its own. */
export const tenantHolders = (tenant_id: string, role_version_id: string) => sql(OwnerRow)`
  select b.principal_id, u.disabled_at is not null as is_disabled from tenant_role_bindings b join users u on u.id = b.principal_id
   where b.tenant_id = ${tenant_id} and b.role_version_id = ${role_version_id} and b.principal_type = 'user' and b.deleted_at is null`

export const projectHolders = (project_id: string, role_version_id: string) => sql(OwnerRow)`
  select b.principal_id, u.disabled_at is not null as is_disabled from project_role_bindings b join users u on u.id = b.principal_id
   where b.project_id = ${project_id} and b.role_version_id = ${role_version_id} and b.principal_type = 'user' and b.deleted_at is null`
