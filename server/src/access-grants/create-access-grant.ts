import type { createAccessGrant as Op } from '@gatehouse/contract/access-grants'
import { allocationKind } from '../allocations/allocation.ts'
import { findAllocation, lockAllocation, shareUser } from '../allocations/allocation-queries.ts'
import { isOpen } from '../allocations/states.ts'
import { syncAccess } from '../allocations/sync-access.ts'
import { record } from '../audit/record.ts'
import { authorityOf, authorize } from '../authz/authorize.ts'
import { grantSeverity, requireNoSelfGrant } from '../authz/override-limits.ts'
import { Again, type AnsweringAgain } from '../http/answer.ts'
import { newId } from '../kernel/ids.ts'
import { Problem } from '../kernel/problem.ts'
import type { TaskSigning } from '../nodes/task-signing.ts'
import { holdSshKeys, type SshKeyRow } from '../ssh-keys/ssh-key-queries.ts'
import { lockProject } from '../tenancy/project-queries.ts'
import type { Work } from '../work/work.ts'
import { most_active_grants, recordedOf, shown } from './access-grant.ts'
import {
  activeMember,
  countActiveGrants,
  endOverdueGrants,
  insertGrant,
  moveEnd,
  openGrant,
  setGeneration,
  toldGrant,
} from './access-grant-queries.ts'
import { noteEnds } from './end-access.ts'

/**
 * Everything that the grant will rest on, in the order in which all take it: the project with its organization, the person, the key, the
 * allocation. Whoever ends one of these waits until the grant is there, and then ends it with it.
 */
const held = async (work: Work, allocation_id: string, grantee_user_id: string, ssh_key_id: string) => {
  const found = await work.tx.maybe(findAllocation(allocation_id))
  if (!found) return { key: undefined, allocation: undefined }
  await work.tx.maybe(lockProject(found.project_id))
  await work.tx.maybe(shareUser(grantee_user_id))
  const key = await work.tx.maybe(holdSshKeys([ssh_key_id]))
  return { key, allocation: await work.tx.maybe(lockAllocation(allocation_id)) }
}

const requirePersonal = (key: SshKeyRow | undefined, grantee_user_id: string, project_id: string): SshKeyRow => {
  if (key?.project_id === project_id) throw new Problem('ssh_key_not_personal')
  if (key?.user_id !== grantee_user_id) throw new Problem('ssh_key_not_found')
  return key
}

/** Lets a member in with a key of his own; for the same person and key it moves the end, and an identical repeat changes nothing. */
export const createAccessGrant =
  (signing: TaskSigning): AnsweringAgain<typeof Op> =>
  async (work, { params: { allocation_id }, body: { grantee_user_id, ssh_key_id, expires_at = null, reason = null } }) => {
    const { key: named, allocation: row } = await held(work, allocation_id, grantee_user_id, ssh_key_id)
    const allocation = await authorize(work, ['project.access_grant.manage', 'tenant.access_grant.manage'], allocationKind, row)
    const authority = authorityOf(allocation)
    requireNoSelfGrant(work, authority, grantee_user_id)
    if (expires_at !== null && expires_at <= work.now)
      throw new Problem('validation_error', [{ in: 'body', field: 'expires_at', message: 'must lie in the future' }])
    if (!(await work.tx.maybe(activeMember(allocation.project_id, grantee_user_id)))) throw new Problem('grantee_not_member')
    const key = requirePersonal(named, grantee_user_id, allocation.project_id)
    if (!isOpen(allocation.state)) throw new Problem('allocation_not_active', { state: allocation.state })

    const before = await work.tx.maybe(openGrant(allocation.id, grantee_user_id, ssh_key_id))
    const is_update = before !== undefined && !before.is_over
    if (is_update && before.expires_at === expires_at) return new Again(shown(await work.tx.one(toldGrant(before.id))), false)
    // One whose time is over is not revived: it ends, and this is another.
    const ended = before?.is_over ? await work.tx.many(endOverdueGrants(allocation, allocation.id, work.now)) : []
    const id = is_update ? before.id : newId('access grant')
    if (is_update) await work.tx.one(moveEnd(allocation, id, expires_at, reason, work.now))
    else {
      const { count } = await work.tx.one(countActiveGrants(allocation.id))
      if (count >= most_active_grants) throw new Problem('limit_reached', { limit: most_active_grants })
      await work.tx.one(insertGrant(allocation, { id, grantee_user_id, ssh_key_id, expires_at, reason }, work.actor.id, work.now))
    }
    const sync = await syncAccess(work, signing, allocation)
    await work.tx.one(setGeneration(allocation, id, sync.generation))
    if (ended.length > 0) await noteEnds(work, allocation, ended, sync, null)
    const grant = {
      allocation_id: allocation.id,
      grantee_user_id,
      ssh_key_id,
      expires_at,
      key_type: key.key_type,
      fingerprint: key.fingerprint,
    }
    record(work, {
      action: 'allocation.access_grant.create',
      resource_type: 'access_grant',
      resource_id: id,
      tenant_id: allocation.org_id,
      project_id: allocation.project_id,
      severity: grantSeverity(authority),
      metadata: {
        ...recordedOf(grant, allocation.project_id, sync, { reason }),
        ...(is_update && { updated: true, expired_at: before.expires_at }),
      },
    })
    const reply = shown(await work.tx.one(toldGrant(id)))
    return is_update ? new Again(reply, true) : reply
  }
