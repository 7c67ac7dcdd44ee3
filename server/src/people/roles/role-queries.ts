import { Role, RoleVersion } from '@gatehouse/contract/roles'
import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { sql, sqlPart } from '#ground/db/statement.ts'
import type { Authorized } from '#rails/authz/authorize.ts'
import type { RoleScope, ScopeFor } from './role-scope.ts'

const permissionsOf = (version: string) =>
  `array(select p.permission_key from role_permissions p where p.role_version_id = ${version} order by p.permission_key collate "C")`

const Made = Exactly({ id: Type.String() })

const role = sqlPart(`
  select d.id, d.scope_type, coalesce(d.tenant_id, (select p.org_id from projects p where p.id = d.project_id)) as org_id, d.project_id,
         d.name, d.description, d.is_builtin, d.is_assignable_to_service_accounts, d.state, d.disable_mode, d.disabled_at, d.grace_until,
         v.version, ${permissionsOf('v.id')} as permissions, d.created_at
    from role_definitions d join role_definition_versions v on v.id = d.current_version_id`)

/** What can be bound in a scope: the built-in roles of its tier, and its own. */
export const rolesIn = ({ tier, id }: RoleScope, after: string | null, limit: number) => sql(Role)`
  ${role}
   where d.scope_type = ${tier} and (d.is_builtin or d.scope_id = ${id}) and d.deleted_at is null
     and (${after}::uuid is null or d.id > ${after}::uuid)
   order by d.id limit ${limit}`

export const findRole = ({ tier, id }: RoleScope, role_id: string) => sql(Role)`
  ${role}
   where d.id = ${role_id} and d.scope_type = ${tier} and (d.is_builtin or d.scope_id = ${id}) and d.deleted_at is null`

/** Also one that was deleted: what it gave stays a fact that bindings and the record point at. */
export const findRoleEver = ({ tier, id }: RoleScope, role_id: string) => sql(Made)`
  select d.id from role_definitions d where d.id = ${role_id} and d.scope_type = ${tier} and (d.is_builtin or d.scope_id = ${id})`

/** Those of the code, of every tier. */
export const builtinRoles = (after: string | null, limit: number) => sql(Role)`
  ${role}
   where d.is_builtin and (${after}::uuid is null or d.id > ${after}::uuid)
   order by d.id limit ${limit}`

/** Locked against whoever would disable, change or end it meanwhile. */
export const lockRole = ({ tier, id }: RoleScope, role_id: string) => sql(Role)`
  ${role}
   where d.id = ${role_id} and d.scope_type = ${tier} and (d.is_builtin or d.scope_id = ${id}) and d.deleted_at is null
     for no key update of d`

/** Who binds a role looks at it while nobody may disable or end it; others may bind it at the same time. */
export const shareRole = ({ tier, id }: RoleScope, role_id: string | null, name: string | null) => sql(Role)`
  ${role}
   where (d.id = ${role_id}::uuid or d.name = ${name}::text) and d.scope_type = ${tier} and (d.is_builtin or d.scope_id = ${id}) and d.deleted_at is null
     for share of d`

/** The owner roles of several tiers, in one order, so that two who ask do not wait for each other. */
export const shareOwnerRoles = (names: readonly string[]) => sql(Exactly({ state: Type.String() }))`
  select d.state from role_definitions d where d.is_builtin and d.name = any(${names}::text[]) order by d.id for share of d`

export const lockBuiltinRole = (role_id: string) => sql(Role)`
  ${role}
   where d.id = ${role_id} and d.is_builtin
     for no key update of d`

/** For the platform's own roles; whoever asks holds the platform's lock. */
export const sharePlatformRole = (role_id: string | null, name: string | null) => sql(Role)`
  ${role}
   where (d.id = ${role_id}::uuid or d.name = ${name}::text) and d.scope_type = 'platform' and d.is_builtin
     for share of d`

export const insertRole = (
  scope: ScopeFor<'define'>,
  { id, version_id, name, description, is_for_service_accounts }: NewRole,
  now: string,
) => sql(Made)`
  insert into role_definitions (id, scope_type, tenant_id, project_id, name, description, is_builtin, is_assignable_to_service_accounts,
                                current_version_id, created_at)
  values (${id}, ${scope.tier}, ${scope.tier === 'tenant' ? scope.id : null}, ${scope.project_id}, ${name}, ${description}, false,
          ${is_for_service_accounts}, ${version_id}, ${now})
  returning id`

interface NewRole {
  readonly id: string
  readonly version_id: string
  readonly name: string
  readonly description: string | null
  readonly is_for_service_accounts: boolean
}

interface NewVersion {
  readonly id: string
  readonly role_id: string
  readonly version: number
  readonly permissions: readonly string[]
  readonly reason: string | null
}

export const insertVersion = (
  _scope: ScopeFor<'define'>,
  { id, role_id, version, permissions, reason }: NewVersion,
  by: string,
  now: string,
) => sql(Made)`
  with made as (
    insert into role_definition_versions (id, role_definition_id, version, created_at, created_by_user_id, reason)
    values (${id}, ${role_id}, ${version}, ${now}, ${by}, ${reason})
    returning id
  ), given as (
    insert into role_permissions (role_version_id, permission_key) select made.id, key from made, unnest(${permissions}::text[]) as key
    returning role_version_id
  )
  select made.id from made where (select count(*) from given) >= 0`

export const setCurrentVersion = (
  _scope: ScopeFor<'define'>,
  role_id: string,
  version_id: string,
  { description, is_for_service_accounts }: Pick<NewRole, 'description' | 'is_for_service_accounts'>,
) => sql(Made)`
  update role_definitions
     set current_version_id = ${version_id}, description = ${description}, is_assignable_to_service_accounts = ${is_for_service_accounts}
   where id = ${role_id} and not is_builtin
  returning id`

/** Active bindings on another version than the current one. */
export const bindingsOnOlderVersions = (role_id: string) => sql(Exactly({ count: Type.Integer() }))`
  select (select count(*) from tenant_role_bindings b join role_definitions d on d.id = b.role_definition_id
           where b.role_definition_id = ${role_id} and b.deleted_at is null and b.role_version_id <> d.current_version_id
             and (b.expires_at is null or b.expires_at > transaction_timestamp()))::int
       + (select count(*) from project_role_bindings b join role_definitions d on d.id = b.role_definition_id
           where b.role_definition_id = ${role_id} and b.deleted_at is null and b.role_version_id <> d.current_version_id
             and (b.expires_at is null or b.expires_at > transaction_timestamp()))::int as count`

export const versionsOf = (role_id: string, after: number, limit: number) => sql(RoleVersion)`
  select v.id, v.role_definition_id as role_id, v.version, ${sqlPart(permissionsOf('v.id'))} as permissions, v.reason, v.created_at,
         v.created_by_user_id as created_by
    from role_definition_versions v
   where v.role_definition_id = ${role_id} and v.version > ${after}
   order by v.version limit ${limit}`

export const findVersion = (role_id: string, version: number) => sql(RoleVersion)`
  select v.id, v.role_definition_id as role_id, v.version, ${sqlPart(permissionsOf('v.id'))} as permissions, v.reason, v.created_at,
         v.created_by_user_id as created_by
    from role_definition_versions v
   where v.role_definition_id = ${role_id} and v.version = ${version}`

/** Whoever may change a role's state: its scope's definer, or the platform for built-in ones. */
export type RoleKeeper = ScopeFor<'define'> | Authorized<'platform.admin', object>

export const endRole = (_scope: ScopeFor<'define'>, role_id: string, by: string, reason: string, now: string) => sql(Made)`
  update role_definitions set deleted_at = ${now}, deleted_by_user_id = ${by}, delete_reason = ${reason}
   where id = ${role_id} and not is_builtin and deleted_at is null
  returning id`

export const setRoleDisabled = (
  _keeper: RoleKeeper,
  role_id: string,
  { mode, reason, by_platform, grace_seconds }: { mode: string; reason: string; by_platform: boolean; grace_seconds: number | null },
  by: string,
  now: string,
) => sql(Made)`
  update role_definitions
     set state = 'disabled', disable_mode = ${mode}, disabled_at = ${now}, disabled_by = ${by}, disable_reason = ${reason},
         is_disabled_by_platform = is_disabled_by_platform or ${by_platform},
         -- A second disable never makes it later.
         grace_until = case when ${grace_seconds}::int is not null
           then least(grace_until, ${now}::timestamptz + make_interval(secs => ${grace_seconds}::int)) end
   where id = ${role_id}
  returning id`

export const setRoleEnabled = (_keeper: RoleKeeper, role_id: string) => sql(Made)`
  update role_definitions
     set state = 'active', disable_mode = null, disabled_at = null, disabled_by = null, disable_reason = null, is_disabled_by_platform = false,
         grace_until = null
   where id = ${role_id}
  returning id`

export const isDisabledByPlatform = (role_id: string) => sql(Exactly({ is_disabled_by_platform: Type.Boolean() }))`
  select is_disabled_by_platform from role_definitions where id = ${role_id}`
