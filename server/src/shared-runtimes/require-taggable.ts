import type { RequireTaggable } from '../allocations/allocation.ts'
import { Problem } from '../kernel/problem.ts'
import { taggable } from './contributed-queries.ts'

/** Behind the lock of the organization: nobody disables it, or detaches the project, while an allocation is tagged for it. */
export const requireTaggable: RequireTaggable = async ({ tx }, { id, org_id }, shared_runtime_id) => {
  if (!(await tx.maybe(taggable(shared_runtime_id, org_id, id)))) throw new Problem('shared_runtime_not_found')
}
