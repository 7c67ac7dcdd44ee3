import type { listUsers as Op } from '@gatehouse/contract/users'
import { authorize } from '../authz/authorize.ts'
import { thePlatform } from '../authz/kind.ts'
import { type Answering, listed } from '../http/answer.ts'
import { usersKind } from './user.ts'
import { allUsers } from './user-queries.ts'

export const listUsers: Answering<typeof Op> = async (work, { slice }) => {
  await authorize(work, 'platform.admin', usersKind, thePlatform)
  const rows = await work.tx.many(allUsers(slice.after, slice.limit + 1))
  return listed(rows, slice, ({ id }) => id)
}
