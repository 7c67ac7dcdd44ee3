import type { KeyObject } from 'node:crypto'
import type { enrolNode } from '@gatehouse/contract/nodes'
import type { Reply } from '@gatehouse/contract/operation'
import type { Id } from '@gatehouse/contract/shapes'
import type { Work } from '#ground/work/work.ts'
import type { Authorized } from '#rails/authz/authorize.ts'
import { toldSigners } from '../task-signers/task-signer-queries.ts'
import type { Authority } from './authority.ts'
import { endCertificatesBut, type GivenCertificate, insertCertificate } from './certificate-queries.ts'
import { issueNodeCertificate, sha256Of, spkiOf } from './issue-certificate.ts'

/** Early enough that a day without the control plane costs no node its identity. */
const renew_after_ms = 8 * 3600 * 1000
export const renewAfter = (issued_at: string): string => new Date(Date.parse(issued_at) + renew_after_ms).toISOString()

interface Giving {
  /** Of which it is proved that the caller has it. */
  readonly key: KeyObject
  /** By which it is given; null: a renewal. */
  readonly enrolment_id: string | null
  /** How many of the node's certificates count from now on, this one among them. */
  readonly kept: number
  readonly reason: string
}

/** A certificate as a node is told of it, with what else it must know. */
export const toldCertificate = async (
  { tx }: Work,
  authority: Authority,
  node_id: Id<'node'>,
  { certificate, issued_at, expires_at }: Pick<GivenCertificate, 'certificate' | 'issued_at' | 'expires_at'>,
): Promise<Reply<typeof enrolNode>> => ({
  node_id,
  certificate,
  authority: authority.certificate_pem,
  expires_at,
  renew_after: renewAfter(issued_at),
  signers: await tx.many(toldSigners()),
})

/** A certificate for a key that the node made; nobody sees it before it is in the table. */
export const giveCertificate = async (
  work: Work,
  authority: Authority,
  node: Authorized<'node.certificate.renew', { readonly id: Id<'node'> }>,
  { key, enrolment_id, kept, reason }: Giving,
) => {
  const issued = await issueNodeCertificate(authority, key, node.id, work.now)
  const spki = spkiOf(key)
  const key_thumbprint = sha256Of(spki)
  const about = { thumbprint: key_thumbprint, public_key: spki.toString('base64') }
  await work.tx.one(insertCertificate(node, issued, about, enrolment_id, work.now))
  const ended = await work.tx.many(endCertificatesBut(node, { latest: issued.serial, kept, reason }, work.now))
  const given = { certificate: issued.pem, issued_at: work.now, expires_at: issued.expires_at }
  const reply = await toldCertificate(work, authority, node.id, given)
  const metadata = {
    serial: issued.serial,
    thumbprint: issued.thumbprint,
    key_thumbprint,
    expires_at: issued.expires_at,
    ended: ended.map(({ serial }) => serial),
  }
  return { reply, metadata }
}
