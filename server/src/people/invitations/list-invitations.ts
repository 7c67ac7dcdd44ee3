import type { Invitation, listMyInvitations as Mine } from '@gatehouse/contract/invitations'
import { authorize } from '#rails/authz/authorize.ts'
import { selfKind } from '#rails/authz/kind.ts'
import { type Answering, type Listed, listed, type Verb } from '#rails/http/answer.ts'
import type { ScopeParams } from '../roles/role-scope.ts'
import { invitationsIn, invitationsTo } from './invitation-queries.ts'
import { authorizeToSee, scopeOf } from './inviting.ts'

export const listInvitations: Verb<ScopeParams, unknown, unknown, { items: Invitation[]; next_cursor: string | null }> = async (
  work,
  { params, slice },
): Promise<Listed<Invitation>> => {
  const scope = scopeOf(await authorizeToSee(work, params))
  return listed(await work.tx.many(invitationsIn(scope, slice.after, slice.limit + 1)), slice, ({ id }) => id)
}

export const listMyInvitations: Answering<typeof Mine> = async (work, { slice }) => {
  const self = await authorize(work, 'me.read', selfKind, { id: work.actor.id })
  return listed(await work.tx.many(invitationsTo(self.id, slice.after, slice.limit + 1)), slice, ({ id }) => id)
}
