import type { nameAllocationOwner as Op } from '@gatehouse/contract/allocations'
import { Problem } from '#ground/kernel/problem.ts'
import { projectMember } from '#people/tenancy/membership-queries.ts'
import { record } from '#rails/audit/record.ts'
import type { Answering } from '#rails/http/answer.ts'
import { type AllocationParts, recordedOf } from './allocation.ts'
import { setOwner, shareUser } from './allocation-queries.ts'
import { authorizeToChange } from './allocation-scope.ts'
import { endKeyEntries } from './end-key-entries.ts'
import { shown } from './shown-allocation.ts'
import { isOpen } from './states.ts'
import { syncAccess } from './sync-access.ts'

/** An owner is a member of the project. What was the former owner's own goes with him; what he was granted stays. */
export const nameOwner =
  ({ signing }: AllocationParts): Answering<typeof Op> =>
  async (work, { params, body: { user_id, reason = null } }) => {
    const { allocation, held } = await authorizeToChange(work, 'allocation.ssh_keys.write', params.allocation_id, () =>
      work.tx.maybe(shareUser(user_id)),
    )
    if (!isOpen(allocation.state)) throw new Problem('allocation_not_active', { state: allocation.state })
    if (!held || !(await work.tx.maybe(projectMember(allocation.project_id, user_id)))) throw new Problem('not_project_member')
    const former = allocation.owner_user_id
    const ended =
      former === null || former === user_id ? [] : await endKeyEntries(work, [allocation.id], { user_id: former }, 'owner_changed')
    await work.tx.one(setOwner(allocation, [allocation.id], user_id))
    const sent = ended.length === 0 ? {} : await syncAccess(work, signing, allocation)
    record(work, {
      action: 'allocation.owner.name',
      ...recordedOf(allocation),
      metadata: { user_id, former_owner_user_id: former, ended: ended.map(({ ssh_key_id }) => ssh_key_id), reason, ...sent },
    })
    return shown(work, allocation.id)
  }
