import type { listNodes as Op } from '@gatehouse/contract/nodes'
import { authorize } from '#rails/authz/authorize.ts'
import { thePlatform } from '#rails/authz/kind.ts'
import { type Answering, listed } from '#rails/http/answer.ts'
import { nodesKind } from './node.ts'
import { allNodes } from './node-queries.ts'

export const listNodes: Answering<typeof Op> = async (work, { slice }) => {
  await authorize(work, ['platform.node.read', 'platform.node.manage'], nodesKind, thePlatform)
  return listed(await work.tx.many(allNodes(slice.after, slice.limit + 1)), slice, ({ id }) => id)
}
