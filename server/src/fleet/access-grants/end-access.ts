import type { EndCause } from '@gatehouse/contract/access-grants'
import type { Severity, Work } from '#ground/work/work.ts'
import type { UserDisabling } from '#people/principals/disable-user.ts'
import type { TenancySubscribers } from '#people/tenancy/subscribers.ts'
import { record } from '#rails/audit/record.ts'
import { systemProof } from '#rails/authz/authorize.ts'
import { type AllocationRow, type AllocationSubscribers, recordedOf, type Synced } from '../allocations/allocation.ts'
import { lockAllocations } from '../allocations/allocation-queries.ts'
import { endKeyEntries } from '../allocations/end-key-entries.ts'
import type { EndedEntry } from '../allocations/key-entry-queries.ts'
import { syncAccess } from '../allocations/sync-access.ts'
import type { SshKeySubscribers } from '../ssh-keys/ssh-key.ts'
import type { TaskSigning } from '../task-signers/task-signing.ts'
import { endedBy, recordedGrant } from './access-grant.ts'
import {
  allocationsOpenTo,
  allocationsOpenWith,
  type EndedGrant,
  type Ending,
  endGrants,
  endOverdueGrants,
  type Holder,
  holdersOf,
  setEndGenerations,
} from './access-grant-queries.ts'

const proof = systemProof('access_cascade', 'project.access_grant.manage', {})

interface End {
  readonly sync: Synced
  readonly reason: string | null
  readonly severity?: Severity
}

export const withoutFingerprint = ({ fingerprint: _, ...holder }: Holder) => holder

/** Notes in which set each grant is gone, and records each end by itself, with its cause and the task that tells the node. */
export const noteEnds = async (
  work: Work,
  allocation: AllocationRow,
  by: Ending,
  ended: readonly EndedGrant[],
  { sync, reason, severity = 'info' }: End,
) => {
  const ids = ended.map(({ id }) => id)
  await work.tx.many(setEndGenerations(by, ids, sync.generation))
  const fingerprints = [...new Set(ended.map(({ fingerprint }) => fingerprint))]
  const holders = await work.tx.many(holdersOf(allocation.id, fingerprints))
  for (const grant of ended) {
    const besides = holders.filter(({ fingerprint }) => fingerprint === grant.fingerprint).map(withoutFingerprint)
    const more = { cause: grant.end_cause, reason, ...(besides.length > 0 ? { key_in_force_through: besides } : {}) }
    record(work, { action: 'allocation.access_grant.revoke', ...recordedGrant(allocation, grant, sync, more), severity })
  }
}

/** Keys that the allocation had of its own; whose they were, the key says. */
const noteEntries = (
  work: Work,
  allocation: AllocationRow,
  entries: readonly EndedEntry[],
  cause: EndCause,
  { sync: { task_id, generation }, reason }: End,
) =>
  record(work, {
    action: 'allocation.ssh_keys.end',
    ...recordedOf(allocation),
    metadata: {
      ended: entries.map(({ ssh_key_id }) => ssh_key_id),
      fingerprints: entries.map(({ fingerprint }) => fingerprint),
      cause,
      sync_task_id: task_id,
      generation,
      reason,
    },
  })

/**
 * Ends the grants whose time is over, and those that a restored backup has revived; and with each that has expired, the same key among the
 * allocation's own (SG-11). Whoever asks sends the set, and then notes it.
 */
export const endOverdue = async (work: Work, { id }: AllocationRow, by: Ending) => {
  const grants = await work.tx.many(endOverdueGrants(by, id, work.now))
  const entries: EndedEntry[] = []
  for (const { end_cause, ssh_key_id } of grants)
    if (end_cause === 'expired') entries.push(...(await endKeyEntries(work, [id], { ssh_key_id }, end_cause)))
  return { grants, entries }
}

export const noteOverdue = async (
  work: Work,
  allocation: AllocationRow,
  by: Ending,
  { grants, entries }: Awaited<ReturnType<typeof endOverdue>>,
  sync: Synced,
) => {
  if (grants.length > 0) await noteEnds(work, allocation, by, grants, { sync, reason: null })
  if (entries.length > 0) noteEntries(work, allocation, entries, 'expired', { sync, reason: null })
}

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
    if (ended.some(isThere)) await noteEnds(work, allocation, proof, ended.filter(isThere), { sync, reason })
    if (entries.some(isThere)) noteEntries(work, allocation, entries.filter(isThere), cause, { sync, reason })
  }
}

/** Who leaves a project, or with the organization all of its projects, takes no key of his back in. */
export const endAccessOfMember =
  (signing: TaskSigning): TenancySubscribers['onMembershipEnded'][number] =>
  async (work, { tenant_id, project_id, user_id, reason, by }) => {
    const where = { tenant_id, project_id }
    // What he owns ends after this: all are locked at once, in the order in which everybody locks them.
    const touched = await work.tx.many(allocationsOpenTo(user_id, where, true))
    await work.tx.many(lockAllocations(touched.map(({ id }) => id)))
    const found = await work.tx.many(allocationsOpenTo(user_id, where))
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
  if (ended.length > 0) await noteEnds(work, allocation, proof, ended, { sync: sent, reason })
}
