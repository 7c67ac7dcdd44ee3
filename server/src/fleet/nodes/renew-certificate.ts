import type { renewCertificate as Op } from '@gatehouse/contract/nodes'
import { record } from '#rails/audit/record.ts'
import { authorize } from '#rails/authz/authorize.ts'
import type { Answering } from '#rails/http/answer.ts'
import type { Authority } from './authority.ts'
import { giveCertificate } from './give-certificate.ts'
import { nodeKind } from './node.ts'
import { lockNode } from './node-queries.ts'
import { keyOfRequest } from './signing-request.ts'

/** The one before counts until its own end: the node changes over when it likes, and an answer that was lost costs it nothing. */
const latest = 2

export const renewCertificate =
  (authority: Authority): Answering<typeof Op> =>
  async (work, { params, body }) => {
    const node = await authorize(work, 'node.certificate.renew', nodeKind, await work.tx.maybe(lockNode(params.node_id)))
    const giving = { key: await keyOfRequest(body.csr), enrolment_id: null, kept: latest, reason: 'renewed' }
    const { reply, metadata } = await giveCertificate(work, authority, node, giving)
    record(work, { action: 'node.certificate.renew', resource_type: 'node', resource_id: node.id, metadata })
    return reply
  }
