import type { Work } from '#ground/work/work.ts'
import type { Action } from '#rails/authz/actions.ts'
import type { Authorized } from '#rails/authz/authorize.ts'
import { type AllocationParts, type AllocationRow, type EndingCause, nothingSent, type Synced } from './allocation.ts'
import { moveAllocation } from './allocation-queries.ts'
import { endKeyEntries } from './end-key-entries.ts'
import { sendDeprovision } from './send-task.ts'

interface Ending {
  readonly to: AllocationRow['state']
  readonly cause: EndingCause
  readonly reason: string
  readonly failure?: string
  readonly is_cleared: boolean
}

/**
 * All access ends here and now, whatever the node does about it and when (SG-11, SG-23); where something may be left there, it is asked to
 * put it away. Says how many keys of its own it had.
 */
export const endAllocation = async (
  work: Work,
  { signing, onAllocationEnding }: AllocationParts,
  proof: Authorized<Action, object>,
  row: AllocationRow,
  { to, cause, reason, failure, is_cleared }: Ending,
): Promise<{ keys_ended: number; sent: Synced }> => {
  const ended = await work.tx.one(moveAllocation(proof, row, { state: to, is_cleared, ...(failure && { failure }) }, work.now))
  const entries = await endKeyEntries(work, [row.id], {}, cause)
  const sent = ended.cleared_at === null ? await sendDeprovision(work, signing, proof, ended) : nothingSent
  for (const subscriber of onAllocationEnding) await subscriber(work, ended, cause, reason, sent)
  return { keys_ended: entries.length, sent }
}
