import type { listRuntimeAllocations as Op } from '@gatehouse/contract/shared-runtimes'
import { allocationKind } from '#fleet/allocations/allocation.ts'
import { listedOf } from '#fleet/allocations/shown-allocation.ts'
import type { Answering } from '#rails/http/answer.ts'
import { readableAmong } from './contributed-allocation.ts'
import { contributedTo } from './contributed-queries.ts'
import { listAcross } from './list-across.ts'

export const listContributed: Answering<typeof Op> = async (work, asked) => {
  const { items, after: last } = await listAcross(work, asked, {
    right: 'shared_runtime.allocation.read',
    type: allocationKind.type,
    readAfter: (runtime, after, limit) => work.tx.many(contributedTo(runtime.id, after, limit)),
    seenAmong: (runtime, rows) => readableAmong(work, runtime.id, rows),
  })
  return { items: items.map(listedOf), after: last }
}
