import type { disableServiceAccount as Disable, enableServiceAccount as Enable } from '@gatehouse/contract/service-accounts'
import { record } from '../audit/record.ts'
import type { Answering } from '../http/answer.ts'
import { Problem } from '../kernel/problem.ts'
import { disableAccount as disable, enableAccount as enable } from './account-queries.ts'
import { authorizeAccount, recordedIn } from './account-scope.ts'

export const disableAccount: Answering<typeof Disable> = async (work, { params, body: { reason } }) => {
  const { project, account } = await authorizeAccount(work, 'project.service_account.manage', params)
  if (account.state === 'disabled') throw new Problem('state_conflict', { state: account.state })
  record(work, {
    action: 'service_account.disable',
    resource_type: 'service_account',
    resource_id: account.id,
    ...recordedIn(project),
    metadata: { slug: account.slug, reason },
  })
  return work.tx.one(disable(project, account.id, work.actor.id, reason, work.now))
}

/** What it could do before it can do again: that is no grant, since its bindings and keys stayed all the while. */
export const enableAccount: Answering<typeof Enable> = async (work, { params, body: { reason } }) => {
  const { project, account } = await authorizeAccount(work, 'project.service_account.manage', params)
  if (account.state === 'active') throw new Problem('state_conflict', { state: account.state })
  record(work, {
    action: 'service_account.enable',
    resource_type: 'service_account',
    resource_id: account.id,
    ...recordedIn(project),
    metadata: { slug: account.slug, reason },
  })
  return work.tx.one(enable(project, account.id))
}
