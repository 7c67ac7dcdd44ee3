import type { TenancySubscribers } from '#people/tenancy/subscribers.ts'
import { record } from '#rails/audit/record.ts'
import { systemProof } from '#rails/authz/authorize.ts'
import { recordedOf } from './allocation.ts'
import { lockOwnedBy, setOwner } from './allocation-queries.ts'

/** Who leaves owns nothing there any more, also after he has come back. What he could enter is ended with his grants. */
export const endOwnership: TenancySubscribers['onMembershipEnded'][number] = async (work, { tenant_id, project_id, user_id, reason }) => {
  const owned = await work.tx.many(lockOwnedBy(user_id, tenant_id, project_id))
  if (owned.length === 0) return
  await work.tx.many(
    setOwner(
      systemProof('membership_cascade', 'allocation.ssh_keys.write', {}),
      owned.map(({ id }) => id),
      null,
    ),
  )
  for (const row of owned) record(work, { action: 'allocation.owner.end', ...recordedOf(row), metadata: { user_id, reason } })
}
