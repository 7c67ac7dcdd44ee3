import type { Input } from '@gatehouse/contract/operation'
import type { createOrganizationBinding, PrincipalType, RoleBinding } from '@gatehouse/contract/role-bindings'
import type { Role, RoleVersion } from '@gatehouse/contract/roles'
import { newId } from '#ground/kernel/ids.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import { type Action, actions } from '#rails/authz/actions.ts'
import { type Authority, authorityOf } from '#rails/authz/authorize.ts'
import { isBuiltinRole, isOwnerRole, permissionsOf } from '#rails/authz/catalogue.ts'
import { requireNoSelfGrant } from '#rails/authz/override-limits.ts'
import type { Verb } from '#rails/http/answer.ts'
import { requireWithinCeiling } from './ceiling.ts'
import { requireNoGrantToOwnMachine } from './own-machines.ts'
import { bindingToRole, endBinding, findBinding, insertBinding, membershipIn, serviceAccountIn } from './role-binding-queries.ts'
import { findVersion, shareRole } from './role-queries.ts'
import { authorizeAssign, type RoleScope, recordedIn, type ScopeParams } from './role-scope.ts'

type Body = Input<typeof createOrganizationBinding>['body']

/** What a version gives, as decisions see it: a built-in role by the catalogue, whatever its mirror in the table says. */
export const asJudged = (role: Role, version: RoleVersion): RoleVersion =>
  role.is_builtin ? { ...version, permissions: isBuiltinRole(role.name) ? [...permissionsOf(role.name)] : [] } : version

/** A role that can be given now, in the version that is named or the current one. */
export const assignableRole = async (
  work: Work,
  scope: RoleScope,
  { role_id, role_name, version }: Pick<Body, 'role_id' | 'role_name' | 'version'>,
): Promise<{ role: Role; version: RoleVersion }> => {
  if ((role_id === undefined) === (role_name === undefined))
    throw new Problem('validation_error', [{ in: 'body', field: 'role_id', message: 'either role_id or role_name' }])
  const role = await work.tx.maybe(shareRole(scope, role_id ?? null, role_name ?? null))
  const found = role && (await work.tx.maybe(findVersion(role.id, version ?? role.version)))
  if (!role || !found) throw new Problem('role_not_found')
  if (role.state !== 'active') throw new Problem('role_not_assignable', { state: role.state })
  return { role, version: asJudged(role, found) }
}

/** An owner has no end, and nothing ends before it begins. */
const requireFittingEnd = (work: Work, role: Role, expires_at: string | undefined): void => {
  if (expires_at === undefined) return
  const refuse = (message: string) => new Problem('validation_error', [{ in: 'body', field: 'expires_at', message }])
  if (expires_at <= work.now) throw refuse('must lie in the future')
  if (role.is_builtin && isOwnerRole(role.name)) throw refuse('an owner has no end')
}

/** A custom role may have become one for service accounts after this version of it was written. */
const requireForServiceAccounts = (role: Role, { permissions }: RoleVersion): void => {
  const isFit = role.is_builtin || permissions.every((key) => actions[key as Action]?.fit_for_service_accounts)
  if (!role.is_assignable_to_service_accounts || !isFit) throw new Problem('role_not_assignable')
}

const requirePrincipal = async (work: Work, scope: RoleScope, principal_type: PrincipalType, principal_id: string): Promise<void> => {
  if (principal_type === 'service_account') {
    if (!(await work.tx.maybe(serviceAccountIn(scope, principal_id)))) throw new Problem('service_account_not_found')
    return
  }
  if (!(await work.tx.maybe(membershipIn(scope, principal_id))))
    throw new Problem(scope.tier === 'tenant' ? 'not_tenant_member' : 'not_project_member')
}

/** Another version takes the place of the one that is there, under the ceiling of both. */
const retireOlder = async (
  work: Work,
  scope: Awaited<ReturnType<typeof authorizeAssign>>,
  authority: Authority,
  older: RoleBinding,
  version: number,
) => {
  const isOver = older.expires_at !== null && older.expires_at <= work.now
  if (!isOver && older.version === version) throw new Problem('binding_already_exists')
  const before = await work.tx.one(findVersion(older.role_id, older.version))
  const judged = isOver ? authority : requireWithinCeiling(authority, scope.tier, before.permissions)
  await work.tx.one(endBinding(scope, older.id, work.actor.id, isOver ? 'expired' : 'another version', work.now))
  return judged
}

export const bindRole: Verb<ScopeParams, unknown, Body, RoleBinding> = async (work, { params, body }) => {
  const scope = await authorizeAssign(work, params, undefined, body.principal_type)
  const { principal_type, principal_id, expires_at, reason = null } = body
  const { role, version } = await assignableRole(work, scope, body)
  requireFittingEnd(work, role, expires_at)
  if (principal_type === 'service_account') requireForServiceAccounts(role, version)
  let authority = requireWithinCeiling(authorityOf(scope), scope.tier, version.permissions)
  requireNoSelfGrant(work, authority, principal_id)
  await requirePrincipal(work, scope, principal_type, principal_id)
  const older = await work.tx.maybe(bindingToRole(scope, principal_type, principal_id, role.id))
  if (older) authority = await retireOlder(work, scope, authority, older, version.version)
  requireNoSelfGrant(work, authority, principal_id)
  if (principal_type === 'service_account') await requireNoGrantToOwnMachine(work, authority, [principal_id])

  const made = { id: newId('binding'), principal_type, principal_id, role_version_id: version.id, expires_at: expires_at ?? null }
  await work.tx.one(insertBinding(scope, made, work.actor.id, work.now))
  record(work, {
    action: 'role_binding.create',
    resource_type: 'role_binding',
    resource_id: made.id,
    ...recordedIn(scope, authority.is_override),
    metadata: {
      principal_type,
      principal_id,
      role_id: role.id,
      role_name: role.name,
      version: version.version,
      expires_at: made.expires_at,
      retired: older?.id ?? null,
      reason,
    },
  })
  return work.tx.one(findBinding(scope, made.id))
}
