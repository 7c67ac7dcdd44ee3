import type { Role, RoleVersion } from '@gatehouse/contract/roles'
import { type Listed, listed, type Verb } from '../http/answer.ts'
import { Problem } from '../kernel/problem.ts'
import { findRole, rolesIn, versionsOf } from './role-queries.ts'
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
  const role = await readRole(work, input)
  const { after, limit } = input.slice
  return listed(
    await work.tx.many(versionsOf(role.id, after === null ? 0 : Number(after), limit + 1)),
    input.slice,
    ({ version }) => `${version}`,
  )
}
