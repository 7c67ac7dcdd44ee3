import type { enrolNodeAgain as Op } from '@gatehouse/contract/nodes'
import { Problem } from '#ground/kernel/problem.ts'
import { record } from '#rails/audit/record.ts'
import { authorize } from '#rails/authz/authorize.ts'
import type { Answering } from '#rails/http/answer.ts'
import { endOpenEnrolments } from './enrolment-queries.ts'
import { makeEnrolment, type NodeTrust } from './make-enrolment.ts'
import { nodeKind } from './node.ts'
import { lockNode } from './node-queries.ts'

export const enrolNodeAgain =
  (trust: NodeTrust): Answering<typeof Op> =>
  async (work, { params, body }) => {
    const row = await work.tx.maybe(lockNode(params.node_id))
    const node = await authorize(work, 'platform.node.manage', nodeKind, row)
    if (node.status === 'retired') throw new Problem('state_conflict', { state: 'retired' })
    await work.tx.many(endOpenEnrolments(node, node.id, work.now))
    const made = await makeEnrolment(work, trust, node, node.id)
    record(work, {
      action: 'node.enrolment.create',
      resource_type: 'node',
      resource_id: node.id,
      severity: 'high',
      metadata: { name: node.name, enrolment_id: made.credential_session_id, enrolment_expires_at: made.expires_at, reason: body.reason },
    })
    return made
  }
