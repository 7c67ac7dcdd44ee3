import type { listRuntimeAllocations as Op } from '@gatehouse/contract/shared-runtimes'
import { type AllocationRow, allocationKind } from '../allocations/allocation.ts'
import { listedOf } from '../allocations/shown-allocation.ts'
import { authorizedAmong } from '../authz/authorize.ts'
import type { Kind } from '../authz/kind.ts'
import { type Answering, listed } from '../http/answer.ts'
import { idAfter, placeAmong } from './attachment-cursor.ts'
import { contributedTo } from './contributed-queries.ts'
import { authorizeToSee } from './runtime-scope.ts'

/** An allocation as a runtime sees it: in its own project, and by way of this runtime. */
const contributedKind = (shared_runtime_id: string): Kind<AllocationRow> => ({
  ...allocationKind,
  placeOf: (row, actor) => ({ ...allocationKind.placeOf(row, actor), shared_runtime_id }),
})

/** Each is judged by itself too: its project may have rules of its own. */
export const listContributed: Answering<typeof Op> = async (work, { params, slice }) => {
  const { runtime } = await authorizeToSee(work, 'shared_runtime.allocation.read', params)
  const seen: AllocationRow[] = []
  let after = idAfter(runtime, slice.after)
  while (seen.length <= slice.limit) {
    const rows = await work.tx.many(contributedTo(runtime.id, after, slice.limit + 1))
    seen.push(...(await authorizedAmong(work, 'shared_runtime.allocation.read', contributedKind(runtime.id), rows)))
    if (rows.length <= slice.limit) break
    after = rows.at(-1)!.id
  }
  const { items, after: last } = listed(seen, slice, ({ id }) => placeAmong(runtime, id))
  return { items: items.map(listedOf), after: last }
}
