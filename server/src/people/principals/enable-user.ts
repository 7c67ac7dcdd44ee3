import type { enableUser as Op } from '@gatehouse/contract/users'
import { Problem } from '#ground/kernel/problem.ts'
import { record } from '#rails/audit/record.ts'
import { authorize } from '#rails/authz/authorize.ts'
import type { Answering } from '#rails/http/answer.ts'
import { userKind } from './user.ts'
import { lockUser, setEnabled } from './user-queries.ts'

export const enableUser: Answering<typeof Op> = async (work, { params, body }) => {
  const user = await authorize(work, 'platform.admin', userKind, await work.tx.maybe(lockUser(params.user_id)))
  if (user.disabled_at === null) throw new Problem('state_conflict', { state: 'active' })
  const enabled = await work.tx.one(setEnabled(user))
  record(work, {
    action: 'user.enable',
    resource_type: 'user',
    resource_id: user.id,
    severity: 'high',
    metadata: { reason: body.reason },
  })
  return enabled
}
