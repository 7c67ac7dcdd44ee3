import type { revokeServiceAccountKey as Op } from '@gatehouse/contract/service-accounts'
import { Problem } from '#ground/kernel/problem.ts'
import { record } from '#rails/audit/record.ts'
import type { Answering } from '#rails/http/answer.ts'
import { authorizeKey, recordedIn } from './account-scope.ts'
import { findKey, revokeKey as revoke } from './key-queries.ts'

export const revokeKey: Answering<typeof Op> = async (work, { params, body: { reason } }) => {
  const { project, account } = await authorizeKey(work, 'project.service_account.manage', params)
  const key = await work.tx.maybe(findKey(project.id, account.id, params.key_id))
  if (!key) throw new Problem('service_account_key_not_found')
  // One that has run out can still be revoked: its tokens may live longer than it did.
  if (key.state === 'revoked') throw new Problem('state_conflict', { state: key.state })
  await work.tx.one(revoke(project, key.key_id, work.actor.id, reason, work.now))
  record(work, {
    action: 'service_account.key.revoke',
    resource_type: 'service_account_key',
    resource_id: key.key_id,
    ...recordedIn(project),
    metadata: { service_account_id: account.id, slug: account.slug, reason },
  })
}
