import type { retireNode as Op } from '@gatehouse/contract/nodes'
import { Problem } from '#ground/kernel/problem.ts'
import { record } from '#rails/audit/record.ts'
import { authorize } from '#rails/authz/authorize.ts'
import type { Answering } from '#rails/http/answer.ts'
import { endCertificatesBut } from './certificate-queries.ts'
import { endOpenEnrolments } from './enrolment-queries.ts'
import { nodeKind } from './node.ts'
import { findNode, lockNode, setRetired, takenBy } from './node-queries.ts'
import type { NodeSubscribers } from './node-subscribers.ts'

export const retireNode =
  ({ onNodeRetired }: NodeSubscribers): Answering<typeof Op> =>
  async (work, { params, body: { reason } }) => {
    const found = await work.tx.maybe(findNode(params.node_id))
    const node = await authorize(work, 'platform.node.manage', nodeKind, found)
    // They lock what lies on it, which comes before the node itself.
    for (const subscriber of onNodeRetired) await subscriber(work, node, reason)
    const { status, name } = await work.tx.one(lockNode(node.id))
    if (status === 'retired') throw new Problem('state_conflict', { state: 'retired' })
    // Placed there after they had looked; whoever asks again finds it.
    if ((await work.tx.one(takenBy(node.id))).count > 0) throw new Problem('state_conflict', { detail: 'placed_meanwhile' })
    await work.tx.one(setRetired(node, work.actor.id, reason, work.now))
    const ended = await work.tx.many(endCertificatesBut(node, { latest: null, kept: 0, reason: 'node retired' }, work.now))
    await work.tx.many(endOpenEnrolments(node, node.id, work.now))
    record(work, {
      action: 'node.retire',
      resource_type: 'node',
      resource_id: node.id,
      severity: 'high',
      metadata: { name, reason, certificates_ended: ended.map(({ serial }) => serial) },
    })
    return work.tx.one(findNode(node.id))
  }
