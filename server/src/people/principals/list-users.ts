import type { listUsers as Op } from '@gatehouse/contract/users'
import { authorize } from '#rails/authz/authorize.ts'
import { thePlatform } from '#rails/authz/kind.ts'
import { type Answering, listed } from '#rails/http/answer.ts'
import { usersKind } from './user.ts'
import { allUsers } from './user-queries.ts'

export const listUsers: Answering<typeof Op> = async (work, { slice }) => {
  await authorize(work, 'platform.admin', usersKind, thePlatform)
  const rows = await work.tx.many(allUsers(slice.after, slice.limit + 1))
  return listed(rows, slice, ({ id }) => id)
}
