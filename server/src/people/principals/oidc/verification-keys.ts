import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { isRocaModulus, isWeakEd25519 } from '#ground/kernel/weak-keys.ts'

/** A public key and the algorithms it may be used with: a key never serves an algorithm it was not made for. */
export type VerificationKey = { readonly key: KeyObject; readonly algorithms: readonly string[] }

const maximumKeys = 100
const secretMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k', 'priv']

const curves: Record<string, readonly string[]> = {
  'EC P-256': ['ES256'],
  'EC P-384': ['ES384'],
  'EC P-521': ['ES512'],
  'OKP Ed25519': ['EdDSA', 'Ed25519'],
}

const fittingAlgorithms = ({ kty, crv }: JsonWebKey): readonly string[] =>
  kty === 'RSA' ? ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'] : (curves[`${kty} ${crv}`] ?? [])

const isStrong = (key: KeyObject, { n, x }: JsonWebKey) => {
  if (key.asymmetricKeyType === 'ed25519') return !isWeakEd25519(Buffer.from(x as string, 'base64url'))
  if (key.asymmetricKeyType !== 'rsa') return true
  const { modulusLength = 0, publicExponent = 0n } = key.asymmetricKeyDetails ?? {}
  const isUsual = modulusLength >= 2048 && publicExponent >= 3n && publicExponent % 2n === 1n
  return isUsual && !isRocaModulus(Buffer.from(n as string, 'base64url'))
}

const keyOf = (jwk: JsonWebKey): VerificationKey | undefined => {
  if (jwk.use !== undefined && jwk.use !== 'sig') return undefined
  if (jwk.key_ops !== undefined && !(Array.isArray(jwk.key_ops) && jwk.key_ops.includes('verify'))) return undefined
  const algorithms = fittingAlgorithms(jwk).filter((algorithm) => jwk.alg === undefined || jwk.alg === algorithm)
  if (algorithms.length === 0) return undefined
  try {
    const key = createPublicKey({ key: jwk, format: 'jwk' })
    return isStrong(key, jwk) ? { key, algorithms } : undefined
  } catch {
    return undefined
  }
}

/**
 * The usable keys of a JWKS by kid. Throws when the set as a whole is not to be trusted: its publisher shows private or
 * symmetric keys, or two keys under one name. Keys for other purposes (Keycloak's encryption key) are passed over.
 */
export const verificationKeys = (jwks: unknown): ReadonlyMap<string, VerificationKey> => {
  const list = (jwks as { keys?: unknown } | null)?.keys
  if (!Array.isArray(list) || list.length === 0) throw new Error('the JWKS has no keys')
  if (list.length > maximumKeys) throw new Error(`the JWKS has ${list.length} keys, more than ${maximumKeys}`)
  const seen = new Set<string>()
  const usable = new Map<string, VerificationKey>()
  for (const jwk of list as JsonWebKey[]) {
    if (typeof jwk !== 'object' || jwk === null) throw new Error('the JWKS has a member that is no key')
    if (jwk.kty === 'oct' || secretMembers.some((member) => Object.hasOwn(jwk, member))) throw new Error('the JWKS shows a secret key')
    if (typeof jwk.kid !== 'string') continue
    if (seen.has(jwk.kid)) throw new Error('the JWKS has two keys of one kid')
    seen.add(jwk.kid)
    const key = keyOf(jwk)
    if (key) usable.set(jwk.kid, key)
  }
  if (usable.size === 0) throw new Error('the JWKS has no key for signatures')
  return usable
}
