import { sqlPart } from '#ground/db/statement.ts'

/**
 * Which roles somebody is bound to, said once: by a binding that was not taken back, to a role that was not deleted and is built in or the
 * scope's own. Disabled roles are among them, and bindings past their end: whoever reads them looks at that. A part of a statement, with
 * the binding as `b`, its version as `v` and its role as `d`; the arguments are columns of the statement around it.
 */
const boundRoles =
  (tier: 'tenant' | 'project') =>
  (scope: string, principal: string, principal_type: 'user' | 'service_account' = 'user') =>
    sqlPart(`
        from ${tier}_role_bindings b
        join role_definition_versions v on v.id = b.role_version_id
        join role_definitions d on d.id = v.role_definition_id
       where b.${tier}_id = ${scope} and b.principal_type = '${principal_type}' and b.principal_id = ${principal} and b.deleted_at is null
         and d.deleted_at is null and (d.is_builtin or d.scope_id = b.${tier}_id)`)

export const boundTenantRoles = boundRoles('tenant')
export const boundProjectRoles = boundRoles('project')

/** Their names, of people: not of those past their end, but of disabled ones as well. */
const roleNames = (roles: ReturnType<typeof boundTenantRoles>) =>
  sqlPart(`array(select d.name ${roles.text} and (b.expires_at is null or b.expires_at > transaction_timestamp()) order by d.name)`)
export const tenantRoleNames = (scope: string, user: string) => roleNames(boundTenantRoles(scope, user))
export const projectRoleNames = (scope: string, user: string) => roleNames(boundProjectRoles(scope, user))
