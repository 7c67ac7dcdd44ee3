import type { readMe as Op } from '@gatehouse/contract/users'
import { authorityOf, authorize } from '#rails/authz/authorize.ts'
import { selfKind } from '#rails/authz/kind.ts'
import type { Answering } from '#rails/http/answer.ts'
import { me } from './user-queries.ts'

export const readMe: Answering<typeof Op> = async (work) => {
  const self = await authorize(work, 'me.read', selfKind, { id: work.actor.id })
  // Those that count by the source in force, which need not be bindings.
  const platform_roles = [...new Set(authorityOf(self).facts.standing.platform_roles.map(({ name }) => name))].sort()
  return { ...(await work.tx.one(me(self.id))), platform_roles }
}
