import { calculateJwkThumbprint } from 'jose'
import { describe, expect, test } from 'vitest'
import { Problem } from '#ground/kernel/problem.ts'
import { readProof } from './dpop-proof.ts'
import { keyPair, proofOf, signedBy } from './testing/signing.ts'

const url = 'https://gatehouse.test/api/v1/me'
const request = { method: 'GET', url, token: 'a.b.c' }
const rules = { window_seconds: 60, now: new Date().toISOString() }
const at = Date.parse(rules.now) / 1000
const [es, ed] = [keyPair('ES256'), keyPair('EdDSA')]

const reasonOf = (proof: string | undefined, asked: typeof request | { method: string; url: string } = request): string => {
  try {
    readProof(proof, asked, rules)
    return 'none'
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    expect([error.code, error.details]).toEqual(['proof_invalid', undefined])
    return (error.cause as Error).message
  }
}

describe('a proof of a holder', () => {
  test.each([es, ed])('TI-17 names the key that it brings ($alg) by its thumbprint', async (pair) => {
    const claims = { jti: 'one', iat: Math.floor(at) }
    const read = readProof(proofOf(pair, request, { claims }), request, rules)
    expect(read).toEqual({ ...claims, jkt: await calculateJwkThumbprint(pair.jwk) })
  })

  test('TI-17 may describe its key, truly', () => {
    const header = { jwk: { ...ed.jwk, alg: 'Ed25519', use: 'sig', kid: 'x', key_ops: ['verify'], ext: true }, alg: 'Ed25519' }
    expect(reasonOf(proofOf(ed, request, { header }))).toBe('none')
    for (const untrue of [{ alg: 'ES256' }, { use: 'enc' }, { key_ops: ['sign', 'verify'] }])
      expect(reasonOf(proofOf(ed, request, { header: { jwk: { ...ed.jwk, ...untrue } } }))).not.toBe('none')
  })

  test('TI-17 is for this method and this address; query and fragment do not count, all else does', () => {
    for (const htu of [url, `${url}?a=b`, `${url}#x`, 'HTTPS://GATEHOUSE.test:443/api/v1/me'])
      expect(reasonOf(proofOf(es, request, { claims: { htu } }))).toBe('none')
    for (const htu of [
      undefined,
      null,
      5,
      '',
      '/api/v1/me',
      'http://gatehouse.test/api/v1/me',
      `${url}/`,
      `${url}s`,
      'https://other.test/api/v1/me',
      'https://gatehouse.test:8443/api/v1/me',
      'https://gatehouse.test/API/v1/me',
    ])
      expect(reasonOf(proofOf(es, request, { claims: { htu } }))).toBe('is for another address')
    for (const htm of ['POST', 'get', '', undefined, 5])
      expect(reasonOf(proofOf(es, request, { claims: { htm } }))).toBe('is for another method')
  })

  test('TI-17 is for this token; where none is there yet, it need not name one', () => {
    for (const other of [
      { ...request, token: 'a.b.d' },
      { method: 'GET', url },
    ])
      expect(reasonOf(proofOf(es, other))).toBe('is for another token')
    for (const ath of [5, '', null]) expect(reasonOf(proofOf(es, request, { claims: { ath } }))).toBe('is for another token')
    expect(reasonOf(proofOf(es, { method: 'GET', url }), { method: 'GET', url })).toBe('none')
  })

  test('TI-17 was made just now', () => {
    for (const iat of [at - 60, at + 60]) expect(reasonOf(proofOf(es, request, { claims: { iat } }))).toBe('none')
    for (const iat of [at - 61, at + 61, 0, String(at), null, undefined, {}])
      expect(reasonOf(proofOf(es, request, { claims: { iat } }))).toBe('was not made just now')
  })

  test('TI-17 RFC 8725 where it says when it ends or begins, that holds', () => {
    for (const claims of [{ exp: at + 1 }, { nbf: at }, { exp: at + 30, nbf: at - 30 }])
      expect(reasonOf(proofOf(es, request, { claims }))).toBe('none')
    for (const exp of [at, at - 1, 1, '9999999999', null, {}]) expect(reasonOf(proofOf(es, request, { claims: { exp } }))).toBe('has ended')
    for (const nbf of [at + 1, 9_999_999_999, '1', null, []])
      expect(reasonOf(proofOf(es, request, { claims: { nbf } }))).toBe('begins later')
  })

  test('TI-17 has a name', () => {
    for (const jti of [undefined, '', 5, 'x'.repeat(256)])
      expect(reasonOf(proofOf(es, request, { claims: { jti } }))).toBe('has no name of its own')
  })

  test('TI-13 brings a public key of a fitting kind and no other: no private part, no shared secret, no weak one, no RSA', () => {
    const rs = keyPair('RS256')
    const d = es.privateKey.export({ format: 'jwk' }).d!
    for (const jwk of [
      { ...es.jwk, d },
      { kty: 'oct', k: 'AAAA' },
      rs.jwk,
      ed.jwk,
      { ...es.jwk, y: es.jwk.x },
      {},
      null,
      [],
      'x',
      undefined,
    ])
      expect(reasonOf(proofOf(es, request, { header: { jwk } }))).not.toBe('none')
    expect(reasonOf(proofOf(rs, request))).toBe('brings no key, or one for another algorithm')
    const weak = { kty: 'OKP', crv: 'Ed25519', x: Buffer.alloc(32).toString('base64url') }
    expect(reasonOf(proofOf({ ...ed, jwk: weak }, request))).toBe('a weak key')
  })

  test('TI-13 is signed with the key that it brings, by an algorithm that the key is for', () => {
    expect(reasonOf(proofOf({ ...es, jwk: keyPair().jwk }, request))).toBe('the signature is not of its key')
    for (const alg of ['none', 'HS256', 'RS256', 'ES384', undefined, 5])
      expect(reasonOf(proofOf(es, request, { header: { alg } }))).toBe('brings no key, or one for another algorithm')
    expect(reasonOf(proofOf(es, request, { header: { alg: 'EdDSA' } }))).toBe('the key is not for this algorithm')
  })

  test('TI-13 is of its type, with nothing else in the header, and has one spelling', () => {
    for (const typ of [undefined, 'JWT', 'at+jwt', 'DPOP+JWT'])
      expect(reasonOf(proofOf(es, request, { header: { typ } }))).toBe('is not a proof')
    for (const member of ['crit', 'b64', 'jku', 'x5c', 'x5u', 'zip', 'x'])
      expect(reasonOf(proofOf(es, request, { header: { [member]: 'x' } }))).toBe('the header has other members than it should')
    const good = proofOf(es, request)
    for (const bad of [undefined, '', 'x', `${good}=`, `${good} `, `${good}, ${good}`, `${good}.x`]) expect(reasonOf(bad)).not.toBe('none')
    const twice = `{"jti":"x","iat":${Math.floor(at)},"htm":"GET","htm":"GET","htu":"${url}"}`
    expect(reasonOf(signedBy(es.privateKey, { typ: 'dpop+jwt', alg: 'ES256', jwk: es.jwk }, twice))).toContain('unique members')
  })
})
