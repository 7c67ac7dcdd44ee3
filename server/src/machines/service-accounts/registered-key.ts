import type { PublicJwk } from '@gatehouse/contract/service-accounts'
import { Problem } from '#ground/kernel/problem.ts'
import { describedKeyOf, type PublicAlgorithm } from '../keys/public-key.ts'

/** What is kept of a public key that somebody brought: the key, and what it is for. */
export interface RegisteredKey {
  readonly alg: PublicAlgorithm
  readonly public_jwk: Readonly<Record<string, string>>
}

/** The key, if it is one that assertions can safely be verified with. */
export const registeredKeyOf = (given: PublicJwk): RegisteredKey => {
  try {
    const { alg, jwk } = describedKeyOf(given)
    return { alg, public_jwk: jwk }
  } catch (error) {
    // Some of what is thrown here is not ours to repeat.
    const message = (error as Error).message === 'a weak key' ? 'is a weak key' : 'is not a well-formed public key that we can verify with'
    throw new Problem('validation_error', [{ in: 'body', field: 'public_jwk', message }])
  }
}
