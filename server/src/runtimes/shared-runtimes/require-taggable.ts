import type { RequireTaggable } from '#fleet/allocations/allocation.ts'
import { Problem } from '#ground/kernel/problem.ts'
import { shareInRuntime } from './contributed-queries.ts'

/** Behind the lock of the organization: nobody disables it, or detaches the project, while an allocation is tagged for it. */
export const requireTaggable: RequireTaggable = async ({ tx }, { id, org_id }, shared_runtime_id) => {
  const share = await tx.maybe(shareInRuntime(shared_runtime_id, org_id, id))
  if (!share) throw new Problem('shared_runtime_not_found')
  const { state, contribution_policy } = share
  if (contribution_policy === null) throw new Problem('insufficient_permissions', { reason_code: 'membership_missing' })
  if (state === 'disabled') throw new Problem('state_conflict', { state })
  if (contribution_policy === 'none') throw new Problem('state_conflict', { contribution_policy })
}
