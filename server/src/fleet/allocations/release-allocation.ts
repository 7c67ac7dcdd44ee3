import type { releaseAllocation as Op } from '@gatehouse/contract/allocations'
import { Problem } from '#ground/kernel/problem.ts'
import { record } from '#rails/audit/record.ts'
import type { Answering } from '#rails/http/answer.ts'
import { type AllocationParts, recordedOf } from './allocation.ts'
import { authorizeToChange } from './allocation-scope.ts'
import { endAllocation } from './end-allocation.ts'
import { shown } from './shown-allocation.ts'
import { movedBy } from './states.ts'

/** Access ends at once; the node counts as free when it has said that nothing is left. */
export const releaseAllocation =
  (parts: AllocationParts): Answering<typeof Op> =>
  async (work, { params, body: { reason = null } }) => {
    const { allocation } = await authorizeToChange(work, 'allocation.release', params.allocation_id)
    const to = movedBy(allocation.state, 'release_asked')
    if (!to) throw new Problem('state_conflict', { state: allocation.state })
    const { keys_ended, sent } = await endAllocation(work, parts, allocation, allocation, {
      to,
      cause: 'allocation_released',
      reason: reason ?? 'released',
      is_cleared: to === 'released',
    })
    record(work, {
      action: 'allocation.release',
      ...recordedOf(allocation),
      metadata: { from: allocation.state, to, node_id: allocation.node_id, keys_ended, reason, ...sent },
    })
    return shown(work, allocation.id)
  }
