import { record } from '../audit/record.ts'
import type { NodeSubscribers } from '../nodes/node-subscribers.ts'
import { type AllocationParts, recordedOf } from './allocation.ts'
import { isSetSent, lockOnNode } from './allocation-queries.ts'
import { askAgain } from './ask-again.ts'
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
    for (const row of await work.tx.many(lockOnNode(node_id))) {
      const sent = await askAgain(work, parts, row, true)
      const { is_sent } = await work.tx.one(isSetSent(row.id))
      if (is_sent && sent.generation !== null) for (const subscriber of parts.onSetMoved) await subscriber(work, row, sent.generation)
      record(work, {
        action: 'allocation.ask_again',
        ...recordedOf(row),
        metadata: { because: 'node_enrolled', node_id, state: row.state, ...sent },
      })
    }
  }
