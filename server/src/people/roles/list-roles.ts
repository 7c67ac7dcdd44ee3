import type { listBuiltinRoles as Builtin, Role, RoleVersion } from '@gatehouse/contract/roles'
import { Problem } from '#ground/kernel/problem.ts'
import { authorize } from '#rails/authz/authorize.ts'
import { platformKind, thePlatform } from '#rails/authz/kind.ts'
import { type Answering, type Listed, listed, type Verb } from '#rails/http/answer.ts'
import { builtinRoles, findRole, findRoleEver, rolesIn, versionsOf } from './role-queries.ts'
import { authorizeRead, type ScopeParams } from './role-scope.ts'

type OfRole = ScopeParams & { readonly role_id: string }
type Page<Item> = { items: Item[]; next_cursor: string | null }

export const listRoles: Verb<ScopeParams, unknown, unknown, Page<Role>> = async (work, { params, slice }): Promise<Listed<Role>> => {
  const scope = await authorizeRead(work, 'role', params)
  return listed(await work.tx.many(rolesIn(scope, slice.after, slice.limit + 1)), slice, ({ id }) => id)
}

export const readRole: Verb<OfRole, unknown, unknown, Role> = async (work, { params }) => {
  const scope = await authorizeRead(work, 'role', params, params.role_id)
  const role = await work.tx.maybe(findRole(scope, params.role_id))
  if (!role) throw new Problem('role_not_found')
  return role
}

export const listRoleVersions: Verb<OfRole, unknown, unknown, Page<RoleVersion>> = async (work, input): Promise<Listed<RoleVersion>> => {
  const scope = await authorizeRead(work, 'role', input.params, input.params.role_id)
  const role = await work.tx.maybe(findRoleEver(scope, input.params.role_id))
  if (!role) throw new Problem('role_not_found')
  const { after, limit } = input.slice
  return listed(
    await work.tx.many(versionsOf(role.id, after === null ? 0 : Number(after), limit + 1)),
    input.slice,
    ({ version }) => `${version}`,
  )
}

/** What `disable` and `enable` of the platform are about: without it nobody could find their ids. */
export const listBuiltinRoles: Answering<typeof Builtin> = async (work, { slice }) => {
  await authorize(work, ['platform.ops.read', 'platform.admin'], platformKind, thePlatform)
  return listed(await work.tx.many(builtinRoles(slice.after, slice.limit + 1)), slice, ({ id }) => id)
}
