import type { readMe as Op } from '@gatehouse/contract/users'
import { authorize } from '../authz/authorize.ts'
import { selfKind } from '../authz/kind.ts'
import type { Answering } from '../http/answer.ts'
import { me } from './user-queries.ts'

export const readMe: Answering<typeof Op> = async (work) => {
  const { id } = await authorize(work, 'me.read', selfKind, { id: work.actor.id })
  return work.tx.one(me(id))
}
