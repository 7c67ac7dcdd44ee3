import { constants, createHmac, type KeyObject, timingSafeEqual, verify } from 'node:crypto'
import { isEs256 } from '../keys/es256.ts'

/** What our own tokens can be signed with. */
export const ownAlgorithms = ['ES256', 'EdDSA', 'HS256'] as const
export type OwnAlgorithm = (typeof ownAlgorithms)[number]
/** Those, and what others sign for us. */
type Algorithm = OwnAlgorithm | 'RS256'

/** How long a signature is, in bytes; one of another length is not looked at. */
const lengthOf: Record<Algorithm, (key: KeyObject) => number> = {
  ES256: () => 64,
  EdDSA: () => 64,
  HS256: () => 32,
  RS256: ({ asymmetricKeyDetails }) => Math.ceil((asymmetricKeyDetails?.modulusLength ?? 0) / 8),
}

const isMade: Record<Algorithm, (key: KeyObject, signed: Buffer, signature: Buffer) => boolean> = {
  ES256: (key, signed, signature) =>
    key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1' && isEs256(key, signed, signature),
  EdDSA: (key, signed, signature) => key.asymmetricKeyType === 'ed25519' && verify(null, signed, key, signature),
  HS256: (key, signed, signature) => key.type === 'secret' && timingSafeEqual(createHmac('sha256', key).update(signed).digest(), signature),
  RS256: (key, signed, signature) =>
    key.asymmetricKeyType === 'rsa' && verify('sha256', signed, { key, padding: constants.RSA_PKCS1_PADDING }, signature),
}

/** Whether the signature is this key's, by the algorithm that the key is for. A token has no say in which one that is. */
export const isSignedWith = ({ alg, key }: { alg: Algorithm; key: KeyObject }, signed: Buffer, signature: Buffer): boolean =>
  signature.length === lengthOf[alg](key) && isMade[alg](key, signed, signature)
