import type { enrolNode } from '@gatehouse/contract/nodes'
import type { Reply } from '@gatehouse/contract/operation'
import type { Id } from '@gatehouse/contract/shapes'
import type { Authorized } from '../authz/authorize.ts'
import type { Work } from '../work/work.ts'
import type { Authority } from './authority.ts'
import { endCertificatesBut, insertCertificate } from './certificate-queries.ts'
import { issueNodeCertificate, sha256Of, spkiOf } from './issue-certificate.ts'
import { keyOfRequest } from './signing-request.ts'
import { toldSigners } from './task-signer-queries.ts'

/** Early enough that a day without the control plane costs no node its identity. */
const renew_after_ms = 8 * 3600 * 1000
export const renewAfter = (issued_at: string): string => new Date(Date.parse(issued_at) + renew_after_ms).toISOString()

interface Giving {
  readonly csr: string
  /** How many of the node's certificates count from now on, this one among them. */
  readonly kept: number
  readonly reason: string
}

/** A certificate for a key that the node made; nobody sees it before it is in the table. */
export const giveCertificate = async (
  work: Work,
  authority: Authority,
  node: Authorized<'node.certificate.renew', { readonly id: Id<'node'> }>,
  { csr, kept, reason }: Giving,
) => {
  const key = await keyOfRequest(csr)
  const issued = await issueNodeCertificate(authority, key, node.id, work.now)
  const spki = spkiOf(key)
  const key_thumbprint = sha256Of(spki)
  await work.tx.one(insertCertificate(node, issued, { thumbprint: key_thumbprint, public_key: spki.toString('base64') }, work.now))
  const ended = await work.tx.many(endCertificatesBut(node, { latest: issued.serial, kept, reason }, work.now))
  const reply: Reply<typeof enrolNode> = {
    node_id: node.id,
    certificate: issued.pem,
    authority: authority.certificate_pem,
    expires_at: issued.expires_at,
    renew_after: renewAfter(work.now),
    signers: await work.tx.many(toldSigners()),
  }
  const metadata = {
    serial: issued.serial,
    thumbprint: issued.thumbprint,
    key_thumbprint,
    expires_at: issued.expires_at,
    ended: ended.map(({ serial }) => serial),
  }
  return { reply, metadata }
}
