import type { createNode } from '@gatehouse/contract/nodes'
import type { Reply } from '@gatehouse/contract/operation'
import { newId } from '#ground/kernel/ids.ts'
import type { Work } from '#ground/work/work.ts'
import type { Authorized } from '#rails/authz/authorize.ts'
import type { Authority } from './authority.ts'
import { insertEnrolment } from './enrolment-queries.ts'
import { newEnrolmentToken } from './enrolment-token.ts'
import { findNode } from './node-queries.ts'

/** As whom nodes are vouched for, and where they come to. */
export interface NodeTrust {
  readonly authority: Authority
  /** Under which address nodes reach their door. */
  readonly url: string
}

/** A token that nobody will see again, with which the node's agent enrols once. */
export const makeEnrolment = async (
  work: Work,
  { authority, url }: NodeTrust,
  proof: Authorized<'platform.node.manage', object>,
  node_id: string,
): Promise<Reply<typeof createNode>> => {
  const { token, secret_hash } = newEnrolmentToken({ url, node_id, authority: authority.certificate_der })
  const id = newId('node enrolment')
  const { expires_at } = await work.tx.one(insertEnrolment(proof, { id, node_id, secret_hash }, work.actor.id, work.now))
  const node = await work.tx.one(findNode(node_id))
  return { node, enrolment_token: token.reveal(), expires_at, credential_session_id: id }
}
