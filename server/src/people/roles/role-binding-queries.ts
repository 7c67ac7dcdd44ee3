import { PlatformRoleBinding, RoleBinding } from '@gatehouse/contract/role-bindings'
import { Exactly } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { identifier, sql, sqlPart } from '#ground/db/statement.ts'
import type { Authorized } from '#rails/authz/authorize.ts'
import { BoundRole } from '#rails/authz/standing-queries.ts'
import type { AssignScope, RoleScope, ScopeFor } from './role-scope.ts'

const tableOf = ({ tier }: RoleScope) => identifier(`${tier}_role_bindings`)
const columnOf = ({ tier }: RoleScope) => identifier(`${tier}_id`)

const binding = sqlPart(`
  select b.id, b.principal_type, b.principal_id, d.id as role_id, d.name as role_name, v.version, b.created_at, b.created_by, b.expires_at`)
const ofRole = sqlPart(
  `b join role_definition_versions v on v.id = b.role_version_id join role_definitions d on d.id = b.role_definition_id`,
)
/** What has come to its end is over, whether or not somebody has ended it. */
const isLive = sqlPart(`b.deleted_at is null and (b.expires_at is null or b.expires_at > transaction_timestamp())`)

export const bindingsIn = (scope: RoleScope, after: string | null, limit: number) => sql(RoleBinding)`
  ${binding} from ${tableOf(scope)} ${ofRole}
   where b.${columnOf(scope)} = ${scope.id} and ${isLive} and d.deleted_at is null and (${after}::uuid is null or b.id > ${after}::uuid)
   order by b.id limit ${limit}`

export const findBinding = (scope: RoleScope, binding_id: string) => sql(RoleBinding)`
  ${binding} from ${tableOf(scope)} ${ofRole}
   where b.${columnOf(scope)} = ${scope.id} and b.id = ${binding_id} and b.deleted_at is null`

/** The binding to this role that somebody has there, in whatever version, live or past its end. */
export const bindingToRole = (scope: RoleScope, principal_type: string, principal_id: string, role_id: string) => sql(RoleBinding)`
  ${binding} from ${tableOf(scope)} ${ofRole}
   where b.${columnOf(scope)} = ${scope.id} and b.principal_type = ${principal_type} and b.principal_id = ${principal_id}
     and b.role_definition_id = ${role_id} and b.deleted_at is null`

const Made = Exactly({ id: Type.String() })

export interface NewBinding {
  readonly id: string
  readonly principal_type: string
  readonly principal_id: string
  readonly role_version_id: string
  readonly expires_at: string | null
}

/** Who may bind somebody in a scope: its assigner, or its definer when a whole role moves on. */
type Binding = AssignScope | ScopeFor<'define'>

export const insertBinding = (scope: Binding, made: NewBinding, by: string, now: string) => sql(Made)`
  insert into ${tableOf(scope)} (id, ${columnOf(scope)}, principal_type, principal_id, role_version_id, created_at, created_by, expires_at)
  values (${made.id}, ${scope.id}, ${made.principal_type}, ${made.principal_id}, ${made.role_version_id}, ${now}, ${by}, ${made.expires_at})
  returning id`

export const endBinding = (scope: Binding, binding_id: string, by: string, reason: string, now: string) => sql(Made)`
  update ${tableOf(scope)} set deleted_at = ${now}, deleted_by = ${by}, delete_reason = ${reason}
   where id = ${binding_id} and ${columnOf(scope)} = ${scope.id} and deleted_at is null
  returning id`

const HeldRole = Exactly({
  ...BoundRole.properties,
  binding_id: Type.String(),
  principal_type: RoleBinding.properties.principal_type,
  principal_id: RoleBinding.properties.principal_id,
})
export type HeldRole = Static<typeof HeldRole>

export const countOnVersion = (scope: RoleScope, role_version_id: string) => sql(Exactly({ count: Type.Integer() }))`
  select count(*)::int as count from ${tableOf(scope)} b
   where b.${columnOf(scope)} = ${scope.id} and b.role_version_id = ${role_version_id} and ${isLive}`

/**
 * All live roles of everybody who has a live binding on this version: what each of them comes to is the union. One pass over the
 * scope's bindings, whatever the planner thinks of their number.
 */
export const heldBesideVersion = (scope: RoleScope, role_version_id: string) => sql(HeldRole)`
  select h.binding_id, h.principal_type, h.principal_id, h.role_id, h.role_version_id, h.name, h.version, h.is_builtin, h.state, h.grace_until,
         h.expires_at,
         array(select p.permission_key from role_permissions p where p.role_version_id = h.role_version_id and not h.is_builtin) as permissions
    from (
      select b.id as binding_id, b.principal_type, b.principal_id, d.id as role_id, b.role_version_id, d.name, v.version, d.is_builtin, d.state,
             d.grace_until, b.expires_at,
             bool_or(b.role_version_id = ${role_version_id}) over (partition by b.principal_type, b.principal_id) as is_concerned
        from ${tableOf(scope)} ${ofRole}
       where b.${columnOf(scope)} = ${scope.id} and ${isLive} and d.deleted_at is null) h
   where h.is_concerned
   order by h.binding_id`

/** Ends the bindings and makes one on another version in the place of each: whatever end it had, it keeps. */
export const endBindingsForUpgrade = (scope: ScopeFor<'define'>, ids: readonly string[], by: string, now: string) => sql(Made)`
  update ${tableOf(scope)} set deleted_at = ${now}, deleted_by = ${by}, delete_reason = 'upgraded'
   where id = any(${ids}::uuid[]) and ${columnOf(scope)} = ${scope.id} and deleted_at is null
  returning id`

export const insertUpgradedBindings = (
  scope: ScopeFor<'define'>,
  ids: readonly string[],
  new_ids: readonly string[],
  role_version_id: string,
  by: string,
  now: string,
) => sql(Made)`
  insert into ${tableOf(scope)} (id, ${columnOf(scope)}, principal_type, principal_id, role_version_id, created_at, created_by, expires_at)
  select moved.new_id, b.${columnOf(scope)}, b.principal_type, b.principal_id, ${role_version_id}, ${now}, ${by}, b.expires_at
    from unnest(${ids}::uuid[], ${new_ids}::uuid[]) as moved (id, new_id) join ${tableOf(scope)} b on b.id = moved.id
   where b.${columnOf(scope)} = ${scope.id}
  returning id`

/** Whether a person belongs to the scope; with the tenant's lock held this cannot change meanwhile. */
export const membershipIn = (scope: RoleScope, user_id: string) => sql(Made)`
  select m.id from ${identifier(`${scope.tier}_memberships`)} m
   where m.${columnOf(scope)} = ${scope.id} and m.user_id = ${user_id} and m.deleted_at is null`

/** Whether a service account, disabled or not, is one of the scope: those of a project are in no tenant's. */
export const serviceAccountIn = ({ id }: RoleScope, service_account_id: string) => sql(Made)`
  select s.id from service_accounts s where s.id = ${service_account_id} and s.project_id = ${id} and s.state <> 'deleted'`

/** A row where somebody has made a key of one of these accounts that still opens something. */
export const accountsWithKeyOf = (user_id: string, account_ids: readonly string[]) => sql(Made)`
  select k.service_account_id as id from service_account_keys k
   where k.service_account_id = any(${account_ids}::uuid[]) and k.created_by = ${user_id}
     and k.revoked_at is null and (k.expires_at is null or k.expires_at > transaction_timestamp())
   limit 1`

/** The accounts of a project that are bound to a role, in whatever version. */
export const accountsBoundTo = ({ id }: RoleScope, role_id: string) => sql(Made)`
  select b.principal_id as id from project_role_bindings b
   where b.project_id = ${id} and b.role_definition_id = ${role_id} and b.principal_type = 'service_account' and ${isLive}`

/** Whose a binding is never changes, so it can be known before anything is locked. */
export const principalOfBinding = (project_id: string, binding_id: string) => sql(
  Exactly({ principal_type: RoleBinding.properties.principal_type }),
)`
  select b.principal_type from project_role_bindings b where b.id = ${binding_id} and b.project_id = ${project_id}`

const platformBinding = sqlPart(`
  select b.id, b.principal_type, b.principal_id, u.username, d.id as role_id, d.name as role_name, b.created_at, b.created_by
    from platform_role_bindings b join role_definitions d on d.id = b.role_definition_id join users u on u.id = b.principal_id`)

export const platformBindings = (after: string | null, limit: number) => sql(PlatformRoleBinding)`
  ${platformBinding}
   where b.deleted_at is null and (${after}::uuid is null or b.id > ${after}::uuid)
   order by b.id limit ${limit}`

export const findPlatformBinding = (binding_id: string) => sql(PlatformRoleBinding)`
  ${platformBinding}
   where b.id = ${binding_id} and b.deleted_at is null`

export const platformBindingTo = (user_id: string, role_id: string) => sql(PlatformRoleBinding)`
  ${platformBinding}
   where b.principal_id = ${user_id} and b.role_definition_id = ${role_id} and b.deleted_at is null`

export const endPlatformBindingRow = (
  _platform: Authorized<'platform.admin', object>,
  binding_id: string,
  by: string | null,
  reason: string,
  now: string,
) => sql(Made)`
  update platform_role_bindings set deleted_at = ${now}, deleted_by = ${by}, delete_reason = ${reason}
   where id = ${binding_id} and deleted_at is null
  returning id`
