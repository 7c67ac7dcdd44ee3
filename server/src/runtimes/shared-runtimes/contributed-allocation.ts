import { type AllocationRow, allocationKind } from '#fleet/allocations/allocation.ts'
import type { Work } from '#ground/work/work.ts'
import { authorizedAmong } from '#rails/authz/authorize.ts'
import type { Kind } from '#rails/authz/kind.ts'
import { contributedAmong } from './contributed-queries.ts'

/** An allocation as a runtime sees it: in its own project, and by way of this runtime. */
const contributedKind = (shared_runtime_id: string): Kind<AllocationRow> => ({
  ...allocationKind,
  placeOf: (row, actor) => ({ ...allocationKind.placeOf(row, actor), shared_runtime_id }),
})

/** Each is judged by itself: its project may have rules of its own. People see what they would if they read it. */
export const readableAmong = <Row extends AllocationRow>(work: Work, shared_runtime_id: string, rows: readonly Row[]): Promise<Row[]> =>
  work.actor.type === 'user'
    ? authorizedAmong<Row>(work, 'allocation.read', allocationKind, rows)
    : authorizedAmong<Row>(work, 'shared_runtime.allocation.read', contributedKind(shared_runtime_id), rows)

/** Of these, those that are contributed to the runtime now and that whoever asks may read. */
export const readContributed = async (
  work: Work,
  shared_runtime_id: string,
  allocation_ids: readonly (string | null)[],
): Promise<AllocationRow[]> => {
  const named = [...new Set(allocation_ids)].filter((id) => id !== null)
  return named.length === 0 ? [] : readableAmong(work, shared_runtime_id, await work.tx.many(contributedAmong(shared_runtime_id, named)))
}
