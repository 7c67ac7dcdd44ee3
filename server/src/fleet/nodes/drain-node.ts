import type { drainNode as Op } from '@gatehouse/contract/nodes'
import { Problem } from '#ground/kernel/problem.ts'
import { record } from '#rails/audit/record.ts'
import { authorize } from '#rails/authz/authorize.ts'
import type { Answering } from '#rails/http/answer.ts'
import { nodeKind } from './node.ts'
import { findNode, lockNode, setStatus } from './node-queries.ts'

/** Both ways are alike: from the one of the two states that it must be in to the other. */
const moving =
  (action: 'node.drain' | 'node.undrain', from: 'active' | 'drained', to: 'active' | 'drained'): Answering<typeof Op> =>
  async (work, { params, body }) => {
    const row = await work.tx.maybe(lockNode(params.node_id))
    const node = await authorize(work, 'platform.node.manage', nodeKind, row)
    if (node.status !== from) throw new Problem('state_conflict', { state: node.status })
    await work.tx.one(setStatus(node, to))
    record(work, { action, resource_type: 'node', resource_id: node.id, metadata: { name: node.name, reason: body.reason } })
    return work.tx.one(findNode(node.id))
  }

export const drainNode = moving('node.drain', 'active', 'drained')
export const undrainNode = moving('node.undrain', 'drained', 'active')
