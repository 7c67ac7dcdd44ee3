import type { createNode as Op } from '@gatehouse/contract/nodes'
import { newId } from '#ground/kernel/ids.ts'
import { record } from '#rails/audit/record.ts'
import { authorize } from '#rails/authz/authorize.ts'
import { platformKind, thePlatform } from '#rails/authz/kind.ts'
import type { Answering } from '#rails/http/answer.ts'
import { makeEnrolment, type NodeTrust } from './make-enrolment.ts'
import { insertNode } from './node-queries.ts'

export const createNode =
  (trust: NodeTrust): Answering<typeof Op> =>
  async (work, { body: { reason = null, ...node } }) => {
    const platform = await authorize(work, 'platform.node.manage', platformKind, thePlatform)
    const { id } = await work.tx.one(insertNode(platform, { id: newId('node'), ...node }, work.actor.id, work.now))
    const made = await makeEnrolment(work, trust, platform, id)
    record(work, {
      action: 'node.create',
      resource_type: 'node',
      resource_id: id,
      severity: 'high',
      metadata: { ...node, enrolment_id: made.credential_session_id, enrolment_expires_at: made.expires_at, reason },
    })
    return made
  }
