import { type KeyObject, verify, X509Certificate } from 'node:crypto'
import { signerPurpose, type TaskSigner } from '@gatehouse/contract/node-tasks'

const skew_ms = 5 * 60 * 1000

/** The key of a signer that the pinned authority vouches for, for this purpose and at this time. */
const keyOf = ({ kid, certificate: text }: TaskSigner, authority: X509Certificate, now: number): KeyObject | undefined => {
  try {
    const certificate = new X509Certificate(text)
    const is_named = certificate.subject === `CN=${kid}`
    const is_vouched = certificate.checkIssued(authority) && certificate.verify(authority.publicKey)
    const is_in_time = Date.parse(certificate.validFrom) - skew_ms <= now && now <= Date.parse(certificate.validTo) + skew_ms
    // A node's certificate, or the door's, is of the same authority, and signs no tasks.
    const is_for_tasks = !certificate.ca && certificate.keyUsage?.length === 1 && certificate.keyUsage[0] === signerPurpose
    const key = certificate.publicKey
    return is_named && is_vouched && is_in_time && is_for_tasks && key.asymmetricKeyType === 'ed25519' ? key : undefined
  } catch {
    return undefined
  }
}

export interface TrustedSigners {
  readonly kids: readonly string[]
  readonly isSignedBy: (kid: string, text: string, signature: string) => boolean
}

/** Only those that the control plane lists now: one that it has revoked is no longer there. */
export const trustedSigners = (listed: readonly TaskSigner[], authority: string, now: number): TrustedSigners => {
  const pinned = new X509Certificate(authority)
  const keys = new Map<string, KeyObject>()
  for (const signer of listed) {
    const key = keyOf(signer, pinned, now)
    if (key) keys.set(signer.kid, key)
  }
  return {
    kids: [...keys.keys()],
    isSignedBy: (kid, text, signature) => {
      const key = keys.get(kid)
      if (!key || !/^[A-Za-z0-9_-]{86}$/.test(signature)) return false
      return verify(null, Buffer.from(text), key, Buffer.from(signature, 'base64url'))
    },
  }
}
