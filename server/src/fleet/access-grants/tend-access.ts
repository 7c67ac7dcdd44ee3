import type { Database } from '#ground/db/database.ts'
import type { Work } from '#ground/work/work.ts'
import type { Append } from '#rails/audit/append.ts'
import { tendEach } from '#rails/audit/tend-each.ts'
import { systemProof } from '#rails/authz/authorize.ts'
import { lockAllocation } from '../allocations/allocation-queries.ts'
import { syncAccess } from '../allocations/sync-access.ts'
import type { TaskSigning } from '../task-signers/task-signing.ts'
import { allocationsOverdue } from './access-grant-queries.ts'
import { endOverdue, noteOverdue } from './end-access.ts'

export interface TendingAccess {
  readonly database: Database
  readonly append: Append
  readonly signing: TaskSigning
}

const proof = systemProof('access_tending', 'project.access_grant.manage', {})
const at_once = 100

/** Behind the lock: another process may have been here. Says how many it ended. */
const tendOne = async (work: Work, signing: TaskSigning, allocation_id: string): Promise<number> => {
  const allocation = await work.tx.one(lockAllocation(allocation_id))
  const ended = await endOverdue(work, allocation, proof)
  if (ended.grants.length > 0) await noteOverdue(work, allocation, proof, ended, await syncAccess(work, signing, allocation))
  return ended.grants.length
}

/**
 * Ends the grants whose time is over, and those from before a backup was restored. They open nothing by then: the set that goes to a node
 * leaves them out, and a key's line says when it ends. To be run now and then; several processes may. Returns how many it ended.
 */
export const tendAccess = async (tending: TendingAccess): Promise<number> => {
  let count = 0
  for (;;) {
    const overdue = await tending.database.reader.many(allocationsOverdue(at_once))
    const { done, failed } = await tendEach(tending, 'access_tending', overdue, (work, { id }) => tendOne(work, tending.signing, id))
    if (failed.length > 0) throw failed[0]
    for (const ended of done) count += ended
    if (overdue.length < at_once) return count
  }
}
