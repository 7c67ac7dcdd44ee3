import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { bareJws, type Claims, objectOf } from '#ground/kernel/compact-jws.ts'
import { type PublicAlgorithm, publicKeyOf, spellingsOf } from '../keys/public-key.ts'
import type { Provable } from '../service-accounts/credential.ts'
import { isSignedWith } from '../tokens/signature.ts'

export const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** Whose it says it is. Good for nothing but to look for the key that it is then held against. */
export const clientNamedBy = (assertion: string): string | undefined => {
  const jws = bareJws(assertion)
  const sub = jws.ok ? objectOf(jws.payload)?.sub : undefined
  return typeof sub === 'string' ? sub : undefined
}

export interface AssertionRules {
  /** What an assertion for us may be for. */
  readonly audiences: readonly string[]
  readonly max_ttl_seconds: number
  readonly now: string
}

type Read = { readonly ok: true; readonly jti: string; readonly exp: number } | { readonly ok: false; readonly reason: string }
const refused = (reason: string): Read => ({ ok: false, reason })

/** Members by which it would bring its own key, or change what is signed. */
const forbidden = ['crit', 'b64', 'jwk', 'jku', 'x5u', 'x5c', 'zip']
/** Not the type of anything else that is signed: neither a token of ours nor a proof can be taken for an assertion. */
const types: readonly unknown[] = [undefined, 'JWT', 'jwt', 'client-authentication+jwt']

/** How far the client's clock may be ahead of ours. */
const skew_seconds = 30

const isForUs = (aud: unknown, audiences: readonly string[]): boolean => {
  const named = Array.isArray(aud) ? aud : [aud]
  // One that is also for somebody else could be used here by him.
  return named.length > 0 && named.every((each) => typeof each === 'string' && audiences.includes(each))
}

const isTime = (value: unknown): value is number => typeof value === 'number' && value > 0 && value <= Number.MAX_SAFE_INTEGER
const isPast = (time: unknown, now: number): boolean => time === undefined || (isTime(time) && time <= now + skew_seconds)

const judgeClaims = (claims: Claims, client_id: string, { audiences, max_ttl_seconds, now }: AssertionRules): Read => {
  const { iss, sub, aud, exp, nbf, iat, jti } = claims
  const seconds = Date.parse(now) / 1000
  if (iss !== client_id || sub !== client_id) return refused('is of another client')
  if (!isForUs(aud, audiences)) return refused('is for another audience')
  if (!isTime(exp)) return refused('does not say when it ends')
  if (exp <= seconds) return refused('has ended')
  if (exp > seconds + max_ttl_seconds + skew_seconds) return refused('ends too late')
  if (!isPast(nbf, seconds) || !isPast(iat, seconds)) return refused('begins later')
  if (typeof jti !== 'string' || jti.length === 0 || jti.length > 255) return refused('has no name of its own')
  return { ok: true, jti, exp }
}

/** Held against where there is nothing to hold against. */
const nobodys = { alg: 'ES256', key: generateKeyPairSync('ec', { namedCurve: 'P-256' }).publicKey } as const

/** A key as it is kept is one object as long as nobody changes it. */
const opened = new WeakMap<object, KeyObject>()
const keyOf = ({ alg, public_jwk }: { alg: PublicAlgorithm; public_jwk: Readonly<Record<string, string>> }) => {
  const key = opened.get(public_jwk) ?? publicKeyOf(public_jwk, alg)
  opened.set(public_jwk, key)
  return { alg, key }
}

const isPublic = (credential: Provable | undefined): credential is Provable & { alg: PublicAlgorithm; public_jwk: object } =>
  credential?.alg != null && credential.public_jwk !== null

/**
 * What the assertion says, if this credential's own key signed it, by the algorithm that the key was registered for; the header has no
 * say in that. It has not been used by this yet.
 */
export const readAssertion = (assertion: string, credential: Provable | undefined, rules: AssertionRules): Read => {
  const jws = bareJws(assertion)
  if (!jws.ok) return refused(jws.reason)
  const { named, payload, signed, signature } = jws
  if (forbidden.some((member) => Object.hasOwn(named, member))) return refused('header carries what it must not')
  if (!types.includes(named.typ)) return refused('is of another type')
  const registered = isPublic(credential) ? keyOf(credential) : nobodys
  if (!spellingsOf[registered.alg].includes(String(named.alg))) return refused('the key is not for this algorithm')
  if (!isSignedWith(registered, signed, signature) || !isPublic(credential)) return refused('the signature is not of this key')
  const claims = objectOf(payload)
  return claims ? judgeClaims(claims, credential.key_id, rules) : refused('payload is not a JSON object with unique members')
}
