import type { RoleBinding } from '@gatehouse/contract/role-bindings'
import { type Listed, listed, type Verb } from '#rails/http/answer.ts'
import { bindingsIn } from './role-binding-queries.ts'
import { authorizeRead, type ScopeParams } from './role-scope.ts'

export const listRoleBindings: Verb<ScopeParams, unknown, unknown, { items: RoleBinding[]; next_cursor: string | null }> = async (
  work,
  { params, slice },
): Promise<Listed<RoleBinding>> => {
  const scope = await authorizeRead(work, 'role_binding', params)
  return listed(await work.tx.many(bindingsIn(scope, slice.after, slice.limit + 1)), slice, ({ id }) => id)
}
