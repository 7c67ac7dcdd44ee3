import { lockAllocation } from '../allocations/allocation-queries.ts'
import { syncAccess } from '../allocations/sync-access.ts'
import type { Append } from '../audit/append.ts'
import { systemProof } from '../authz/authorize.ts'
import type { Database } from '../db/database.ts'
import { newId } from '../kernel/ids.ts'
import type { TaskSigning } from '../nodes/task-signing.ts'
import { systemWork } from '../work/work.ts'
import { allocationsOverdue, endOverdueGrants } from './access-grant-queries.ts'
import { noteEnds } from './end-access.ts'

export interface TendingAccess {
  readonly database: Database
  readonly append: Append
  readonly signing: TaskSigning
}

const proof = systemProof('access_tending', 'project.access_grant.manage', {})
const at_once = 100

/** Behind the lock: another process may have been here. */
const tendOne = async ({ database, append, signing }: TendingAccess, allocation_id: string): Promise<number> =>
  database.transaction('write', async (tx) => {
    const work = systemWork(tx, 'access_tending', newId('correlation'))
    const allocation = await tx.one(lockAllocation(allocation_id))
    const ended = await tx.many(endOverdueGrants(proof, allocation_id, work.now))
    if (ended.length === 0) return 0
    await noteEnds(work, allocation, proof, ended, { sync: await syncAccess(work, signing, allocation), reason: null })
    await append(work)
    return ended.length
  })

/**
 * Ends the grants whose time is over, and those from before a backup was restored. They open nothing by then: the set that goes to a node
 * leaves them out, and a key's line says when it ends. To be run now and then; several processes may. Returns how many it ended.
 */
export const tendAccess = async (tending: TendingAccess): Promise<number> => {
  let count = 0
  let failed: unknown
  for (;;) {
    const overdue = await tending.database.reader.many(allocationsOverdue(at_once))
    for (const { id } of overdue)
      try {
        count += await tendOne(tending, id)
      } catch (error) {
        // One that cannot be tended must not keep the others from it; it is tried again the next time.
        failed ??= error
      }
    if (failed !== undefined) throw failed
    if (overdue.length < at_once) return count
  }
}
