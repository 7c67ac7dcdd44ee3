import type { probeNode as Op } from '@gatehouse/contract/nodes'
import { Problem } from '#ground/kernel/problem.ts'
import { record } from '#rails/audit/record.ts'
import { authorize } from '#rails/authz/authorize.ts'
import type { Answering } from '#rails/http/answer.ts'
import { nodeKind } from '../nodes/node.ts'
import { findNode } from '../nodes/node-queries.ts'
import type { TaskSigning } from '../task-signers/task-signing.ts'
import { shownTask } from './node-task-queries.ts'
import { queueTask } from './queue-task.ts'

export const probeNode =
  (signing: TaskSigning): Answering<typeof Op> =>
  async (work, { params }) => {
    const found = await work.tx.maybe(findNode(params.node_id))
    const node = await authorize(work, ['platform.node.probe', 'platform.node.manage'], nodeKind, found)
    if (node.status === 'retired') throw new Problem('state_conflict', { state: 'retired' })
    if (node.enrolled_at === null) throw new Problem('state_conflict', { state: 'not_enrolled' })
    const probe = { node_id: node.id, type: 'diag.health_probe', params: {}, generation: 0, allocation: null } as const
    const { id } = await queueTask(work, signing, node, probe)
    record(work, { action: 'node.probe', resource_type: 'node', resource_id: node.id, metadata: { task_id: id } })
    return work.tx.one(shownTask(id))
  }
