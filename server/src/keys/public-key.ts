import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { isWeakEd25519 } from '../kernel/weak-keys.ts'

const shapes: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  ES256: { kty: 'EC', crv: 'P-256' },
  EdDSA: { kty: 'OKP', crv: 'Ed25519' },
}
const members: Readonly<Record<string, readonly string[]>> = { ES256: ['crv', 'kty', 'x', 'y'], EdDSA: ['crv', 'kty', 'x'] }

/** 32 bytes in the one base64url spelling they have: the last of 43 letters carries four bits and no more. */
const coordinate = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/

/**
 * A public key for exactly this algorithm. Throws at anything else: another kind or curve, a member that does not belong to a public
 * key, a coordinate of another length or spelling, a point that is not on the curve, a weak one.
 */
export const publicKeyOf = (jwk: Readonly<Record<string, unknown>>, alg: string): KeyObject => {
  const wanted = shapes[alg]
  const names = members[alg]
  if (!wanted || !names) throw new Error('there are no public keys for this algorithm')
  if (Object.keys(jwk).sort().join() !== names.join()) throw new Error('a public key has other members than it should')
  if (jwk.kty !== wanted.kty || jwk.crv !== wanted.crv) throw new Error('a key of another kind than its algorithm')
  for (const name of names.slice(2)) {
    const value = jwk[name]
    if (typeof value !== 'string' || !coordinate.test(value)) throw new Error('a coordinate does not have its length or spelling')
  }
  const key = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' })
  if (alg === 'EdDSA' && isWeakEd25519(Buffer.from(jwk.x as string, 'base64url'))) throw new Error('a weak key')
  return key
}
