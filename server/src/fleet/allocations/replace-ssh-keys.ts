import type { replaceAllocationSshKeys as Op } from '@gatehouse/contract/allocations'
import { newId } from '#ground/kernel/ids.ts'
import { Problem } from '#ground/kernel/problem.ts'
import { record } from '#rails/audit/record.ts'
import type { Answering } from '#rails/http/answer.ts'
import { type AllocationParts, recordedOf } from './allocation.ts'
import { findAllocation } from './allocation-queries.ts'
import { authorizeToChange } from './allocation-scope.ts'
import { endKeyEntries } from './end-key-entries.ts'
import { holdKeys, requireOwnKeys } from './hold-keys.ts'
import { addKeyEntries } from './key-entry-queries.ts'
import { requireKinds } from './key-kinds.ts'
import { shown } from './shown-allocation.ts'
import { isOpen } from './states.ts'
import { syncAccess } from './sync-access.ts'

/** The allocation's own keys are these and no others; what members were granted stays (SG-07). */
export const replaceSshKeys =
  ({ signing }: AllocationParts): Answering<typeof Op> =>
  async (work, { params, body: { ssh_key_ids, reason = null } }) => {
    const { allocation, held } = await authorizeToChange(work, 'allocation.ssh_keys.write', params.allocation_id, async () => {
      // Read behind the lock of the project: until then another owner could be named.
      const { owner_user_id } = await work.tx.one(findAllocation(params.allocation_id))
      return holdKeys(work, owner_user_id, ssh_key_ids)
    })
    if (!isOpen(allocation.state)) throw new Problem('allocation_not_active', { state: allocation.state })
    requireOwnKeys(allocation, held!, ssh_key_ids)
    await requireKinds(work, allocation, held!.keys)
    // What a restored backup has revived is given anew, not kept.
    await endKeyEntries(work, [allocation.id], { is_of_earlier_epoch: true }, 'backup_restored')
    const ended = await endKeyEntries(work, [allocation.id], { except: ssh_key_ids }, 'replaced')
    const entries = ssh_key_ids.map((ssh_key_id) => ({ id: newId('key entry'), ssh_key_id }))
    const added = await work.tx.many(addKeyEntries(allocation, allocation.id, entries, work.actor.id, work.now))
    // Also where nothing changed: who asks again wants to be sure.
    const sent = await syncAccess(work, signing, allocation)
    record(work, {
      action: 'allocation.ssh_keys.replace',
      ...recordedOf(allocation),
      metadata: {
        fingerprints: held!.keys.map(({ fingerprint }) => fingerprint),
        added: added.map(({ ssh_key_id }) => ssh_key_id),
        ended: ended.map(({ ssh_key_id }) => ssh_key_id),
        node_id: allocation.node_id,
        reason,
        ...sent,
      },
    })
    return shown(work, allocation.id)
  }
