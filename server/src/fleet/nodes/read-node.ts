import type { readNode as Op } from '@gatehouse/contract/nodes'
import { authorize } from '#rails/authz/authorize.ts'
import type { Answering } from '#rails/http/answer.ts'
import { nodeKind } from './node.ts'
import { shownNode } from './node-queries.ts'

export const readNode: Answering<typeof Op> = async (work, { params }) => {
  const found = await work.tx.maybe(shownNode(params.node_id))
  return authorize(work, ['platform.node.read', 'platform.node.manage'], nodeKind, found)
}
