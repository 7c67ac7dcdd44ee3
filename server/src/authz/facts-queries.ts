import { Exactly, Nullable } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { sql, sqlPart } from '../db/statement.ts'
import { activeProjectRoles, activeTenantRoles } from './active-roles.ts'

const BoundRole = Exactly({
  name: Type.String(),
  is_builtin: Type.Boolean(),
  state: Type.String(),
  /** Of custom roles; built-ins take theirs from the catalogue. */
  permissions: Type.Array(Type.String()),
})

const UserFacts = Exactly({
  is_disabled: Type.Boolean(),
  platform_roles: Type.Array(BoundRole),
  tenant_state: Nullable(Type.String()),
  is_tenant_member: Type.Boolean(),
  tenant_roles: Type.Array(BoundRole),
  project_state: Nullable(Type.String()),
  is_project_member: Type.Boolean(),
  project_roles: Type.Array(BoundRole),
})

const withPermissions = sqlPart(`
      select jsonb_agg(jsonb_build_object('name', d.name, 'is_builtin', d.is_builtin, 'state', d.state, 'permissions', array(
               select p.permission_key from role_permissions p where p.role_version_id = v.id and not d.is_builtin)))`)

/** Everything the engine needs to know about one person in one place, in one read. Ended rows do not exist here. */
export const userFacts = (user_id: string, tenant_id: string | null, project_id: string | null) => sql(UserFacts)`
  select
    u.disabled_at is not null as is_disabled,
    coalesce((
      select jsonb_agg(jsonb_build_object('name', d.name, 'is_builtin', d.is_builtin, 'state', d.state, 'permissions', '[]'::jsonb))
        from platform_role_bindings b join role_definitions d on d.id = b.role_definition_id
       where b.principal_type = 'user' and b.principal_id = u.id and b.deleted_at is null), '[]') as platform_roles,
    (select o.state from organizations o where o.id = place.tenant_id and o.deleted_at is null) as tenant_state,
    exists (
      select from tenant_memberships m join organizations o on o.id = m.tenant_id and o.deleted_at is null
       where m.tenant_id = place.tenant_id and m.user_id = u.id and m.deleted_at is null) as is_tenant_member,
    coalesce((${withPermissions} ${activeTenantRoles('place.tenant_id', 'u.id')}), '[]') as tenant_roles,
    (select p.state from projects p where p.id = place.project_id) as project_state,
    exists (
      select from project_memberships m
       where m.project_id = place.project_id and m.user_id = u.id and m.deleted_at is null) as is_project_member,
    coalesce((${withPermissions} ${activeProjectRoles('place.project_id', 'u.id')}), '[]') as project_roles
  from users u, (select ${tenant_id}::uuid as tenant_id, ${project_id}::uuid as project_id) as place
 where u.id = ${user_id}::uuid`
