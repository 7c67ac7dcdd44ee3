import type { listSshSessions as Op } from '@gatehouse/contract/node-events'
import { authorize } from '#rails/authz/authorize.ts'
import { type Answering, listed } from '#rails/http/answer.ts'
import { allocationKind } from '../allocations/allocation.ts'
import { findAllocation } from '../allocations/allocation-queries.ts'
import { sessionsOn } from './ssh-session-queries.ts'

/** For those who may see who is let in. */
export const listSshSessions: Answering<typeof Op> = async (work, { params: { allocation_id }, slice }) => {
  const found = await work.tx.maybe(findAllocation(allocation_id))
  const allocation = await authorize(work, ['project.access_grant.read', 'tenant.access_grant.manage'], allocationKind, found)
  const rows = await work.tx.many(sessionsOn(allocation.id, slice.after, slice.limit + 1))
  const { items, after } = listed(rows, slice, ({ id }) => id)
  return { items: items.map(({ id: _id, end_cause, ...session }) => ({ ...session, end: end_cause })), after }
}
