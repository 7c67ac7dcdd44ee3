import { createHash, createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { isRocaModulus, isWeakEd25519 } from '#ground/kernel/weak-keys.ts'

/** What a public key can be for. */
const publicAlgorithms = ['ES256', 'EdDSA', 'RS256'] as const
export type PublicAlgorithm = (typeof publicAlgorithms)[number]

type Jwk = Readonly<Record<string, unknown>>

const shapes: Readonly<Record<PublicAlgorithm, Readonly<Record<string, string>>>> = {
  ES256: { kty: 'EC', crv: 'P-256' },
  EdDSA: { kty: 'OKP', crv: 'Ed25519' },
  // Whoever has another exponent has it from a maker who was mistaken about something.
  RS256: { kty: 'RSA', e: 'AQAB' },
}
/** In the order in which they are hashed. */
const members: Readonly<Record<PublicAlgorithm, readonly string[]>> = {
  ES256: ['crv', 'kty', 'x', 'y'],
  EdDSA: ['crv', 'kty', 'x'],
  RS256: ['e', 'kty', 'n'],
}

/** 32 bytes in the one base64url spelling they have: the last of 43 letters carries four bits and no more. */
const coordinate = /^[A-Za-z0-9_-]{42}[AEIMQUYcgkosw048]$/
const isCoordinate = (value: unknown): boolean => typeof value === 'string' && coordinate.test(value)

/** Long enough to be safe and short enough to be checked quickly, in its one spelling: without zeros in front. */
const isModulus = (value: unknown): boolean => {
  if (typeof value !== 'string' || value.length > 683) return false
  const bytes = Buffer.from(value, 'base64url')
  const isLong = bytes.length > 256 || (bytes.length === 256 && bytes[0]! >= 0x80)
  return bytes.toString('base64url') === value && isLong && bytes[0] !== 0 && bytes.at(-1)! % 2 === 1
}

const isSpelled: Readonly<Record<string, (value: unknown) => boolean>> = { x: isCoordinate, y: isCoordinate, n: isModulus }

const isWeak = (alg: PublicAlgorithm, jwk: Jwk): boolean => {
  if (alg === 'EdDSA') return isWeakEd25519(Buffer.from(jwk.x as string, 'base64url'))
  return alg === 'RS256' && isRocaModulus(Buffer.from(jwk.n as string, 'base64url'))
}

/**
 * A public key for exactly this algorithm. Throws at anything else: another kind or curve, a member that does not belong to a public
 * key, a coordinate of another length or spelling, a point that is not on the curve, a short modulus, a weak one.
 */
export const publicKeyOf = (jwk: Jwk, alg: string): KeyObject => {
  const known = publicAlgorithms.find((each) => each === alg)
  if (!known) throw new Error('there are no public keys for this algorithm')
  const names = members[known]
  if (Object.keys(jwk).sort().join() !== names.join()) throw new Error('a public key has other members than it should')
  if (Object.entries(shapes[known]).some(([name, value]) => jwk[name] !== value))
    throw new Error('a key of another kind than its algorithm')
  for (const name of names)
    if (isSpelled[name] && !isSpelled[name](jwk[name])) throw new Error('a coordinate does not have its length or spelling')
  const key = createPublicKey({ key: jwk as JsonWebKey, format: 'jwk' })
  if (isWeak(known, jwk)) throw new Error('a weak key')
  return key
}

/** What a key is for, by its kind and curve. */
const algorithmOf = ({ kty, crv }: Jwk): PublicAlgorithm | undefined =>
  publicAlgorithms.find((alg) => shapes[alg].kty === kty && shapes[alg].crv === crv)

/** The members that make the key, and none of those that only describe it. */
const bareKeyOf = (jwk: Jwk, alg: PublicAlgorithm): Record<string, string> =>
  Object.fromEntries(members[alg].map((name) => [name, jwk[name] as string]))

/** How each algorithm is called in a header: Ed25519 has a name of its own besides that of its family. */
export const spellingsOf: Readonly<Record<PublicAlgorithm, readonly string[]>> = {
  ES256: ['ES256'],
  EdDSA: ['EdDSA', 'Ed25519'],
  RS256: ['RS256'],
}

const descriptive = new Set(['alg', 'use', 'kid', 'key_ops', 'ext'])
const isUnsaidOr = (said: unknown, ...expected: readonly unknown[]) => said === undefined || expected.includes(said)

/** A public key as others write one down, with what describes it; that must be true of it, and is left out of what is returned. */
export const describedKeyOf = (given: Jwk) => {
  const alg = algorithmOf(given)
  if (!alg || !isUnsaidOr(given.alg, ...spellingsOf[alg])) throw new Error('a key for an algorithm that we do not verify')
  if (!isUnsaidOr(given.use, 'sig') || !isUnsaidOr(JSON.stringify(given.key_ops), '["verify"]')) throw new Error('a key for something else')
  const own = Object.fromEntries(Object.entries(given).filter(([name]) => !descriptive.has(name)))
  const key = publicKeyOf(own, alg)
  return { alg, jwk: bareKeyOf(own, alg), key }
}

/** The name that a key has by itself (RFC 7638). */
export const thumbprintOf = (jwk: Jwk, alg: PublicAlgorithm): string =>
  createHash('sha256')
    .update(JSON.stringify(bareKeyOf(jwk, alg)))
    .digest('base64url')
