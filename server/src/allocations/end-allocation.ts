import type { Action } from '../authz/actions.ts'
import type { Authorized } from '../authz/authorize.ts'
import type { Work } from '../work/work.ts'
import type { AllocationParts, AllocationRow, EndingCause } from './allocation.ts'
import { moveAllocation } from './allocation-queries.ts'
import { endKeyEntries } from './end-key-entries.ts'

interface Ending {
  readonly to: AllocationRow['state']
  readonly cause: EndingCause
  readonly reason: string
  readonly failure?: string
  readonly is_cleared: boolean
}

/** All access ends here and now, whatever the node does about it and when (SG-11, SG-23). Says how many keys of its own it had. */
export const endAllocation = async (
  work: Work,
  { onAllocationEnding }: Pick<AllocationParts, 'onAllocationEnding'>,
  proof: Authorized<Action, object>,
  row: AllocationRow,
  { to, cause, reason, failure, is_cleared }: Ending,
): Promise<{ ended: AllocationRow; keys_ended: number }> => {
  const ended = await work.tx.one(moveAllocation(proof, row, { state: to, is_cleared, ...(failure && { failure }) }, work.now))
  const entries = await endKeyEntries(work, [row.id], {}, cause)
  for (const subscriber of onAllocationEnding) await subscriber(work, ended, cause, reason)
  return { ended, keys_ended: entries.length }
}
