import type { disableServiceAccount as Disable, enableServiceAccount as Enable } from '@gatehouse/contract/service-accounts'
import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { requireNoGrantToOwnMachine } from '#people/roles/own-machines.ts'
import { record } from '#rails/audit/record.ts'
import { authorityOf } from '#rails/authz/authorize.ts'
import type { Answering } from '#rails/http/answer.ts'
import { disableAccount as disable, enableAccount as enable, isDisabledByPlatform } from './account-queries.ts'
import { authorizeAccount, recordedIn } from './account-scope.ts'

const isThePlatforms = async (work: Work, service_account_id: string): Promise<boolean> =>
  (await work.tx.one(isDisabledByPlatform(service_account_id))).is_disabled_by_platform

export const disableAccount: Answering<typeof Disable> = async (work, { params, body: { reason } }) => {
  const { project, account } = await authorizeAccount(work, 'project.service_account.manage', params)
  const by_platform = authorityOf(project).is_override
  // The platform may also take over what somebody else disabled, so that only it can enable it again.
  const isTakenOver = by_platform && !(await isThePlatforms(work, account.id))
  if (account.state === 'disabled' && !isTakenOver) throw new Problem('state_conflict', { state: account.state })
  record(work, {
    action: 'service_account.disable',
    resource_type: 'service_account',
    resource_id: account.id,
    ...recordedIn(project),
    metadata: { slug: account.slug, reason },
  })
  return work.tx.one(disable(project, account.id, { by: work.actor.id, by_platform, reason, now: work.now }))
}

/**
 * What it could do before it can do again: that is no grant, since its bindings and keys stayed all the while. But override opens nothing
 * again to which its own user has a key.
 */
export const enableAccount: Answering<typeof Enable> = async (work, { params, body: { reason } }) => {
  const { project, account } = await authorizeAccount(work, 'project.service_account.manage', params)
  if (account.state === 'active') throw new Problem('state_conflict', { state: account.state })
  const authority = authorityOf(project)
  if (!authority.may_override && (await isThePlatforms(work, account.id)))
    throw new Problem('insufficient_permissions', { reason_code: 'permission_denied', detail: 'disabled_by_platform' })
  await requireNoGrantToOwnMachine(work, authority, [account.id])
  record(work, {
    action: 'service_account.enable',
    resource_type: 'service_account',
    resource_id: account.id,
    ...recordedIn(project),
    metadata: { slug: account.slug, reason },
  })
  return work.tx.one(enable(project, account.id))
}
