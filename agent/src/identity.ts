import { createHash, createPrivateKey, type KeyObject, sign, X509Certificate } from 'node:crypto'

/** Who this node is, and how it shows it: one file, so that key and certificate are always of a piece. */
export interface IdentityFile {
  readonly node_id: string
  readonly url: string
  readonly key: string
  readonly certificate: string
  /** Pinned when the node enrolled. */
  readonly authority: string
  readonly expires_at: string
  readonly renew_after: string
  /** Of the key before this one: what that one signed counts as well, for a while. */
  readonly former_key_thumbprint: string | null
}

export interface Identity extends IdentityFile {
  /** Tells keys apart: the SHA-256 of the public one. */
  readonly key_thumbprint: string
  readonly sign: (text: string) => string
}

const thumbprintOf = (key: KeyObject): string =>
  createHash('sha256')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest('hex')

/** Refuses a certificate that is not for the key beside it, or that the authority did not issue: nothing good comes of using it. */
export const openIdentity = (file: IdentityFile): Identity => {
  const key = createPrivateKey(file.key)
  const certificate = new X509Certificate(file.certificate)
  if (!certificate.checkPrivateKey(key)) throw new Error('the certificate is for another key')
  const authority = new X509Certificate(file.authority)
  if (!certificate.checkIssued(authority) || !certificate.verify(authority.publicKey))
    throw new Error('the certificate is of another authority')
  return {
    ...file,
    key_thumbprint: thumbprintOf(certificate.publicKey),
    sign: (text) => sign('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }).toString('base64url'),
  }
}
