import { createHash } from 'node:crypto'
import { proofAlgorithms } from '@gatehouse/contract/proofs'
import { bareJws, type Claims, objectOf } from '#ground/kernel/compact-jws.ts'
import { Problem } from '#ground/kernel/problem.ts'
import { describedKeyOf, spellingsOf, thumbprintOf } from '../keys/public-key.ts'
import { isSignedWith } from '../tokens/signature.ts'

/** The request that a proof must be for. */
export interface ProvedRequest {
  readonly method: string
  /** As the world knows it; query and fragment do not count. */
  readonly url: string
  /** The token that it comes with; none where one is asked for. */
  readonly token?: string
}

export interface ProofRules {
  readonly window_seconds: number
  readonly now: string
}

/** Who signed it, and what makes it usable once. */
export interface ReadProof {
  readonly jkt: string
  readonly jti: string
  readonly iat: number
}

/** It does not say why: that is for our own log. */
export const badProof = (reason: string): Problem => new Problem('proof_invalid', undefined, new Error(reason))

const isObject = (value: unknown): value is Claims => typeof value === 'object' && value !== null && !Array.isArray(value)

const keyIn = ({ typ, alg, jwk, ...rest }: Claims) => {
  if (typ !== 'dpop+jwt') throw badProof('is not a proof')
  if (Object.keys(rest).some((member) => member !== 'kid')) throw badProof('the header has other members than it should')
  if (!isObject(jwk) || !proofAlgorithms.some((each) => each === alg)) throw badProof('brings no key, or one for another algorithm')
  try {
    const described = describedKeyOf(jwk)
    if (spellingsOf[described.alg].includes(alg as string)) return described
  } catch (error) {
    throw badProof((error as Error).message)
  }
  throw badProof('the key is not for this algorithm')
}

/** One spelling of an address, without what does not count. */
const settled = (text: unknown): string | undefined => {
  const url = typeof text === 'string' ? URL.parse(text) : null
  return url ? `${url.protocol}//${url.host}${url.pathname}` : undefined
}

const digestOf = (token: string): string => createHash('sha256').update(token).digest('base64url')

const requireFor = ({ htm, htu, ath }: Claims, { method, url, token }: ProvedRequest): void => {
  if (htm !== method) throw badProof('is for another method')
  if (settled(htu) !== settled(url)) throw badProof('is for another address')
  if (token !== undefined && ath !== digestOf(token)) throw badProof('is for another token')
}

/** Neither claim is asked for; whoever makes one means it. */
const requireNow = ({ exp, nbf }: Claims, seconds: number): void => {
  if (exp !== undefined && !(typeof exp === 'number' && exp > seconds)) throw badProof('has ended')
  if (nbf !== undefined && !(typeof nbf === 'number' && nbf <= seconds)) throw badProof('begins later')
}

/** What a proof says, if it is one for this request: whoever holds the key that it brings signed it just now. It has not been used up yet. */
export const readProof = (proof: string | undefined, request: ProvedRequest, { window_seconds, now }: ProofRules): ReadProof => {
  if (proof === undefined) throw badProof('is missing')
  const jws = bareJws(proof)
  if (!jws.ok) throw badProof(jws.reason)
  const { alg, jwk, key } = keyIn(jws.named)
  if (!isSignedWith({ alg, key }, jws.signed, jws.signature)) throw badProof('the signature is not of its key')
  const claims = objectOf(jws.payload)
  if (!claims) throw badProof('payload is not a JSON object with unique members')
  const { jti, iat } = claims
  if (typeof jti !== 'string' || jti.length === 0 || jti.length > 255) throw badProof('has no name of its own')
  if (typeof iat !== 'number' || !(Math.abs(Date.parse(now) / 1000 - iat) <= window_seconds)) throw badProof('was not made just now')
  requireNow(claims, Date.parse(now) / 1000)
  requireFor(claims, request)
  return { jkt: thumbprintOf(jwk, alg), jti, iat }
}
