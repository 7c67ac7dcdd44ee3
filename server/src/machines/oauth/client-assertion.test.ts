import { createHmac, createPublicKey } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { clientNamedBy, readAssertion } from './client-assertion.ts'
import { assertionOf, keyPair, type Pair, signedBy } from './testing/signing.ts'

const issuer = 'https://gatehouse.test'
const key_id = '01890000-0000-7000-8000-000000000001'
const rules = { audiences: [issuer, `${issuer}/oauth2/token`], max_ttl_seconds: 300, now: new Date().toISOString() }
const at = Date.parse(rules.now) / 1000

const credentialOf = ({ alg, jwk }: Pick<Pair, 'alg' | 'jwk'>) => ({
  ...{ key_id, service_account_id: key_id, org_id: key_id, project_id: key_id, salt: null, secret_hash: null, alg, public_jwk: jwk },
  ...{ expires_at: null, revoked_at: null, is_of_earlier_epoch: false, account_state: 'active' as const },
})
const pairs = (['ES256', 'EdDSA', 'RS256'] as const).map((alg) => keyPair(alg))
const [es, ed, rs] = pairs as [Pair, Pair, Pair]
const read = (assertion: string, pair: Pair = es) => readAssertion(assertion, credentialOf(pair), rules)

describe('an assertion of a client', () => {
  test.each(pairs)('TI-17 signed with its registered key ($alg) says what it says', (pair) => {
    const claims = { jti: 'one', exp: Math.floor(at) + 60 }
    for (const header of [{}, { typ: 'JWT' }, { typ: 'client-authentication+jwt' }, { kid: 'mine' }])
      expect(read(assertionOf(pair, key_id, issuer, { claims, header }), pair)).toEqual({ ok: true, ...claims })
  })

  test('TI-17 may call Ed25519 by its own name', () => {
    expect(read(assertionOf(ed, key_id, issuer, { header: { alg: 'Ed25519' } }), ed).ok).toBe(true)
  })

  test('TI-17 is for our issuer or our token endpoint, and for nobody else besides', () => {
    for (const aud of [issuer, `${issuer}/oauth2/token`, [issuer], rules.audiences])
      expect(read(assertionOf(es, key_id, aud)).ok).toBe(true)
    for (const aud of [undefined, null, '', [], {}, 5, [5], `${issuer}/`, 'https://other.test', [issuer, 'https://other.test']])
      expect(read(assertionOf(es, key_id, aud))).toEqual({ ok: false, reason: 'is for another audience' })
  })

  const other = '01890000-0000-7000-8000-000000000002'
  const wrong: [what: string, reason: string, claims: object][] = [
    ['of another client', 'is of another client', { iss: other, sub: other }],
    ['with another issuer', 'is of another client', { iss: other }],
    ['with another subject', 'is of another client', { sub: other }],
    ['with no issuer', 'is of another client', { iss: undefined }],
    ['without an end', 'does not say when it ends', { exp: undefined }],
    ['whose end is a text', 'does not say when it ends', { exp: String(at + 60) }],
    ['whose end is null', 'does not say when it ends', { exp: null }],
    ['that has ended', 'has ended', { exp: Math.floor(at) }],
    ['that ends much later', 'ends too late', { exp: at + 331 }],
    ['that never ends', 'ends too late', { exp: Number.MAX_SAFE_INTEGER }],
    ['that begins later', 'begins later', { nbf: at + 31 }],
    ['made in the future', 'begins later', { iat: at + 31 }],
    ['whose beginning is a text', 'begins later', { nbf: '1' }],
    ['without a name', 'has no name of its own', { jti: undefined }],
    ['with an empty name', 'has no name of its own', { jti: '' }],
    ['with a number for a name', 'has no name of its own', { jti: 5 }],
    ['with a long name', 'has no name of its own', { jti: 'x'.repeat(256) }],
  ]
  test.each(wrong)('TI-17 %s is refused', (_what, reason, claims) => {
    expect(read(assertionOf(es, key_id, issuer, { claims }))).toEqual({ ok: false, reason })
  })

  test('TI-13 has no say in the algorithm: not none, not another of the same key, not the public key as a shared secret', () => {
    const claims = { iss: key_id, sub: key_id, aud: issuer, jti: 'x', exp: at + 60 }
    const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    expect(read(`${encoded({ alg: 'none' })}.${encoded(claims)}.`)).toEqual({ ok: false, reason: 'not signed' })
    for (const alg of ['none', 'ES384', 'RS256', 'EdDSA', 'es256', undefined])
      expect(read(assertionOf(es, key_id, issuer, { header: { alg } }))).toMatchObject({
        ok: false,
        reason: 'the key is not for this algorithm',
      })
    for (const alg of ['RS384', 'RS512', 'PS256']) expect(read(assertionOf(rs, key_id, issuer, { header: { alg } }), rs).ok).toBe(false)
    for (const pair of pairs) {
      const key = createPublicKey({ key: pair.jwk, format: 'jwk' })
      for (const secret of [key.export({ type: 'spki', format: 'pem' }), JSON.stringify(pair.jwk)]) {
        const signed = `${encoded({ alg: 'HS256' })}.${encoded(claims)}`
        const mac = createHmac('sha256', secret).update(signed).digest('base64url')
        expect(read(`${signed}.${mac}`, pair)).toMatchObject({ ok: false, reason: 'the key is not for this algorithm' })
      }
    }
  })

  test('TI-13 signed with another key of the same kind is refused, also where it brings that key along', () => {
    const stranger = keyPair()
    expect(read(assertionOf(stranger, key_id, issuer))).toEqual({ ok: false, reason: 'the signature is not of this key' })
    for (const member of ['jwk', 'jku', 'x5u', 'x5c', 'crit', 'b64', 'zip'])
      for (const pair of [stranger, es])
        expect(read(assertionOf(pair, key_id, issuer, { header: { [member]: stranger.jwk } }))).toMatchObject({
          reason: 'header carries what it must not',
        })
  })

  test('TI-13 neither a token of ours nor a proof is taken for one, whatever else they say', () => {
    for (const typ of ['at+jwt', 'sa+jwt', 'dpop+jwt', 'application/at+jwt', '', null, 5])
      expect(read(assertionOf(es, key_id, issuer, { header: { typ } }))).toMatchObject({ reason: 'is of another type' })
  })

  test('TI-13 has one spelling', () => {
    const good = assertionOf(es, key_id, issuer)
    const claims = `{"iss":"${key_id}","sub":"${key_id}","aud":"${issuer}","jti":"x","exp":${Math.floor(at) + 60},"exp":${Math.floor(at) + 60}}`
    for (const bad of [
      `${good}=`,
      ` ${good}`,
      `${good}.`,
      good.replaceAll('.', '..'),
      `${good}A`,
      good.slice(0, -1),
      'x',
      '',
      signedBy(es.privateKey, { alg: 'ES256' }, claims),
    ])
      expect(read(bad).ok).toBe(false)
    expect(read(assertionOf(es, key_id, issuer, { claims: { more: 'x'.repeat(20_000) } }))).toEqual({
      ok: false,
      reason: 'longer than 16 KiB',
    })
  })

  test('TI-11 opens nothing where the key has a secret, or where there is no key', () => {
    const secret = { ...credentialOf(es), alg: null, public_jwk: null, salt: Buffer.alloc(16), secret_hash: Buffer.alloc(32) }
    for (const credential of [secret, undefined])
      expect(readAssertion(assertionOf(es, key_id, issuer), credential, rules)).toEqual({
        ok: false,
        reason: 'the signature is not of this key',
      })
  })

  test('TI-17 names its client, if it can be read at all', () => {
    expect(clientNamedBy(assertionOf(es, key_id, issuer))).toBe(key_id)
    for (const bad of ['', 'a.b.c', assertionOf(es, key_id, issuer, { claims: { sub: 5 } })]) expect(clientNamedBy(bad)).toBe(undefined)
  })
})
