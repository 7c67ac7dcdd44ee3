import { createSecretKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { compactVerify } from 'jose'
import { describe, expect, test } from 'vitest'
import { splitCompactJws } from '#ground/kernel/compact-jws.ts'
import { verificationKeys } from '#people/principals/oidc/verification-keys.ts'
import { hasPart } from '../../../../tools/test/parts.ts'
import { isSignedWith, type OwnAlgorithm, ownAlgorithms } from './signature.ts'

const path = '../shared/vectors/wycheproof_json_web_signature_test.json'

interface Case {
  readonly tcId: number
  readonly comment: string
  readonly jws: unknown
  readonly result: 'valid' | 'invalid'
}
interface Group {
  readonly private: JsonWebKey & { kid: string }
  readonly public?: JsonWebKey & { kid: string }
  readonly tests: readonly Case[]
}

/** Wrong in themselves, by number. */
const wrong = new Map<number, string>([
  ...[346, 350].map((id) => [id, 'header PS384, key PS256'] as const),
  ...[347, 351].map((id) => [id, 'the algorithm of its key does not exist'] as const),
  ...[367, 370].map((id) => [id, 'byte for byte the valid 357'] as const),
  ...[372, 373].map((id) => [id, 'called valid, with a question mark in base64url'] as const),
])

const known = (jwk: Group['private']): { kid: string; alg: string; key: KeyObject } | undefined => {
  if (jwk.kty === 'oct') return { kid: jwk.kid, alg: jwk.alg as string, key: createSecretKey(Buffer.from(jwk.k as string, 'base64url')) }
  try {
    const found = verificationKeys({ keys: [jwk] }).get(jwk.kid)
    return found && { kid: jwk.kid, alg: jwk.alg as string, key: found.key }
  } catch {
    return undefined
  }
}

/**
 * As a token of ours and as a person's token are verified: the same gate, and then our own signatures for our own algorithms and the
 * library for those that only people's tokens may have.
 */
const isAccepted = async (jws: unknown, jwk: Group['private']): Promise<boolean> => {
  const key = known(jwk)
  if (!key || typeof jws !== 'string') return false
  const parts = splitCompactJws(jws, [key.alg])
  if (!parts.ok || parts.header.kid !== key.kid) return false
  const own = ownAlgorithms.find((alg): alg is OwnAlgorithm => alg === key.alg)
  if (own) return isSignedWith({ alg: own, key: key.key }, parts.signed, parts.signature)
  return compactVerify(jws, key.key, { algorithms: [key.alg] }).then(
    () => true,
    () => false,
  )
}

describe.skipIf(!hasPart('vectors'))('signatures of C2SP/wycheproof (needs vectors)', () => {
  const groups = hasPart('vectors') ? (JSON.parse(readFileSync(path, 'utf8')) as { testGroups: Group[] }).testGroups : []
  const all = groups.flatMap((group) => group.tests.map((each) => ({ ...each, jwk: group.public ?? group.private })))
  const usable = all.filter(({ tcId }) => !wrong.has(tcId))

  test('TI-15 all usable cases are there (needs vectors)', () => {
    expect([all.length, usable.length]).toEqual([401, 393])
    const valid = usable.filter(({ result }) => result === 'valid')
    expect(valid.length).toBe(40)
    expect(usable.filter(({ jwk }) => ownAlgorithms.some((alg) => alg === jwk.alg)).length).toBe(75)
  })

  test.each(usable)('TI-15 wycheproof $tcId, $comment, is $result (needs vectors)', async ({ jws, jwk, result }) => {
    expect(await isAccepted(jws, jwk)).toBe(result === 'valid')
  })

  test('TI-15 control: a verifier without the gate takes what it must not (needs vectors)', async () => {
    const lax = async (jws: unknown, jwk: Group['private']) => {
      const key = known(jwk)
      if (!key || typeof jws !== 'string') return false
      const [header = '', payload = '', signature = ''] = jws.split('.')
      const own = ownAlgorithms.find((alg): alg is OwnAlgorithm => alg === key.alg)
      // Node reads past what is no base64url.
      return (
        own !== undefined &&
        isSignedWith({ alg: own, key: key.key }, Buffer.from(`${header}.${payload}`), Buffer.from(signature, 'base64url'))
      )
    }
    const taken = []
    for (const { tcId, jws, jwk, result } of usable) if (result === 'invalid' && (await lax(jws, jwk))) taken.push(tcId)
    expect(taken.length).toBeGreaterThan(0)
  })
})
