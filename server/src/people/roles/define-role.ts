import type { Input, Reply } from '@gatehouse/contract/operation'
import type { createOrganizationRole, deleteOrganizationRole, Role, updateOrganizationRole } from '@gatehouse/contract/roles'
import { newId } from '#ground/kernel/ids.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import { isBuiltinRole } from '#rails/authz/catalogue.ts'
import type { Verb } from '#rails/http/answer.ts'
import { requireFitting, requireGrantable } from './role.ts'
import { requireNameOfItsOwn } from './role-name.ts'
import { bindingsOnOlderVersions, endRole, findRole, insertRole, insertVersion, lockRole, setCurrentVersion } from './role-queries.ts'
import { authorizeDefine, type RoleScope, recordedIn, type ScopeParams } from './role-scope.ts'
import type { RoleSubscribers } from './role-subscribers.ts'

type OfRole = ScopeParams & { readonly role_id: string }
type Created = Verb<ScopeParams, unknown, Input<typeof createOrganizationRole>['body'], Role>
type Updated = Verb<OfRole, unknown, Input<typeof updateOrganizationRole>['body'], Reply<typeof updateOrganizationRole>>
type Deleted = Verb<OfRole, unknown, Input<typeof deleteOrganizationRole>['body'], unknown>

/** The role of this scope, to be changed. What the product owns is changed by nobody. */
export const lockCustomRole = async (work: Work, scope: RoleScope, role_id: string): Promise<Role> => {
  const role = await work.tx.maybe(lockRole(scope, role_id))
  if (!role) throw new Problem('role_not_found')
  if (role.is_builtin) throw new Problem('role_immutable')
  return role
}

const requireOfProject = ({ tier }: RoleScope, is_for_service_accounts: boolean): void => {
  if (is_for_service_accounts && tier === 'tenant')
    throw new Problem('validation_error', [
      { in: 'body', field: 'is_assignable_to_service_accounts', message: 'must be false: service accounts live in projects' },
    ])
}

export const createRole: Created = async (work, { params, body }) => {
  const scope = await authorizeDefine(work, params)
  const { name, description = null, is_assignable_to_service_accounts = false, reason = null } = body
  requireOfProject(scope, is_assignable_to_service_accounts)
  const permissions = requireGrantable(body.permissions, scope.tier, is_assignable_to_service_accounts)
  // Who reads the name must know whose role it is.
  if (isBuiltinRole(name)) throw new Problem('role_already_exists')
  requireNameOfItsOwn(name)
  const [id, version_id] = [newId('role'), newId('role_version')]
  await work.tx.one(
    insertRole(scope, { id, version_id, name, description, is_for_service_accounts: is_assignable_to_service_accounts }, work.now),
  )
  await work.tx.one(insertVersion(scope, { id: version_id, role_id: id, version: 1, permissions, reason }, work.actor.id, work.now))
  record(work, {
    action: 'role.create',
    resource_type: 'role',
    resource_id: id,
    ...recordedIn(scope),
    metadata: { role_id: id, name, version: 1, permissions, is_assignable_to_service_accounts, reason },
  })
  return work.tx.one(findRole(scope, id))
}

/** Appends a version. Nobody's rights change by it: bindings stay where they are until somebody with the authority moves them. */
export const updateRole: Updated = async (work, { params, body }) => {
  const scope = await authorizeDefine(work, params, params.role_id)
  const role = await lockCustomRole(work, scope, params.role_id)
  if (body.expected_version !== role.version) throw new Problem('version_conflict', { version: role.version })
  const is_for_service_accounts = body.is_assignable_to_service_accounts ?? role.is_assignable_to_service_accounts
  requireOfProject(scope, is_for_service_accounts)
  const permissions = body.permissions ? requireGrantable(body.permissions, scope.tier, is_for_service_accounts) : role.permissions
  requireFitting(permissions, is_for_service_accounts)
  const version = role.version + 1
  const made = { id: newId('role_version'), role_id: role.id, version, permissions, reason: body.reason }
  await work.tx.one(insertVersion(scope, made, work.actor.id, work.now))
  const description = body.description ?? role.description
  await work.tx.one(setCurrentVersion(scope, role.id, made.id, { description, is_for_service_accounts }))
  const { count } = await work.tx.one(bindingsOnOlderVersions(role.id))
  record(work, {
    action: 'role.update',
    resource_type: 'role',
    resource_id: role.id,
    ...recordedIn(scope),
    metadata: {
      role_id: role.id,
      name: role.name,
      version,
      permissions,
      is_assignable_to_service_accounts: is_for_service_accounts,
      reason: body.reason,
    },
  })
  return { ...(await work.tx.one(findRole(scope, role.id))), bindings_on_older_versions: count }
}

export const deleteRole =
  ({ onRoleDeleted }: RoleSubscribers): Deleted =>
  async (work, { params, body }) => {
    const scope = await authorizeDefine(work, params, params.role_id)
    const role = await lockCustomRole(work, scope, params.role_id)
    await work.tx.one(endRole(scope, role.id, work.actor.id, body.reason, work.now))
    record(work, {
      action: 'role.delete',
      resource_type: 'role',
      resource_id: role.id,
      ...recordedIn(scope),
      metadata: { role_id: role.id, name: role.name, reason: body.reason },
    })
    for (const subscriber of onRoleDeleted) await subscriber(work, scope, role, body.reason)
  }
