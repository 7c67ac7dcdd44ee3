import type { createAccessGrant as Op } from '@gatehouse/contract/access-grants'
import { newId } from '#ground/kernel/ids.ts'
import { Problem } from '#ground/kernel/problem.ts'
import { record } from '#rails/audit/record.ts'
import { authorityOf } from '#rails/authz/authorize.ts'
import { grantSeverity, requireNoSelfGrant } from '#rails/authz/override-limits.ts'
import { Again, type AnsweringAgain } from '#rails/http/answer.ts'
import { requireRoom } from '#rails/policies/require-room.ts'
import { shareUser } from '../allocations/allocation-queries.ts'
import { authorizeToChange } from '../allocations/allocation-scope.ts'
import { keyRuleOf, requireKinds } from '../allocations/key-kinds.ts'
import { isOpen } from '../allocations/states.ts'
import { syncAccess } from '../allocations/sync-access.ts'
import { holdSshKeys, type SshKeyRow } from '../ssh-keys/ssh-key-queries.ts'
import type { TaskSigning } from '../task-signers/task-signing.ts'
import { recordedGrant, shown } from './access-grant.ts'
import { activeMember, countActiveGrants, insertGrant, moveEnd, openGrant, setGeneration } from './access-grant-queries.ts'
import { endOverdue, noteOverdue } from './end-access.ts'
import { toldGrant } from './told-grant-queries.ts'

const managing = ['project.access_grant.manage', 'tenant.access_grant.manage'] as const

const requirePersonal = (key: SshKeyRow | undefined, grantee_user_id: string, project_id: string): void => {
  if (key?.project_id === project_id) throw new Problem('ssh_key_not_personal')
  if (key?.user_id !== grantee_user_id) throw new Problem('ssh_key_not_found')
}

/** Lets a member in with a key of his own; for the same person and key it moves the end, and an identical repeat changes nothing. */
export const createAccessGrant =
  (signing: TaskSigning): AnsweringAgain<typeof Op> =>
  async (work, { params: { allocation_id }, body: { grantee_user_id, ssh_key_id, expires_at = null, reason = null } }) => {
    // All that the grant will rest on: whoever ends one of these waits until the grant is there, and then ends it with it.
    const hold = async () => {
      await work.tx.maybe(shareUser(grantee_user_id))
      return work.tx.maybe(holdSshKeys([ssh_key_id]))
    }
    const { allocation, held } = await authorizeToChange(work, managing, allocation_id, hold)
    const authority = authorityOf(allocation)
    requireNoSelfGrant(work, authority, grantee_user_id)
    if (expires_at !== null && expires_at <= work.now)
      throw new Problem('validation_error', [{ in: 'body', field: 'expires_at', message: 'must lie in the future' }])
    if (!(await work.tx.maybe(activeMember(allocation.project_id, grantee_user_id)))) throw new Problem('grantee_not_member')
    requirePersonal(held, grantee_user_id, allocation.project_id)
    await requireKinds(work, allocation, [held!])
    if (!isOpen(allocation.state)) throw new Problem('allocation_not_active', { state: allocation.state })

    const before = await work.tx.maybe(openGrant(allocation.id, grantee_user_id, ssh_key_id))
    const is_update = before !== undefined && !before.is_over
    const is_same = is_update && before.expires_at === expires_at && (reason === null || reason === before.reason)
    if (is_same) return new Again(shown(await work.tx.one(toldGrant(before.id)), await keyRuleOf(work, allocation)), false)
    // One whose time is over is not revived: it ends, and this is another.
    const ended = before?.is_over ? await endOverdue(work, allocation, allocation) : undefined
    const id = is_update ? before.id : newId('access grant')
    if (is_update) await work.tx.one(moveEnd(allocation, id, expires_at, reason, work.now))
    else {
      // The allocation is locked: nobody counts at the same time.
      const { count } = await work.tx.one(countActiveGrants(allocation.id))
      await requireRoom(work.tx, 'access.max_grants_per_allocation', count)
      await work.tx.one(insertGrant(allocation, { id, grantee_user_id, ssh_key_id, expires_at, reason }, work.actor.id, work.now))
    }
    const sync = await syncAccess(work, signing, allocation)
    await work.tx.one(setGeneration(allocation, id, sync.generation))
    if (ended) await noteOverdue(work, allocation, allocation, ended, sync)
    const told = await work.tx.one(toldGrant(id))
    const updated = is_update && { updated: true, former_expires_at: before.expires_at }
    record(work, {
      action: 'allocation.access_grant.create',
      ...recordedGrant(allocation, told, sync, { reason, ...updated }),
      severity: grantSeverity(authority),
    })
    const reply = shown(told, await keyRuleOf(work, allocation))
    return is_update ? new Again(reply, true) : reply
  }
