import type { EndCause } from '@gatehouse/contract/access-grants'
import type { AllocationRow, AllocationSubscribers } from '../allocations/allocation.ts'
import { lockAllocations } from '../allocations/allocation-queries.ts'
import { endKeyEntries } from '../allocations/end-key-entries.ts'
import { syncAccess } from '../allocations/sync-access.ts'
import { record } from '../audit/record.ts'
import { systemProof } from '../authz/authorize.ts'
import type { TaskSigning } from '../nodes/task-signing.ts'
import type { UserDisabling } from '../principals/disable-user.ts'
import type { SshKeySubscribers } from '../ssh-keys/ssh-key.ts'
import type { TenancySubscribers } from '../tenancy/subscribers.ts'
import type { Work } from '../work/work.ts'
import { endedBy, recordedOf } from './access-grant.ts'
import { allocationsOpenTo, allocationsOpenWith, type EndedGrant, endGrants, setEndGenerations } from './access-grant-queries.ts'

const proof = systemProof('access_cascade', 'project.access_grant.manage', {})

type On = Pick<AllocationRow, 'id' | 'org_id' | 'project_id'>
interface Sync {
  readonly generation: number | null
  readonly task_id: string | null
}

/** Notes in which set each grant is gone, and records each end by itself, with its cause and the task that tells the node. */
export const noteEnds = async (work: Work, allocation: On, ended: readonly EndedGrant[], sync: Sync, reason: string | null) => {
  await work.tx.many(
    setEndGenerations(
      proof,
      ended.map(({ id }) => id),
      sync.generation,
    ),
  )
  for (const grant of ended)
    record(work, {
      action: 'allocation.access_grant.revoke',
      resource_type: 'access_grant',
      resource_id: grant.id,
      tenant_id: allocation.org_id,
      project_id: allocation.project_id,
      metadata: recordedOf(grant, allocation.project_id, sync, { cause: grant.end_cause, reason }),
    })
}

/** Keys that the allocation had of its own; whose they were, the key says. */
const noteEntries = (
  work: Work,
  { id, org_id, project_id }: On,
  entries: readonly { readonly ssh_key_id: string }[],
  cause: EndCause,
  { task_id, generation }: Sync,
  reason: string | null,
) =>
  record(work, {
    action: 'allocation.ssh_keys.end',
    resource_type: 'allocation',
    resource_id: id,
    tenant_id: org_id,
    project_id,
    metadata: { ended: entries.map(({ ssh_key_id }) => ssh_key_id), cause, sync_task_id: task_id, generation, reason },
  })

type Whose = { readonly user_id: string } | { readonly ssh_key_id: string }

/**
 * Ends what a person, or a key, opens on these allocations: grants, and entries among the allocations' own keys; and sends each of
 * their nodes the set without them. All in the transaction that ends what they rested on. Whoever calls holds what keeps new ones from
 * coming: the organization, the person or the key.
 */
const endAccess = async (
  work: Work,
  signing: TaskSigning,
  found: readonly { readonly id: string }[],
  whose: Whose,
  cause: EndCause,
  reason: string | null,
): Promise<void> => {
  if (found.length === 0) return
  const ids = found.map(({ id }) => id)
  const allocations = await work.tx.many(lockAllocations(ids))
  const ended = await work.tx.many(endGrants(proof, ids, whose, { by: endedBy(work.actor), cause, now: work.now }))
  const entries = await endKeyEntries(work, ids, whose, cause)
  for (const allocation of allocations) {
    const isThere = ({ allocation_id }: { readonly allocation_id: string }) => allocation_id === allocation.id
    const sync = await syncAccess(work, signing, allocation)
    if (ended.some(isThere)) await noteEnds(work, allocation, ended.filter(isThere), sync, reason)
    if (entries.some(isThere)) noteEntries(work, allocation, entries.filter(isThere), cause, sync, reason)
  }
}

/** Who leaves a project, or with the organization all of its projects, takes no key of his back in. */
export const endAccessOfMember =
  (signing: TaskSigning): TenancySubscribers['onMembershipEnded'][number] =>
  async (work, { tenant_id, project_id, user_id, reason, by }) => {
    const found = await work.tx.many(allocationsOpenTo(user_id, { tenant_id, project_id }))
    // Without `by` it ends because the membership of the organization did.
    const cause = project_id === null || by === null ? 'tenant_membership_ended' : 'project_membership_ended'
    await endAccess(work, signing, found, { user_id }, cause, reason)
  }

export const endAccessOfUser =
  (signing: TaskSigning): UserDisabling[number] =>
  async (work, user_id) => {
    const found = await work.tx.many(allocationsOpenTo(user_id, { tenant_id: null, project_id: null }))
    await endAccess(work, signing, found, { user_id }, 'user_disabled', null)
  }

export const endAccessOfKey =
  (signing: TaskSigning): SshKeySubscribers['onSshKeyDeleted'][number] =>
  async (work, { id }, reason) => {
    const found = await work.tx.many(allocationsOpenWith(id))
    await endAccess(work, signing, found, { ssh_key_id: id }, 'key_deleted', reason)
  }

/** With the allocation all of its grants end; what tells the node is the task that ends the account there. */
export const endGrantsOf: AllocationSubscribers['onAllocationEnding'][number] = async (work, allocation, cause, reason, sent) => {
  const ended = await work.tx.many(endGrants(proof, [allocation.id], {}, { by: endedBy(work.actor), cause, now: work.now }))
  if (ended.length > 0) await noteEnds(work, allocation, ended, sent, reason)
}
