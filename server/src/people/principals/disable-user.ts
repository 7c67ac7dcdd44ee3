import type { disableUser as Op } from '@gatehouse/contract/users'
import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import { authorize } from '#rails/authz/authorize.ts'
import { lockPlatform } from '#rails/authz/platform-queries.ts'
import type { Answering } from '#rails/http/answer.ts'
import { userKind } from './user.ts'
import { lockUser, setDisabled } from './user-queries.ts'

/** In-transaction subscribers: they may refuse (the last superadmin) or end what rests on the person. */
export type UserDisabling = readonly ((work: Work, user_id: string) => Promise<void>)[]

export const disableUser =
  (onUserDisabling: UserDisabling): Answering<typeof Op> =>
  async (work, { params, body }) => {
    await work.tx.one(lockPlatform())
    const user = await authorize(work, 'platform.admin', userKind, await work.tx.maybe(lockUser(params.user_id)))
    if (user.disabled_at !== null) throw new Problem('state_conflict', { state: 'disabled' })
    for (const subscriber of onUserDisabling) await subscriber(work, user.id)
    const disabled = await work.tx.one(setDisabled(user, work.actor.id, body.reason, work.now))
    record(work, {
      action: 'user.disable',
      resource_type: 'user',
      resource_id: user.id,
      severity: 'high',
      metadata: { reason: body.reason },
    })
    return disabled
  }
