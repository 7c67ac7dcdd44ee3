import type { revokeAccessGrant as Op } from '@gatehouse/contract/access-grants'
import { Problem } from '#ground/kernel/problem.ts'
import { authorityOf, authorize } from '#rails/authz/authorize.ts'
import { grantSeverity } from '#rails/authz/override-limits.ts'
import type { Answering } from '#rails/http/answer.ts'
import { lockAllocation } from '../allocations/allocation-queries.ts'
import { keyRuleOf } from '../allocations/key-kinds.ts'
import { syncAccess } from '../allocations/sync-access.ts'
import type { TaskSigning } from '../task-signers/task-signing.ts'
import { accessGrantKind, grantedKind, shown } from './access-grant.ts'
import { endGrants, granteeOf, holdersOf } from './access-grant-queries.ts'
import { endOverdue, noteEnds, noteOverdue, withoutFingerprint } from './end-access.ts'
import { toldGrant } from './told-grant-queries.ts'

/** Works in every state of the allocation: to take access back is never too late. */
export const revokeAccessGrant =
  (signing: TaskSigning): Answering<typeof Op> =>
  async (work, { params: { allocation_id, grant_id }, body: { reason = null } }) => {
    const found = await work.tx.maybe(lockAllocation(allocation_id))
    const named = await work.tx.maybe(granteeOf(allocation_id, grant_id))
    const row = found && { ...found, grantee_user_id: named?.grantee_user_id ?? null }
    const ways = ['project.access_grant.manage', 'tenant.access_grant.manage', 'project.access_grant.revoke_own'] as const
    const allocation = await authorize(work, ways, grantedKind, row)
    const proof = await authorize(work, ways, accessGrantKind, named && { ...allocation, grant_id })

    // What has run out has ended by itself; that is noted first, so that a revoke does not claim it.
    const overdue = await endOverdue(work, allocation, proof)
    const revoked = await work.tx.many(
      endGrants(proof, [allocation.id], { grant_id }, { by: work.actor.id, cause: 'revoked', now: work.now }),
    )
    const ended = revoked[0] ?? overdue.grants.find(({ id }) => id === grant_id)
    if (!ended) throw new Problem('state_conflict', { state: (await work.tx.one(toldGrant(grant_id))).state })
    const sync = await syncAccess(work, signing, allocation)
    await noteOverdue(work, allocation, proof, overdue, sync)
    if (revoked.length > 0) await noteEnds(work, allocation, proof, revoked, { sync, reason, severity: grantSeverity(authorityOf(proof)) })
    const besides = await work.tx.many(holdersOf(allocation.id, [ended.fingerprint]))
    const isOwnOnly = authorityOf(proof).action === 'project.access_grant.revoke_own'
    return {
      ...shown(await work.tx.one(toldGrant(grant_id)), await keyRuleOf(work, allocation)),
      key_stays_in_force: besides.length > 0,
      key_in_force_through: isOwnOnly ? null : besides.map(withoutFingerprint),
    }
  }
