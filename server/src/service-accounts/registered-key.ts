import type { PublicJwk } from '@gatehouse/contract/service-accounts'
import { Problem } from '../kernel/problem.ts'
import { algorithmOf, bareKeyOf, type PublicAlgorithm, publicKeyOf } from '../keys/public-key.ts'

/** What is kept of a public key that somebody brought: the key, and what it is for. */
export interface RegisteredKey {
  readonly alg: PublicAlgorithm
  readonly public_jwk: Readonly<Record<string, string>>
}

const refused = (message: string) => new Problem('validation_error', [{ in: 'body', field: 'public_jwk', message }])

const spellings: Readonly<Record<PublicAlgorithm, readonly string[]>> = {
  ES256: ['ES256'],
  EdDSA: ['EdDSA', 'Ed25519'],
  RS256: ['RS256'],
}

/** What only describes a key need not be kept; all else must belong to it. */
const descriptive = new Set(['alg', 'use', 'kid', 'key_ops', 'ext'])

/** The key, if it is one that assertions can safely be verified with. */
export const registeredKeyOf = (given: PublicJwk): RegisteredKey => {
  const alg = algorithmOf(given)
  if (!alg || (given.alg !== undefined && !spellings[alg].includes(given.alg))) throw refused('is not for an algorithm that we verify')
  const own = Object.fromEntries(Object.entries(given).filter(([name]) => !descriptive.has(name)))
  try {
    publicKeyOf(own, alg)
  } catch (error) {
    throw refused((error as Error).message.startsWith('a weak') ? 'is a weak key' : 'is not a well-formed public key of its kind')
  }
  return { alg, public_jwk: bareKeyOf(own, alg) }
}
