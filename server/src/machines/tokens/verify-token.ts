import type { KeyObject } from 'node:crypto'
import { objectOf, splitCompactJws } from '#ground/kernel/compact-jws.ts'
import { Problem } from '#ground/kernel/problem.ts'
import { isLow } from '../keys/es256.ts'
import type { KeySet, VerifyingKey } from '../keys/key-set.ts'
import { isSignedWith, ownAlgorithms } from './signature.ts'
import { type TokenClaims, tokenClaimsOf } from './token-claims.ts'

/** Whose tokens we accept, and for whom they must be; null: for whomever. */
export interface Accepted {
  readonly issuer: string
  readonly audience: string | null
}

/** What a token says, once its signature was found to be that key's. */
export interface VerifiedToken {
  readonly kid: string
  readonly key: KeyObject
  readonly typ: string
  readonly claims: TokenClaims
}

/** It does not say why: that is for our own log. */
export const invalid = (reason: string): Problem => new Problem('token_invalid', undefined, new Error(reason))

/** A key that still counts at this instant of the database. */
export const keyAt = (keys: KeySet, kid: string, now: string): VerifyingKey => {
  const key = keys.verifying.get(kid)
  if (!key) throw invalid('unknown key')
  if (key.state === 'grace' && (key.grace_until === null || now >= key.grace_until)) throw invalid('the grace of its key is over')
  return key
}

const isExactly = (members: readonly string[], wanted: readonly string[]): boolean =>
  members.length === wanted.length && wanted.every((member) => members.includes(member))

/**
 * What the bytes say, if one of our keys signed them: one spelling, the algorithm that the key is for, the type of a class and exactly
 * its claims, from us and for us. All of this stays true for these bytes and this key; what time can change is judged elsewhere.
 */
export const verifyToken = (token: string, keys: KeySet, { issuer, audience }: Accepted, now: string): VerifiedToken => {
  const jws = splitCompactJws(token, ownAlgorithms)
  if (!jws.ok) throw invalid(jws.reason)
  const { header, members, payload, signed, signature } = jws
  if (!isExactly(members, ['alg', 'kid', 'typ'])) throw invalid('the header has not exactly its members')
  const key = keyAt(keys, header.kid, now)
  if (header.alg !== key.alg) throw invalid('the key is not for this algorithm')
  if (!isSignedWith(key, signed, signature)) throw invalid('the signature is not of this key')
  // Others may sign as they like; what we sign has one spelling.
  if (key.alg === 'ES256' && !isLow(signature)) throw invalid('the signature is the other one of two')

  const said = objectOf(payload)
  const claims = said && tokenClaimsOf(header.typ, said)
  if (!claims) throw invalid('the claims are not exactly those of the type')
  if (claims.iss !== issuer) throw invalid('is of another issuer')
  if (audience !== null && claims.aud !== audience) throw invalid('is for another audience')
  if (claims.exp <= claims.iat) throw invalid('ends before it begins')
  return { kid: key.kid, key: key.key, typ: header.typ!, claims }
}

/** How far the clocks of two databases may be apart, one of which has taken the other's place. */
const skew_seconds = 5

export const requireTime = ({ iat, exp }: Pick<TokenClaims, 'iat' | 'exp'>, now: string): void => {
  const seconds = Date.parse(now) / 1000
  if (iat > seconds + skew_seconds) throw invalid('was issued in the future')
  if (seconds >= exp) throw new Problem('token_expired', undefined, new Error('exp has passed'))
}
