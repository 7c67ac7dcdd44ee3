import type { Input } from '@gatehouse/contract/operation'
import type { disableBuiltinRole as Disable, enableBuiltinRole as Enable, Role } from '@gatehouse/contract/roles'
import { Problem } from '#ground/kernel/problem.ts'
import type { AuditEvent, Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import { authorityOf, authorize } from '#rails/authz/authorize.ts'
import { ownerRoleOf, roleIdOf } from '#rails/authz/catalogue.ts'
import { type Kind, nowhere, platformKind, thePlatform } from '#rails/authz/kind.ts'
import { requireNoSelfGrant } from '#rails/authz/override-limits.ts'
import { lockPlatform } from '#rails/authz/platform-queries.ts'
import type { Answering, Verb } from '#rails/http/answer.ts'
import { readPolicy } from '#rails/policies/read-policy.ts'
import { lockCustomRole } from './define-role.ts'
import { requireNoGrantToOwnMachine } from './own-machines.ts'
import { accountsBoundTo, bindingToRole } from './role-binding-queries.ts'
import { findRole, isDisabledByPlatform, lockBuiltinRole, type RoleKeeper, setRoleDisabled, setRoleEnabled } from './role-queries.ts'
import { authorizeDefine, recordedIn, type ScopeParams } from './role-scope.ts'

type OfRole = ScopeParams & { readonly role_id: string }
type Disabling = Input<typeof Disable>['body']
type Where = Pick<AuditEvent, 'tenant_id' | 'project_id' | 'severity'>

const graceWindow = 'authorization.role_disable_grace_window_seconds'

/** Unset on purpose until an operator sets it: a grace that nobody has decided on is none. */
const graceSeconds = async (work: Work): Promise<number> => {
  try {
    return await readPolicy(work.tx, graceWindow)
  } catch (error) {
    if (error instanceof Problem && error.code === 'policy_unavailable')
      throw new Problem(
        'invalid_request',
        { policy: graceWindow, because: `block_new_only needs a value of the policy ${graceWindow}` },
        error,
      )
    throw error
  }
}

const isThePlatforms = async (work: Work, { id }: Role): Promise<boolean> =>
  (await work.tx.one(isDisabledByPlatform(id))).is_disabled_by_platform

/** A role that is disabled already can only be disabled harder. */
const disable = async (
  work: Work,
  keeper: RoleKeeper,
  role: Role,
  { mode = 'block_new_only', reason }: Disabling,
  by_platform: boolean,
  where: Where,
) => {
  const grace_seconds = mode === 'block_new_only' ? await graceSeconds(work) : null
  // The platform may also take over what somebody else disabled, so that only it can enable it again.
  const isHarder = role.disable_mode === 'block_new_only' && mode === 'block_all_now'
  const isTakenOver = by_platform && mode === (role.disable_mode ?? 'block_all_now') && !(await isThePlatforms(work, role))
  if (role.state === 'disabled' && !isHarder && !isTakenOver)
    throw new Problem('state_conflict', { state: 'disabled', disable_mode: role.disable_mode })
  await work.tx.one(setRoleDisabled(keeper, role.id, { mode, reason, by_platform, grace_seconds }, work.actor.id, work.now))
  record(work, {
    action: 'role.disable',
    resource_type: 'role',
    resource_id: role.id,
    ...where,
    metadata: { role_id: role.id, name: role.name, mode, grace_seconds, reason },
  })
}

const enable = async (work: Work, keeper: RoleKeeper, role: Role, reason: string, is_platform: boolean, where: Where) => {
  if (role.state === 'active') throw new Problem('state_conflict', { state: 'active' })
  if (!is_platform && (await isThePlatforms(work, role)))
    throw new Problem('insufficient_permissions', { reason_code: 'permission_denied', detail: 'disabled_by_platform' })
  await work.tx.one(setRoleEnabled(keeper, role.id))
  record(work, {
    action: 'role.enable',
    resource_type: 'role',
    resource_id: role.id,
    ...where,
    metadata: { role_id: role.id, name: role.name, reason },
  })
}

export const disableRole: Verb<OfRole, unknown, Disabling, Role> = async (work, { params, body }) => {
  const scope = await authorizeDefine(work, params, params.role_id)
  const role = await lockCustomRole(work, scope, params.role_id)
  await disable(work, scope, role, body, authorityOf(scope).is_override, recordedIn(scope))
  return work.tx.one(findRole(scope, role.id))
}

export const enableRole: Verb<OfRole, unknown, { reason: string }, Role> = async (work, { params, body }) => {
  const scope = await authorizeDefine(work, params, params.role_id)
  const role = await lockCustomRole(work, scope, params.role_id)
  // Whoever is bound to it would get by override what it gives.
  if (await work.tx.maybe(bindingToRole(scope, 'user', work.actor.id, role.id))) requireNoSelfGrant(work, authorityOf(scope), work.actor.id)
  const machines = await work.tx.many(accountsBoundTo(scope, role.id))
  await requireNoGrantToOwnMachine(
    work,
    authorityOf(scope),
    machines.map(({ id }) => id),
  )
  await enable(work, scope, role, body.reason, authorityOf(scope).may_override, recordedIn(scope))
  return work.tx.one(findRole(scope, role.id))
}

const builtinKind = (role_id: string): Kind<typeof thePlatform> => ({
  ...platformKind,
  type: 'role',
  placeOf: () => ({ ...nowhere, id: role_id }),
})
const ofPlatform: Where = { tenant_id: null, project_id: null, severity: 'high' }

/** The platform's roles are judged under its lock; of a built-in role nothing but its state can change. */
const lockBuiltin = async (work: Work, role_id: string) => {
  await work.tx.one(lockPlatform())
  const platform = await authorize(work, 'platform.admin', builtinKind(role_id), thePlatform)
  const role = await work.tx.maybe(lockBuiltinRole(role_id))
  if (!role) throw new Problem('role_not_found')
  return { platform, role }
}

export const disableBuiltinRole: Answering<typeof Disable> = async (work, { params, body }) => {
  const { platform, role } = await lockBuiltin(work, params.role_id)
  // Without it nobody could enable anything again.
  if (role.id === roleIdOf(ownerRoleOf.platform)) throw new Problem('last_owner')
  await disable(work, platform, role, body, true, ofPlatform)
  return work.tx.one(lockBuiltinRole(role.id))
}

export const enableBuiltinRole: Answering<typeof Enable> = async (work, { params, body }) => {
  const { platform, role } = await lockBuiltin(work, params.role_id)
  await enable(work, platform, role, body.reason, true, ofPlatform)
  return work.tx.one(lockBuiltinRole(role.id))
}
