import type { readAllocation as Op } from '@gatehouse/contract/allocations'
import { authorize } from '#rails/authz/authorize.ts'
import type { Answering } from '#rails/http/answer.ts'
import { allocationKind } from './allocation.ts'
import { findAllocation } from './allocation-queries.ts'
import { shown } from './shown-allocation.ts'

export const readAllocation: Answering<typeof Op> = async (work, { params }) => {
  const allocation = await authorize(work, 'allocation.read', allocationKind, await work.tx.maybe(findAllocation(params.allocation_id)))
  return shown(work, allocation.id)
}
