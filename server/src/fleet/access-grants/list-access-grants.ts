import type { listAccessGrants as Op } from '@gatehouse/contract/access-grants'
import { authorityOf, authorize } from '#rails/authz/authorize.ts'
import { type Answering, listed } from '#rails/http/answer.ts'
import { findAllocation } from '../allocations/allocation-queries.ts'
import { keyRuleOf } from '../allocations/key-kinds.ts'
import { grantedKind, shown } from './access-grant.ts'
import { anyGrantOf } from './access-grant-queries.ts'
import { grantsOn } from './told-grant-queries.ts'

export const listAccessGrants: Answering<typeof Op> = async (work, { params: { allocation_id }, query: { state = null }, slice }) => {
  const found = await work.tx.maybe(findAllocation(allocation_id))
  const own = await work.tx.maybe(anyGrantOf(allocation_id, work.actor.id))
  const allocation = await authorize(
    work,
    ['project.access_grant.read', 'tenant.access_grant.manage', 'project.access_grant.read_own'],
    grantedKind,
    found && { ...found, grantee_user_id: own ? work.actor.id : null },
  )
  const isOwnOnly = authorityOf(allocation).action === 'project.access_grant.read_own'
  const listing = { allocation_id: allocation.id, grantee_user_id: isOwnOnly ? work.actor.id : null, state }
  const rows = await work.tx.many(grantsOn(listing, slice.after, slice.limit + 1))
  const key_rule = await keyRuleOf(work, allocation)
  return listed(
    rows.map((row) => shown(row, key_rule)),
    slice,
    ({ id }) => id,
  )
}
