import type { Append } from '../audit/append.ts'
import { record } from '../audit/record.ts'
import { systemProof } from '../authz/authorize.ts'
import type { Database, Tx } from '../db/database.ts'
import { newId } from '../kernel/ids.ts'
import { systemWork, type Work } from '../work/work.ts'
import { type AllocationParts, type AllocationRow, recordedOf } from './allocation.ts'
import { allocationsOwed, isOwed, isSetSent, lockAllocation, placeable } from './allocation-queries.ts'
import { endKeyEntries } from './end-key-entries.ts'
import { placeAllocation } from './place-allocation.ts'
import { sendDeprovision, sendProvision } from './send-task.ts'
import { sendWholeSet } from './sync-access.ts'

export interface AllocationTending {
  readonly database: Database
  readonly append: Append
  readonly signing: AllocationParts['signing']
}

/** So many at once; what is left comes next time. */
const most = 50
const proof = systemProof('node_tending', 'allocation.release', {})

/** What the node is to do next, from the state alone. */
const askAgain = async (work: Work, { signing }: AllocationTending, row: AllocationRow) => {
  if (row.state === 'releasing' || row.state === 'failed') return sendDeprovision(work, signing, proof, row)
  if (row.state === 'active' || (await work.tx.one(isSetSent(row.id))).is_sent) return sendWholeSet(work, signing, row)
  return sendProvision(work, signing, proof, row)
}

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
 * Places what waits for room, and asks nodes again for what they owe: where a task was over before it was done, failed a while ago, or was
 * of a time before a restore. Several processes may: each allocation is looked at again when it is locked.
 */
export const tendAllocations = async (tending: AllocationTending): Promise<void> => {
  const { database, append } = tending
  const failed: unknown[] = []
  const each = async (ids: readonly { readonly id: string }[], act: (work: Work, row: AllocationRow) => Promise<unknown>) => {
    for (const { id } of ids)
      try {
        await database.transaction('write', async (tx: Tx) => {
          const work = systemWork(tx, 'allocation_tending', newId('correlation'))
          const row = await tx.maybe(lockAllocation(id))
          if (row) await act(work, row)
          await append(work)
        })
      } catch (error) {
        // One that cannot be tended must not keep the others from it; it is tried again the next time.
        failed.push(error)
      }
  }
  await each(await database.reader.many(placeable(most)), (work, row) => placeAllocation(work, tending, row))
  await each(await database.reader.many(allocationsOwed(most)), (work, row) => continueOne(work, tending, row))
  if (failed.length > 0) throw failed[0]
}
