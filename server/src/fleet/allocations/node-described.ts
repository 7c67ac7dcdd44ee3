import type { NodeSubscribers } from '../nodes/node-subscribers.ts'
import type { AllocationParts } from './allocation.ts'
import { lockOnNode } from './allocation-queries.ts'
import { askAnew } from './ask-again.ts'
import { isOpen } from './states.ts'

/** It is to do the same in other words: what it was sent last says nothing of its devices, or what it does not understand. */
export const onNodeDescribed =
  (parts: AllocationParts): NodeSubscribers['onNodeDescribed'][number] =>
  async (work, { id: node_id }) => {
    for (const row of await work.tx.many(lockOnNode(node_id)))
      if (isOpen(row.state)) await askAnew(work, parts, row, { because: 'node_described', is_account_gone: false })
  }
