import type { createServiceAccountKey as Op } from '@gatehouse/contract/service-accounts'
import { record } from '#rails/audit/record.ts'
import type { Answering } from '#rails/http/answer.ts'
import { authorizeAccount, recordedIn } from './account-scope.ts'
import { makeKey } from './making-keys.ts'

export const createKey: Answering<typeof Op> = async (work, { params, body: { reason = null, ...wish } }) => {
  const { project, account } = await authorizeAccount(work, 'project.service_account.key.create', params)
  const key = await makeKey(work, project, account, { ...wish, freed: 0 })
  record(work, {
    action: 'service_account.key.create',
    resource_type: 'service_account_key',
    resource_id: key.key_id,
    ...recordedIn(project),
    metadata: { service_account_id: account.id, slug: account.slug, kind: key.kind, alg: key.alg, expires_at: key.expires_at, reason },
  })
  return key
}
