import type { listRuntimeAllocations as Op } from '@gatehouse/contract/shared-runtimes'
import { listedOf } from '../allocations/shown-allocation.ts'
import { type Answering, listed } from '../http/answer.ts'
import { seenIn } from '../http/seen-page.ts'
import { readableAmong } from './contributed-allocation.ts'
import { contributedTo } from './contributed-queries.ts'
import { idAfter, placeAmong } from './operator-cursor.ts'
import { authorizeToSee } from './runtime-scope.ts'

/** Each is judged by itself too. */
export const listContributed: Answering<typeof Op> = async (work, { params, slice }) => {
  const { runtime } = await authorizeToSee(work, 'shared_runtime.allocation.read', params)
  const seen = await seenIn(
    { ...slice, after: idAfter(runtime, slice.after) },
    (after, limit) => work.tx.many(contributedTo(runtime.id, after, limit)),
    (rows) => readableAmong(work, runtime.id, rows),
  )
  const { items, after } = listed(seen, slice, ({ id }) => placeAmong(runtime, id))
  for (const { project_id } of items) work.trail.shown_of.add(project_id)
  return { items: items.map(listedOf), after }
}
