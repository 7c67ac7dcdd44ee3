import { Exactly, Nullable } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { sql, sqlPart } from '#ground/db/statement.ts'
import type { PolicyKey } from '../policies/policy-definitions.ts'
import { asMany } from './as-many.ts'
import { boundProjectRoles, boundTenantRoles } from './bound-roles.ts'
import { ownerRoleOf, roleIdOf } from './catalogue.ts'

/** The policy that says where platform roles come from. */
export const platformRoleSource = 'authorization.platform_role_source' satisfies PolicyKey

export const BoundRole = Exactly({
  /** Null: not by a binding, but by the old column of users. */
  binding_id: Nullable(Type.String()),
  role_id: Type.String(),
  role_version_id: Type.String(),
  name: Type.String(),
  version: Type.Integer(),
  is_builtin: Type.Boolean(),
  state: Type.String(),
  /** Until when the bindings of a gracefully disabled role still count. */
  grace_until: Nullable(Type.String()),
  expires_at: Nullable(Type.String()),
  /** Of custom roles; built-ins take theirs from the catalogue. */
  permissions: Type.Array(Type.String()),
})
export type BoundRole = Static<typeof BoundRole>

export const StandingRow = Exactly({
  actor_id: Type.String(),
  is_disabled: Type.Boolean(),
  platform_bindings: Type.Array(BoundRole),
  role_by_column: Nullable(BoundRole),
  was_ever_bound: Type.Boolean(),
  // Whatever stands there: what cannot be read is no source.
  platform_role_source: Type.Unknown(),
  tenant_state: Nullable(Type.String()),
  is_tenant_member: Type.Boolean(),
  tenant_roles: Type.Array(BoundRole),
  project_tenant_id: Nullable(Type.String()),
  project_state: Nullable(Type.String()),
  is_project_member: Type.Boolean(),
  project_roles: Type.Array(BoundRole),
})
export type StandingRow = Static<typeof StandingRow>

/** To the millisecond, like every instant; cut off, so that nothing lasts longer than it may. */
const instant = (column: string) => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
const role = (binding: string, version: string, number: string, expires_at: string, permissions: string) => `
      json_build_object('binding_id', ${binding}, 'role_id', d.id, 'role_version_id', ${version}, 'name', d.name,
        'version', ${number},
        'is_builtin', d.is_builtin, 'state', d.state, 'grace_until', ${instant('d.grace_until')}, 'expires_at', ${expires_at}, 'permissions', ${permissions})`
const currentNumber = '(select rv.version from role_definition_versions rv where rv.id = d.current_version_id)'
const ownKeys = `array(select p.permission_key from role_permissions p where p.role_version_id = v.id and not d.is_builtin)`
export const versioned = sqlPart(`select json_agg(${role('b.id', 'v.id', 'v.version', instant('b.expires_at'), ownKeys)} order by b.id)`)
const platformRole = (binding: string) => role(binding, 'd.current_version_id', currentNumber, 'null', "'[]'::json")
const unversioned = sqlPart(`select json_agg(${platformRole('b.id')} order by b.id)`)
const unbound = sqlPart(`select ${platformRole('null')}`)

/** The role that the old column of users stands for. */
const roleOfColumn = roleIdOf(ownerRoleOf.platform)

/** Everything the engine needs to know about each person in each place. Ended rows do not exist here; an unknown person has no row. */
export const standingsOf = (
  user_ids: readonly string[],
  tenant_ids: readonly (string | null)[],
  project_ids: readonly (string | null)[],
) => sql(Exactly({ n: Type.Integer(), ...StandingRow.properties }))`
  select
    place.n::int as n,
    u.id as actor_id,
    u.disabled_at is not null as is_disabled,
    coalesce((
      ${unversioned}
        from platform_role_bindings b join role_definitions d on d.id = b.role_definition_id
       where b.principal_type = 'user' and b.principal_id = u.id and b.deleted_at is null), '[]') as platform_bindings,
    (${unbound} from role_definitions d where d.id = ${roleOfColumn} and u.role = 'admin') as role_by_column,
    exists (
      select from platform_role_bindings b where b.principal_type = 'user' and b.principal_id = u.id) as was_ever_bound,
    (select v.value from policy_values v
      where v.key = ${platformRoleSource} and v.scope_type = 'global' and v.replaced_at is null) as platform_role_source,
    o.state as tenant_state,
    exists (
      select from tenant_memberships m
       where m.tenant_id = o.id and m.user_id = u.id and m.deleted_at is null) as is_tenant_member,
    coalesce((${versioned} ${boundTenantRoles('o.id', 'u.id')}), '[]') as tenant_roles,
    p.org_id as project_tenant_id,
    p.state as project_state,
    exists (
      select from project_memberships m
       where m.project_id = p.id and m.user_id = u.id and m.deleted_at is null) as is_project_member,
    coalesce((${versioned} ${boundProjectRoles('p.id', 'u.id')}), '[]') as project_roles
    from (select * from unnest(${user_ids}::uuid[], ${tenant_ids}::uuid[], ${project_ids}::uuid[]) with ordinality ${asMany(user_ids)})
         as place (user_id, tenant_id, project_id, n)
    join users u on u.id = place.user_id
    left join organizations o on o.id = place.tenant_id and o.deleted_at is null
    left join projects p on p.id = place.project_id and p.org_id = place.tenant_id`
