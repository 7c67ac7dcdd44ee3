import type { createServiceAccount as Op } from '@gatehouse/contract/service-accounts'
import { newId } from '#ground/kernel/ids.ts'
import { record } from '#rails/audit/record.ts'
import type { Answering } from '#rails/http/answer.ts'
import { requireRoom } from '#rails/policies/require-room.ts'
import { countAccounts, insertAccount } from './account-queries.ts'
import { authorizeToChange, recordedIn } from './account-scope.ts'

/** Without a role it can do nothing yet, and without a key nobody can be it. */
export const createAccount: Answering<typeof Op> = async (work, { params, body: { name, slug, reason = null } }) => {
  const project = await authorizeToChange(work, 'project.service_account.manage', params.project_id)
  const { count } = await work.tx.one(countAccounts(project))
  await requireRoom(work.tx, 'auth.max_service_accounts_per_project', count, { tenant_id: project.org_id, project_id: project.id })
  const account = await work.tx.one(insertAccount(project, { id: newId('service account'), name, slug }, work.actor.id, work.now))
  record(work, {
    action: 'service_account.create',
    resource_type: 'service_account',
    resource_id: account.id,
    ...recordedIn(project),
    metadata: { slug, reason },
  })
  return account
}
