import type {
  createPlatformBinding as Create,
  endPlatformBinding as End,
  listPlatformBindings as List,
} from '@gatehouse/contract/role-bindings'
import { newId } from '#ground/kernel/ids.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import { type Authorized, authorize } from '#rails/authz/authorize.ts'
import { ownerRoleOf, roleIdOf } from '#rails/authz/catalogue.ts'
import { type Kind, nowhere, platformKind, thePlatform } from '#rails/authz/kind.ts'
import { lockPlatform } from '#rails/authz/platform-queries.ts'
import { requireSuperadminStays } from '#rails/authz/superadmins.ts'
import { type Answering, listed } from '#rails/http/answer.ts'
import { findUser, setUsersRole } from '../principals/user-queries.ts'
import { insertPlatformBinding } from './binding-queries.ts'
import { requireAnotherSuperadmin } from './last-superadmin.ts'
import { endPlatformBindingRow, findPlatformBinding, platformBindings, platformBindingTo } from './role-binding-queries.ts'
import { sharePlatformRole } from './role-queries.ts'

type Platform = Authorized<'platform.admin', object>

const kindOf = (id: string): Kind<typeof thePlatform> => ({ ...platformKind, type: 'role_binding', placeOf: () => ({ ...nowhere, id }) })

/** The old column follows: it is what a phase-1 reader looks at. */
const followUsersRole = async (work: Work, platform: Platform, role_id: string, user_id: string, role: 'admin' | 'user') => {
  if (role_id === roleIdOf(ownerRoleOf.platform)) await work.tx.one(setUsersRole(platform, user_id, role))
}

interface Wanted {
  readonly user_id: string
  readonly role_id?: string | undefined
  readonly role_name?: string | undefined
  readonly reason: string | null
  /** Who ran a script, where nobody was signed in. */
  readonly operator?: string
}

/** Binds somebody to a platform role; whoever calls holds the platform's lock and the right. */
export const bindPlatformRole = async (work: Work, platform: Platform, { user_id, role_id, role_name, reason, operator }: Wanted) => {
  if ((role_id === undefined) === (role_name === undefined))
    throw new Problem('validation_error', [{ in: 'body', field: 'role_id', message: 'either role_id or role_name' }])
  const role = await work.tx.maybe(sharePlatformRole(role_id ?? null, role_name ?? null))
  if (!role) throw new Problem('role_not_found')
  if (role.state !== 'active') throw new Problem('role_not_assignable', { state: role.state })
  if (!(await work.tx.maybe(findUser(user_id)))) throw new Problem('user_not_found')
  if (await work.tx.maybe(platformBindingTo(user_id, role.id))) throw new Problem('binding_already_exists')
  const id = newId('binding')
  const by = work.actor.type === 'user' ? work.actor.id : null
  // In transition, who is bound for the first time loses what the old column gave him.
  await requireSuperadminStays(work, 'role_not_assignable', async () => {
    await work.tx.one(insertPlatformBinding(platform, id, user_id, role.id, by, work.now))
    await followUsersRole(work, platform, role.id, user_id, 'admin')
  })
  record(work, {
    action: 'role_binding.create',
    resource_type: 'role_binding',
    resource_id: id,
    severity: 'high',
    metadata: {
      principal_type: 'user',
      principal_id: user_id,
      role_id: role.id,
      role_name: role.name,
      reason,
      ...(operator ? { operator } : {}),
    },
  })
  return work.tx.one(findPlatformBinding(id))
}

/** Ends a binding to a platform role, unless it is the last superadmin's. */
export const unbindPlatformRole = async (work: Work, platform: Platform, binding_id: string, reason: string, operator?: string) => {
  const binding = await work.tx.maybe(findPlatformBinding(binding_id))
  if (!binding) throw new Problem('binding_not_found')
  if (binding.role_id === roleIdOf(ownerRoleOf.platform)) await requireAnotherSuperadmin(work, binding.principal_id)
  const by = work.actor.type === 'user' ? work.actor.id : null
  await work.tx.one(endPlatformBindingRow(platform, binding.id, by, reason, work.now))
  await followUsersRole(work, platform, binding.role_id, binding.principal_id, 'user')
  record(work, {
    action: 'role_binding.end',
    resource_type: 'role_binding',
    resource_id: binding.id,
    severity: 'high',
    metadata: {
      principal_type: 'user',
      principal_id: binding.principal_id,
      role_id: binding.role_id,
      role_name: binding.role_name,
      reason,
      ...(operator ? { operator } : {}),
    },
  })
}

export const listPlatformBindings: Answering<typeof List> = async (work, { slice }) => {
  await authorize(work, 'platform.admin', platformKind, thePlatform)
  return listed(await work.tx.many(platformBindings(slice.after, slice.limit + 1)), slice, ({ id }) => id)
}

export const createPlatformBinding: Answering<typeof Create> = async (work, { body }) => {
  await work.tx.one(lockPlatform())
  const platform = await authorize(work, 'platform.admin', platformKind, thePlatform)
  if (body.principal_type !== 'user') throw new Problem('role_not_assignable')
  const { principal_id, role_id, role_name, reason = null } = body
  return bindPlatformRole(work, platform, { user_id: principal_id, role_id, role_name, reason })
}

export const endPlatformBinding: Answering<typeof End> = async (work, { params, body }) => {
  await work.tx.one(lockPlatform())
  const platform = await authorize(work, 'platform.admin', kindOf(params.binding_id), thePlatform)
  await unbindPlatformRole(work, platform, params.binding_id, body.reason ?? 'ended')
}
