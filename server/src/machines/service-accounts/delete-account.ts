import type { deleteServiceAccount as Op } from '@gatehouse/contract/service-accounts'
import { endServiceAccountBindings } from '#people/roles/binding-queries.ts'
import { record } from '#rails/audit/record.ts'
import type { Answering } from '#rails/http/answer.ts'
import { endAccount } from './account-queries.ts'
import { authorizeAccount, recordedIn } from './account-scope.ts'

/** The row stays, for the record and for the tokens that name it; its keys count no more, whatever they say of themselves. */
export const deleteAccount: Answering<typeof Op> = async (work, { params, body: { reason } }) => {
  const { project, account } = await authorizeAccount(work, 'project.service_account.manage', params)
  await work.tx.one(endAccount(project, account.id, work.actor.id, reason, work.now))
  const ended = await work.tx.many(endServiceAccountBindings(project, account.id, work.actor.id, reason, work.now))
  record(work, {
    action: 'service_account.delete',
    resource_type: 'service_account',
    resource_id: account.id,
    ...recordedIn(project),
    metadata: { slug: account.slug, ended_bindings: ended.map(({ id }) => id), reason },
  })
}
