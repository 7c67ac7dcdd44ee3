import type { Work } from '#ground/work/work.ts'
import type { Authority } from '#rails/authz/authorize.ts'
import { requireNoSelfGrant } from '#rails/authz/override-limits.ts'
import { accountsWithKeyOf } from './role-binding-queries.ts'

/**
 * Whoever made a key of a service account may hold its secret, and with it whatever the account is given. So what override gives to such an
 * account it gives to its own user.
 */
export const requireNoGrantToOwnMachine = async (work: Work, authority: Authority, account_ids: readonly string[]): Promise<void> => {
  if (!authority.is_override || account_ids.length === 0) return
  if (await work.tx.maybe(accountsWithKeyOf(work.actor.id, account_ids))) requireNoSelfGrant(work, authority, work.actor.id)
}
