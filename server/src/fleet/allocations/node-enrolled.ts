import type { NodeSubscribers } from '../nodes/node-subscribers.ts'
import type { AllocationParts } from './allocation.ts'
import { lockOnNode } from './allocation-queries.ts'
import { askAnew } from './ask-again.ts'
import { lockPool, poolOf } from './placement-queries.ts'

/** Before the node is: allocations are locked first, everywhere; and nothing is placed there meanwhile. */
export const lockAllocationsOn: NodeSubscribers['beforeNodeLocked'][number] = async (work, { id }) => {
  await work.tx.one(lockPool(await work.tx.one(poolOf(id))))
  await work.tx.many(lockOnNode(id))
}

/**
 * Another machine may be the node now, which holds nothing of what the former one has confirmed. So it owes all of it again: nothing counts
 * as applied before it has said so itself.
 */
export const onNodeEnrolled =
  (parts: AllocationParts): NodeSubscribers['onNodeEnrolled'][number] =>
  async (work, { id: node_id }) => {
    for (const row of await work.tx.many(lockOnNode(node_id)))
      await askAnew(work, parts, row, { because: 'node_enrolled', is_account_gone: true })
  }
