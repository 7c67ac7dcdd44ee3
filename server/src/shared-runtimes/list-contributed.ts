import type { listRuntimeAllocations as Op } from '@gatehouse/contract/shared-runtimes'
import type { AllocationRow } from '../allocations/allocation.ts'
import { listedOf } from '../allocations/shown-allocation.ts'
import { type Answering, listed } from '../http/answer.ts'
import { readableAmong } from './contributed-allocation.ts'
import { contributedTo } from './contributed-queries.ts'
import { idAfter, placeAmong } from './operator-cursor.ts'
import { authorizeToSee } from './runtime-scope.ts'

/** Each is judged by itself too. */
export const listContributed: Answering<typeof Op> = async (work, { params, slice }) => {
  const { runtime } = await authorizeToSee(work, 'shared_runtime.allocation.read', params)
  const seen: AllocationRow[] = []
  let after = idAfter(runtime, slice.after)
  while (seen.length <= slice.limit) {
    const rows = await work.tx.many(contributedTo(runtime.id, after, slice.limit + 1))
    seen.push(...(await readableAmong(work, runtime.id, rows)))
    if (rows.length <= slice.limit) break
    after = rows.at(-1)!.id
  }
  const { items, after: last } = listed(seen, slice, ({ id }) => placeAmong(runtime, id))
  for (const { project_id } of items) work.trail.shown_of.add(project_id)
  return { items: items.map(listedOf), after: last }
}
