import type { listNodeTasks as Op } from '@gatehouse/contract/nodes'
import { authorize } from '#rails/authz/authorize.ts'
import { type Answering, listed } from '#rails/http/answer.ts'
import { nodeKind } from '../nodes/node.ts'
import { findNode } from '../nodes/node-queries.ts'
import { tasksOfNode } from './node-task-queries.ts'

export const listNodeTasks: Answering<typeof Op> = async (work, { params, slice }) => {
  const found = await work.tx.maybe(findNode(params.node_id))
  const node = await authorize(work, ['platform.node.read', 'platform.node.manage'], nodeKind, found)
  return listed(await work.tx.many(tasksOfNode(node.id, slice.after, slice.limit + 1)), slice, ({ id }) => id)
}
