import { systemProof } from '#rails/authz/authorize.ts'
import type { AllocationSubscribers } from '../allocations/allocation.ts'
import { moveGenerations } from './access-grant-queries.ts'

/** What all grants there rest on has moved: what is said of each of them is said of this set from now on. */
export const followSet: AllocationSubscribers['onSetMoved'][number] = async (work, { id }, generation) => {
  await work.tx.many(moveGenerations(systemProof('access_cascade', 'project.access_grant.manage', {}), id, generation))
}
