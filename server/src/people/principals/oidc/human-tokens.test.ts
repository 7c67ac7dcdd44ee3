import { createHmac, createPublicKey, type JsonWebKey, verify } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { EmbeddedJWK, jwtVerify } from 'jose'
import { expect, test } from 'vitest'
import { Problem } from '#ground/kernel/problem.ts'
import { fixture } from '../../../../../test/fixture.ts'
import { unhurried } from '../../../../../test/unhurried.ts'
import { humanTokens } from './human-tokens.ts'
import { handClock, type LocalKey, localIssuer, localKey, signText } from './testing/local-issuer.ts'

const clock = handClock()
const now = clock.seconds()
const issuer = fixture(localIssuer, (started) => started.stop())
const tokens = fixture(
  () => humanTokens([issuer.settings], { ...clock, ...unhurried.tokens }),
  (started) => started.stop(),
)

type Changes = Record<string, unknown>
const token = (claims: Changes = {}, header: Changes = {}, key: LocalKey = issuer.key) =>
  signText(key, JSON.stringify(issuer.claims(now, claims)), header)
const problemOf = async (text: string, validator = tokens): Promise<Problem> => {
  const problem = await validator.validate(text).then(
    () => undefined,
    (error: unknown) => error,
  )
  if (!(problem instanceof Problem)) throw new Error(`expected a Problem, got ${problem}`)
  return problem
}
const codeOf = async (text: string, validator = tokens) => (await problemOf(text, validator)).code
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

test('HO-06 an access token tells who its bearer is and when it ends', async () => {
  const claims = { preferred_username: 'alice', email: 'alice@aurora.example', email_verified: true, roles: ['admin'] }
  expect(await tokens.validate(await token(claims))).toEqual({
    issuer: issuer.issuer,
    subject: 'alice',
    username: 'alice',
    email: 'alice@aurora.example',
    email_verified: true,
    issued_at: now,
    expires_at: now + 600,
  })
})

test('HO-06 what an issuer leaves out or garbles about a person is null, not believed', async () => {
  const garbled = { preferred_username: ['alice'], email: 'a\u0000@x.example', email_verified: true }
  expect(await tokens.validate(await token(garbled))).toMatchObject({ username: null, email: null, email_verified: false })
  expect(await tokens.validate(await token({ email: 'a@x.example', email_verified: 'true' }))).toMatchObject({ email_verified: false })
})

test('HO-06 claims are read where the issuer keeps them, and email_verified vouches for no other claim than email', async () => {
  const configured = humanTokens([{ ...issuer.settings, username_claim: 'upn', email_claim: 'mail' }], { ...clock, ...unhurried.tokens })
  const found = await configured.validate(await token({ upn: 'al', mail: 'al@x.example', email: 'other@x.example', email_verified: true }))
  expect(found).toMatchObject({ username: 'al', email: 'al@x.example', email_verified: false })
  configured.stop()
})

test('HO-06 our audience may stand in a list', async () => {
  expect(await tokens.validate(await token({ aud: ['account', 'gatehouse-api'] }))).toMatchObject({ subject: 'alice' })
})

const wrong: [string, unknown][] = [
  ['absent', undefined],
  ['null', null],
  ['empty', ''],
  ['true', true],
  ['an empty list', []],
  ['a list', [1]],
  ['an object', {}],
]
for (const claim of ['iss', 'sub', 'aud', 'iat', 'exp'])
  test.each(wrong)(`HO-06 ${claim} %s is refused`, async (_what, value) => {
    expect(await codeOf(await token({ [claim]: value }))).toBe('token_invalid')
  })

test.each<[string, Changes]>([
  ['sub a number', { sub: 7 }],
  ['sub of 256 characters', { sub: 'a'.repeat(256) }],
  ['sub with a NUL', { sub: 'alice\u0000' }],
  ['sub a lone surrogate', { sub: '\ud800' }],
  ['aud of another service', { aud: 'billing-api' }],
  ['aud that begins like ours', { aud: 'gatehouse-api-2' }],
  ['aud in another case', { aud: 'Gatehouse-API' }],
  ['aud with ours beside a number', { aud: ['gatehouse-api', 1] }],
  ['aud with ours in a nested list', { aud: [['gatehouse-api']] }],
  ['exp as text', { exp: String(now + 600) }],
  ['exp with a fraction', { exp: now + 600.5 }],
  ['exp negative', { exp: -1 }],
  ['exp zero', { exp: 0 }],
  ['exp not after iat', { iat: now, exp: now }],
  ['iat as text', { iat: String(now) }],
  ['iat with a fraction', { iat: now - 0.5 }],
  ['iat in the future', { iat: now + 31 }],
  ['nbf in the future', { nbf: now + 31 }],
  ['nbf as text', { nbf: String(now) }],
  ['nbf null', { nbf: null }],
  ['a nonce', { nonce: 'n' }],
  ['an at_hash', { at_hash: 'h' }],
  ['a c_hash', { c_hash: 'h' }],
  ['a binding to a key nobody proved', { cnf: { jkt: 'x' } }],
])('HO-06 a token with %s is refused', async (_what, claims) => {
  expect(await codeOf(await token(claims))).toBe('token_invalid')
})

test('HO-06 an exp beyond all numbers is refused', async () => {
  const text = JSON.stringify(issuer.claims(now)).replace(String(now + 600), '1e400')
  expect(text).toContain('1e400')
  expect(await codeOf(await signText(issuer.key, text))).toBe('token_invalid')
})

test.each<[string, Changes, string]>([
  ['29 s after its end', { iat: now - 600, exp: now - 29 }, 'accepted'],
  ['30 s after its end', { iat: now - 600, exp: now - 30 }, 'token_expired'],
  ['30 s before its birth', { iat: now + 30 }, 'accepted'],
  ['30 s before it holds', { nbf: now + 30 }, 'accepted'],
  ['at its end, for another audience', { iat: now - 600, exp: now - 30, aud: 'x' }, 'token_invalid'],
])('HO-06 at the edge of the clock skew: %s', async (_what, claims, expected) => {
  const text = await token(claims)
  const outcome = await tokens.validate(text).then(
    () => 'accepted',
    (problem: Problem) => problem.code,
  )
  expect(outcome).toBe(expected)
})

test('HO-06 "expired" is said only of a token that was ours', async () => {
  const expired = { iat: now - 600, exp: now - 60 }
  expect(await codeOf(await token(expired))).toBe('token_expired')
  expect(await codeOf(await token(expired, {}, await localKey('first')))).toBe('token_invalid')
})

test.each(['JWT', 'jwt', 'at+jwt2', '', 'logout+jwt', undefined])('HO-06 header typ %s is no access token', async (typ) => {
  expect(await codeOf(await token({}, { typ }))).toBe('token_invalid')
})
test.each(['at+jwt', 'AT+JWT', 'application/at+jwt'])('HO-06 header typ %s is an access token', async (typ) => {
  expect(await tokens.validate(await token({}, { typ }))).toMatchObject({ subject: 'alice' })
})

test('HO-06 an issuer we do not know is refused without a question to anybody', async () => {
  const stranger = await localIssuer()
  const text = await signText(stranger.key, JSON.stringify(stranger.claims(now)))
  expect(await codeOf(text)).toBe('token_invalid')
  expect(stranger.state.jwks_requests).toBe(0)
  await stranger.stop()
})

test('HO-06 one issuer cannot speak for another', async () => {
  const other = await localIssuer()
  const both = humanTokens([issuer.settings, other.settings], { ...clock, ...unhurried.tokens })
  const forged = await signText({ ...other.key, kid: issuer.key.kid }, JSON.stringify(issuer.claims(now)))
  expect(await codeOf(forged, both)).toBe('token_invalid')
  expect(await both.validate(await signText(other.key, JSON.stringify(other.claims(now))))).toMatchObject({ issuer: other.issuer })
  both.stop()
  await other.stop()
})

test('HO-06 an algorithm the issuer was not given is refused though the key fits', async () => {
  const narrow = humanTokens([{ ...issuer.settings, algorithms: ['RS256'] }], { ...clock, ...unhurried.tokens })
  expect(await codeOf(await token(), narrow)).toBe('token_invalid')
  narrow.stop()
})

/** What not to write: the header says which algorithm, and the key is whatever we have. */
const naive = (text: string, publicJwk: JsonWebKey): boolean => {
  const [header = '', payload = '', signature = ''] = text.split('.')
  const { alg } = JSON.parse(Buffer.from(header, 'base64url').toString())
  const key = createPublicKey({ key: publicJwk, format: 'jwk' })
  const bytes = Buffer.from(signature, 'base64url')
  if (alg.toLowerCase() === 'none') return true
  if (alg === 'HS256')
    return createHmac('sha256', key.export({ format: 'pem', type: 'spki' }))
      .update(`${header}.${payload}`)
      .digest()
      .equals(bytes)
  return verify('sha256', Buffer.from(`${header}.${payload}`), { key, dsaEncoding: 'ieee-p1363' }, bytes)
}

test('HO-06 alg none is refused in every spelling, and a naive validator takes it', async () => {
  const [, payload, signature] = (await token()).split('.')
  for (const alg of ['none', 'None', 'NONE', 'nOnE', ''])
    for (const ending of ['', signature, 'AAAA'])
      expect(await codeOf(`${encode({ alg, kid: 'first', typ: 'at+jwt' })}.${payload}.${ending}`)).toBe('token_invalid')
  expect(naive(`${encode({ alg: 'none', kid: 'first' })}.${payload}.`, issuer.key.publicJwk as JsonWebKey)).toBe(true)
})

test('HO-06 a public key is no HMAC secret in any of five spellings, and a naive validator takes it for one', async () => {
  const jwk = issuer.key.publicJwk as JsonWebKey
  const key = createPublicKey({ key: jwk, format: 'jwk' })
  const pem = key.export({ format: 'pem', type: 'spki' }) as string
  const spellings = [JSON.stringify(jwk), pem, pem.trimEnd(), key.export({ format: 'der', type: 'spki' }), Buffer.from(jwk.x!, 'base64url')]
  const forge = (secret: string | Buffer, bits: number) => {
    const signed = `${encode({ alg: `HS${bits}`, kid: 'first', typ: 'at+jwt' })}.${encode(issuer.claims(now))}`
    return `${signed}.${createHmac(`sha${bits}`, secret).update(signed).digest('base64url')}`
  }
  for (const secret of spellings) for (const bits of [256, 384, 512]) expect(await codeOf(forge(secret, bits))).toBe('token_invalid')
  expect(naive(forge(pem, 256), jwk)).toBe(true)
})

test('HO-06 a key that comes in the header is neither used nor fetched, and a naive validator uses it', async () => {
  let connections = 0
  const attacker = await localKey('attacker')
  const listener = createServer((_request, response) => response.end(JSON.stringify({ keys: [attacker.publicJwk] })))
  listener.on('connection', () => {
    connections += 1
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(listener.address() as AddressInfo).port}/jwks`
  for (const kid of ['attacker', 'first'])
    for (const brought of [{ jwk: attacker.publicJwk }, { jku: url }, { x5u: url }, { x5c: ['AAAA'] }])
      expect(await codeOf(await token({}, { kid, ...brought }, attacker))).toBe('token_invalid')
  expect(connections).toBe(0)
  const embedded = await token({}, { jwk: attacker.publicJwk }, attacker)
  expect(await jwtVerify(embedded, EmbeddedJWK, { currentDate: new Date(clock.now()) })).toBeTruthy()
  expect(await fetch(url).then(({ ok }) => ok)).toBe(true)
  expect(connections).toBe(1)
  await new Promise((resolve) => {
    listener.close(resolve)
    listener.closeAllConnections()
  })
})

test('HO-06 a signature over other words does not hold', async () => {
  const [header, , signature] = (await token()).split('.')
  expect(await codeOf(`${header}.${encode(issuer.claims(now, { sub: 'ada' }))}.${signature}`)).toBe('token_invalid')
})

test('HO-06 the caller is not told why; the log is', async () => {
  const problems = [
    await problemOf('x'),
    await problemOf(await token({ aud: 'x' })),
    await problemOf(await token({ nonce: 'n' })),
    await problemOf(await token({}, {}, await localKey('first'))),
    await problemOf(await token({}, { kid: 'nobody' })),
  ]
  expect(new Set(problems.map(({ code, message, details }) => JSON.stringify({ code, message, details }))).size).toBe(1)
  expect(new Set(problems.map(({ cause }) => (cause as Error).message)).size).toBe(problems.length)
  expect(JSON.stringify(problems.map(({ cause }) => Object.entries(cause as Error)))).not.toContain('alice')
})

test('HO-06 Keycloak access tokens are accepted where the issuer is configured as Keycloak, its other tokens are not', async () => {
  const keycloak = humanTokens([{ ...issuer.settings, profile: 'keycloak' }], { ...clock, ...unhurried.tokens })
  const shape = (typ: unknown, more: Changes = {}) =>
    token(
      { typ, azp: 'gatehouse-console', aud: ['gatehouse-api', 'account'], sid: 's', scope: 'openid', preferred_username: 'alice', ...more },
      { typ: 'JWT' },
    )
  expect(await keycloak.validate(await shape('Bearer'))).toMatchObject({ subject: 'alice', username: 'alice' })
  for (const typ of ['ID', 'Refresh', 'Offline', 'Logout', 'DPoP', 'bearer', undefined, ['Bearer']])
    expect(await codeOf(await shape(typ), keycloak)).toBe('token_invalid')
  expect(await codeOf(await shape('Bearer', { at_hash: 'h' }), keycloak)).toBe('token_invalid')
  expect(await codeOf(await shape('Bearer', { aud: 'account' }), keycloak)).toBe('token_invalid')
  expect(await codeOf(await token({ typ: 'Bearer' }, { typ: 'at+jwt' }), keycloak)).toBe('token_invalid')
  expect(await codeOf(await shape('Bearer'))).toBe('token_invalid')
  keycloak.stop()
})
