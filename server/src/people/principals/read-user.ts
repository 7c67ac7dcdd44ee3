import type { readUser as Op } from '@gatehouse/contract/users'
import { authorize } from '#rails/authz/authorize.ts'
import type { Answering } from '#rails/http/answer.ts'
import { userKind } from './user.ts'
import { findUser } from './user-queries.ts'

export const readUser: Answering<typeof Op> = async (work, { params }) =>
  authorize(work, 'platform.admin', userKind, await work.tx.maybe(findUser(params.user_id)))
