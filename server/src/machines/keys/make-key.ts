import { createHash, generateKeyPairSync, type JsonWebKey, type KeyObject, randomBytes } from 'node:crypto'
import { seal } from '#ground/custody/envelope.ts'
import type { KeyRing } from '#ground/custody/key-ring.ts'
import { Secret } from '#ground/kernel/secret.ts'
import type { KeyAlgorithm } from './key-set.ts'
import { publicKeyOf } from './public-key.ts'
import type { NewKey } from './signing-key-queries.ts'
import type { Transit } from './transit.ts'

/** Ties an envelope to its row. */
export const boundOf = (kid: string) => `signing_keys.envelope ${kid}`

/** Which keys this process makes, and with what. */
export interface KeyMaking {
  readonly ring: KeyRing
  /** Where it is given, private keys are made and stay there. */
  readonly transit: Transit | null
  readonly algorithm: KeyAlgorithm
}

const nowhereElse = { envelope: null, transit_name: null, transit_version: null, envelope_key_id: null }

/** The members that belong to it, in the order of their names: what RFC 7638 hashes. */
const publicJwk = (key: KeyObject, alg: KeyAlgorithm): Record<string, string> => {
  const { crv, kty, x, y } = key.export({ format: 'jwk' }) as Record<'crv' | 'kty' | 'x' | 'y', string>
  const jwk: Record<string, string> = kty === 'EC' ? { crv, kty, x, y } : { crv, kty, x }
  publicKeyOf(jwk, alg)
  return jwk
}

const thumbprint = (jwk: Readonly<Record<string, string>>) => createHash('sha256').update(JSON.stringify(jwk)).digest('base64url')

const pairFor = (alg: KeyAlgorithm) =>
  alg === 'ES256' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync('ed25519')

const makeHere = (ring: KeyRing, alg: KeyAlgorithm): NewKey => {
  const { publicKey, privateKey } = pairFor(alg)
  const public_jwk = publicJwk(publicKey, alg)
  const kid = thumbprint(public_jwk)
  const secret = new Secret(JSON.stringify(privateKey.export({ format: 'jwk' }) as JsonWebKey))
  return { ...nowhereElse, kid, alg, public_jwk, custody: 'envelope', envelope: seal(ring, secret, boundOf(kid)) }
}

const makeWith = async (transit: Transit, alg: KeyAlgorithm): Promise<NewKey> => {
  const { name, version, key } = await transit.newVersion(alg)
  const public_jwk = publicJwk(key, alg)
  return { ...nowhereElse, kid: thumbprint(public_jwk), alg, public_jwk, custody: 'transit', transit_name: name, transit_version: version }
}

/** Makes a key of the kind that is configured. May speak to a transit engine: never within a transaction. */
export const makeKey = async ({ ring, transit, algorithm }: KeyMaking): Promise<NewKey> => {
  // Not a hash of the secret: nothing of it is to be seen.
  if (algorithm === 'HS256')
    return {
      ...nowhereElse,
      kid: randomBytes(16).toString('base64url'),
      alg: algorithm,
      public_jwk: null,
      custody: 'envelope_key',
      envelope_key_id: ring.active_id,
    }
  return transit ? makeWith(transit, algorithm) : makeHere(ring, algorithm)
}

/** Whether this process can sign with a key, as far as it can know without asking a transit engine. */
export const isUsable = ({ custody, envelope, envelope_key_id }: NewKey, { ring, transit }: KeyMaking): boolean => {
  if (custody === 'transit') return transit !== null
  const key_id = custody === 'envelope' ? (envelope as { key_id: string }).key_id : envelope_key_id!
  return ring.keyOf(key_id) !== undefined
}

/** Whether a key is of the kind that is configured now. */
export const isAsConfigured = (
  { alg, custody, envelope_key_id }: Pick<NewKey, 'alg' | 'custody' | 'envelope_key_id'>,
  { ring, transit, algorithm }: KeyMaking,
): boolean => {
  if (alg !== algorithm) return false
  if (alg === 'HS256') return envelope_key_id === ring.active_id
  return custody === (transit ? 'transit' : 'envelope')
}
