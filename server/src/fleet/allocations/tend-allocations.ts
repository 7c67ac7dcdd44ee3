import type { Database } from '#ground/db/database.ts'
import type { Work } from '#ground/work/work.ts'
import type { Append } from '#rails/audit/append.ts'
import { record } from '#rails/audit/record.ts'
import { tendEach } from '#rails/audit/tend-each.ts'
import { type AllocationParts, type AllocationRow, recordedOf } from './allocation.ts'
import { allocationsDue, allocationsOwed, isOwed, lockAllocation } from './allocation-queries.ts'
import { askAgain } from './ask-again.ts'
import { endKeyEntries } from './end-key-entries.ts'
import { placeAllocation } from './place-allocation.ts'
import { placeable } from './placement-queries.ts'
import { sendTerms } from './terms-changed.ts'

export interface AllocationTending {
  readonly database: Database
  readonly append: Append
  readonly signing: AllocationParts['signing']
  readonly onSetMoved: AllocationParts['onSetMoved']
}

/** So many at once; what is left comes next time. */
const most = 50

const continueOne = async (work: Work, tending: AllocationTending, row: AllocationRow): Promise<void> => {
  if (!(await work.tx.one(isOwed(row.id))).is_owed) return
  const revived = await endKeyEntries(work, [row.id], { is_of_earlier_epoch: true }, 'backup_restored')
  const sent = await askAgain(work, tending, row)
  record(work, {
    action: 'allocation.ask_again',
    ...recordedOf(row),
    metadata: { node_id: row.node_id, state: row.state, keys_ended: revived.length, ...sent },
  })
}

/**
 * Places what waits for room, sends what a changed policy has made due, and asks nodes again for what they owe: where a task was over before it was done, failed a while ago, or was
 * of a time before a restore. Several processes may: each allocation is looked at again when it is locked.
 */
export const tendAllocations = async (tending: AllocationTending): Promise<void> => {
  const { reader } = tending.database
  const each = (ids: readonly { readonly id: string }[], act: (work: Work, row: AllocationRow) => Promise<unknown>) =>
    tendEach(tending, 'allocation_tending', ids, async (work, { id }) => {
      const row = await work.tx.maybe(lockAllocation(id))
      if (row) await act(work, row)
    })
  const placed = await each(await reader.many(placeable(most)), (work, row) => placeAllocation(work, tending, row))
  const continued = await each(await reader.many(allocationsOwed(most)), (work, row) => continueOne(work, tending, row))
  const told = await each(await reader.many(allocationsDue(most)), (work, row) => sendTerms(work, tending, row))
  const failed = [...placed.failed, ...continued.failed, ...told.failed]
  if (failed.length > 0) throw failed[0]
}
