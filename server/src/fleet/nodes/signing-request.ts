import { createPublicKey, type KeyObject } from 'node:crypto'
import { Problem } from '#ground/kernel/problem.ts'
import { isWeakEd25519 } from '#ground/kernel/weak-keys.ts'
import { spkiOf } from './issue-certificate.ts'
import { x509 } from './x509.ts'

const refused = (why: string, cause?: unknown) => new Problem('invalid_csr', { detail: why }, cause)

const parsed = (pem: string): InstanceType<typeof x509.Pkcs10CertificateRequest> => {
  const blocks = pem.match(/-----BEGIN [A-Z0-9 ]+-----/g) ?? []
  if (blocks.length !== 1 || !/^-----BEGIN (?:NEW )?CERTIFICATE REQUEST-----$/.test(blocks[0]!)) throw refused('not_a_request')
  try {
    return new x509.Pkcs10CertificateRequest(pem)
  } catch (error) {
    throw refused('not_a_request', error)
  }
}

/** Which keys nodes may have, and what they prove with that they have them. */
const proofs: Readonly<Record<string, { name: string; hash?: string }>> = {
  ec: { name: 'ECDSA', hash: 'SHA-256' },
  ed25519: { name: 'Ed25519' },
}

const keyIn = (spki: ArrayBuffer): KeyObject => {
  try {
    return createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' })
  } catch (error) {
    throw refused('key_not_accepted', error)
  }
}

/** In the one spelling that everybody reads alike: the curve by its name, the point in full. */
const isAccepted = (key: KeyObject): boolean => {
  const spki = spkiOf(key)
  if (key.asymmetricKeyType === 'ec') return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' && spki.length === 91
  return key.asymmetricKeyType === 'ed25519' && spki.length === 44 && !isWeakEd25519(spki.subarray(-32))
}

/**
 * The key for which a certificate is asked, once it is proved that whoever asks has the other half of it. Nothing else in a request counts:
 * neither the name in it nor any extension.
 */
export const keyOfRequest = async (pem: string): Promise<KeyObject> => {
  const request = parsed(pem)
  const key = keyIn(request.publicKey.rawData)
  if (!isAccepted(key)) throw refused('key_not_accepted')
  const proof = proofs[key.asymmetricKeyType!]!
  const { name, hash } = request.signatureAlgorithm as { name: string; hash?: { name: string } }
  if (name !== proof.name || hash?.name !== proof.hash) throw refused('signature_not_accepted')
  const is_proved = await request.verify().catch(() => false)
  if (!is_proved) throw refused('signature_not_accepted')
  return key
}
