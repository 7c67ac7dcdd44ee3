import { createHmac, type KeyObject, timingSafeEqual, verify } from 'node:crypto'

/** What our own tokens can be signed with. */
export const ownAlgorithms = ['ES256', 'EdDSA', 'HS256'] as const
export type OwnAlgorithm = (typeof ownAlgorithms)[number]

/** How long a signature is, in bytes; one of another length is not looked at. */
const lengthOf: Record<OwnAlgorithm, number> = { ES256: 64, EdDSA: 64, HS256: 32 }

const isMade: Record<OwnAlgorithm, (key: KeyObject, signed: Buffer, signature: Buffer) => boolean> = {
  ES256: (key, signed, signature) =>
    key.asymmetricKeyType === 'ec' &&
    key.asymmetricKeyDetails?.namedCurve === 'prime256v1' &&
    verify('sha256', signed, { key, dsaEncoding: 'ieee-p1363' }, signature),
  EdDSA: (key, signed, signature) => key.asymmetricKeyType === 'ed25519' && verify(null, signed, key, signature),
  HS256: (key, signed, signature) => key.type === 'secret' && timingSafeEqual(createHmac('sha256', key).update(signed).digest(), signature),
}

/** Whether the signature is this key's, by the algorithm that the key is for. A token has no say in which one that is. */
export const isSignedWith = ({ alg, key }: { alg: OwnAlgorithm; key: KeyObject }, signed: Buffer, signature: Buffer): boolean =>
  signature.length === lengthOf[alg] && isMade[alg](key, signed, signature)
