import { record } from '#rails/audit/record.ts'
import { systemProof } from '#rails/authz/authorize.ts'
import { supersedeTasks } from '../node-tasks/node-task-queries.ts'
import type { NodeSubscribers } from '../nodes/node-subscribers.ts'
import { type AllocationParts, recordedOf } from './allocation.ts'
import { lockOnNode, setAbandoned, setCleared } from './allocation-queries.ts'
import { endAllocation } from './end-allocation.ts'
import { lockPool, poolOf } from './placement-queries.ts'
import { movedBy } from './states.ts'

const proof = systemProof('node_tending', 'allocation.release', {})

/** What lies on a node that has gone for good fails, and takes up no place any more: there is none. */
export const onNodeRetired =
  (parts: AllocationParts): NodeSubscribers['onNodeRetired'][number] =>
  async (work, { id: node_id }, reason) => {
    // Nothing is placed there between this and the end of the node.
    await work.tx.one(lockPool(await work.tx.one(poolOf(node_id))))
    for (const row of await work.tx.many(lockOnNode(node_id))) {
      // Nobody does what it was asked for any more.
      await work.tx.many(supersedeTasks(proof, row.id, null))
      const to = movedBy(row.state, 'node_retired')
      // Failed before, and not put away: now nobody will.
      if (!to) await work.tx.one(setCleared(proof, row.id, work.now))
      else await endAllocation(work, parts, proof, row, { to, cause: 'node_retired', reason, failure: 'node_retired', is_cleared: true })
      await work.tx.one(setAbandoned(proof, row.id))
      record(work, {
        action: 'allocation.fail',
        ...recordedOf(row),
        severity: 'high',
        metadata: { from: row.state, node_id, failure: 'node_retired', reason },
      })
    }
  }
