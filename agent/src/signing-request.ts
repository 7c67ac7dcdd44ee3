import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { bits, inContext, integer, objectId, pem, sequence, set, utf8 } from './der.ts'

const commonName = '2.5.4.3'
const ecdsaWithSha256 = '1.2.840.10045.4.3.2'

/** Made here, and it never leaves. */
export const newKey = (): KeyObject => generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey

/** PKCS #10: the public key, signed with the private one to show that we hold it. The control plane decides what else the certificate says. */
export const signingRequest = (key: KeyObject, node_id: string): string => {
  const publicKey = createPublicKey(key).export({ type: 'spki', format: 'der' })
  const name = sequence(set(sequence(objectId(commonName), utf8(node_id))))
  const asked = sequence(integer(0), name, publicKey, inContext(0))
  const signature = sign('sha256', asked, { key, dsaEncoding: 'der' })
  return pem('CERTIFICATE REQUEST', sequence(asked, sequence(objectId(ecdsaWithSha256)), bits(signature)))
}
