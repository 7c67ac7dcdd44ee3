import { randomUUID } from 'node:crypto'
import { importJWK } from 'jose'
import * as oauth4webapi from 'oauth4webapi'
import * as openid from 'openid-client'
import { beforeAll, describe, expect, test } from 'vitest'
import type { PolicyKey } from '#rails/policies/policy-definitions.ts'
import { fixture } from '../../../../test/fixture.ts'
import { noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'
import { machineWithSecret } from '../../../../test/machine-credential.ts'
import { machineWithPublicKey, sendForm } from '../../../../test/machine-public-key.ts'
import { thumbprintOf } from '../keys/public-key.ts'
import { assertionOf, keyPair, type Pair, proofOf } from './testing/signing.ts'

let bases: string[]
const live = serverFixture({ policies: { ...noRateLimits, 'auth.wrong_secret.first_delay_milliseconds': 0 } }, async (live) => {
  bases = [live.url, (await live.replica()).url, (await live.replica()).url]
})
const machine = fixture(() => machineWithSecret(live))

const issuer = 'https://gatehouse.test'
const tokenUrl = `${issuer}/oauth2/token`
const path = `/api/v1/projects/${seeded.project.aurora}/roles`
const url = `${issuer}${path}`

type Headers = Record<string, string>
const ask = (headers: Headers, { key_id, client_secret }: { key_id: string; client_secret: string } = machine, base = live.url) =>
  sendForm(base, '/oauth2/token', { grant_type: 'client_credentials', client_id: key_id, client_secret }, headers)
/** A token that is bound to this pair. */
const bound = async (pair: Pair): Promise<string> => {
  const { status, body } = await ask({ dpop: proofOf(pair, { method: 'POST', url: tokenUrl }) })
  expect([status, body.token_type]).toEqual([200, 'DPoP'])
  return body.access_token
}
const show = (token: string, dpop: string | undefined, scheme = 'DPoP', base = live.url, query = '') =>
  fetch(`${base}${path}${query}`, { headers: { authorization: `${scheme} ${token}`, ...(dpop === undefined ? {} : { dpop }) } })
const usedProofs = async () => (await live.sql<{ n: number }>(`select count(*)::int as n from used_proofs`))[0]!.n
const refused = async (response: Response) => [
  response.status,
  ((await response.json()) as { code: string }).code,
  response.headers.get('www-authenticate'),
]
const badProof = [401, 'proof_invalid', 'DPoP error="invalid_dpop_proof", algs="ES256 EdDSA Ed25519"']
const badToken = [401, 'token_invalid', 'DPoP error="invalid_token", algs="ES256 EdDSA Ed25519"']

describe('stock clients, unmodified', () => {
  const own = serverFixture({ is_own_issuer: true })

  const resource = () => new URL(`${own.url}${path}?limit=5`)

  test.each(['ES256', 'Ed25519'])('TI-17 openid-client binds its token to a key (%s) and uses it', async (alg) => {
    const { key_id, client_secret } = await machineWithSecret(own)
    const config = await openid.discovery(new URL(own.url), key_id, client_secret, undefined, {
      algorithm: 'oauth2',
      execute: [openid.allowInsecureRequests],
    })
    const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair(alg))
    const issued = await openid.clientCredentialsGrant(config, undefined, { DPoP })
    expect(issued.token_type).toBe('dpop')
    for (let turn = 0; turn < 2; turn += 1) {
      const response = await openid.fetchProtectedResource(config, issued.access_token, resource(), 'GET', null, undefined, { DPoP })
      expect(response.status).toBe(200)
    }
    expect(await openid.tokenIntrospection(config, issued.access_token)).toMatchObject({
      ...{ active: true, token_type: 'DPoP', cnf: { jkt: await DPoP.calculateThumbprint() } },
    })
    const other = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair(alg))
    const stolen = openid.fetchProtectedResource(config, issued.access_token, resource(), 'GET', null, undefined, { DPoP: other })
    await expect(stolen).rejects.toMatchObject({ status: 401, cause: [{ scheme: 'dpop', parameters: { error: 'invalid_dpop_proof' } }] })
  })

  test('TI-17 oauth4webapi does too, with a client that signs who it is', async () => {
    const { client_id, pair } = await machineWithPublicKey(own.sql)
    const client = { client_id }
    const options = { [oauth4webapi.allowInsecureRequests]: true }
    const at = new URL(own.url)
    const as = await oauth4webapi.processDiscoveryResponse(at, await oauth4webapi.discoveryRequest(at, { ...options, algorithm: 'oauth2' }))
    expect(as.dpop_signing_alg_values_supported).toEqual(['ES256', 'EdDSA', 'Ed25519'])
    const key = (await importJWK(pair.privateKey.export({ format: 'jwk' }), 'ES256')) as oauth4webapi.CryptoKey
    const DPoP = oauth4webapi.DPoP({}, await oauth4webapi.generateKeyPair('ES256'))
    const asked = await oauth4webapi.clientCredentialsGrantRequest(as, client, oauth4webapi.PrivateKeyJwt(key), {}, { ...options, DPoP })
    const issued = await oauth4webapi.processClientCredentialsResponse(as, client, asked)
    expect(issued.token_type).toBe('dpop')
    const given = { ...options, DPoP }
    const response = await oauth4webapi.protectedResourceRequest(issued.access_token, 'GET', resource(), undefined, undefined, given)
    expect(response.status).toBe(200)
  })
})

describe('a bound token', () => {
  const pair = keyPair('EdDSA')
  let token: string
  beforeAll(async () => {
    token = await bound(pair)
  })
  const request = () => ({ method: 'GET', url, token })
  const proof = (changed?: Parameters<typeof proofOf>[2]) => proofOf(pair, request(), changed)

  test('TI-17 is its holder’s on every process, with a new proof for each request; the query does not count', async () => {
    for (const base of bases) expect((await show(token, proof(), 'DPoP', base, '?limit=1')).status).toBe(200)
    expect((await show(token, proof(), 'dpop')).status).toBe(200)
  })

  test('TI-17 says whom it is bound to, in its row and its record too', async () => {
    const dpop = proofOf(pair, { method: 'POST', url: tokenUrl })
    const { body } = await ask({ dpop, 'x-request-id': 'bound-1' })
    const jkt = thumbprintOf(pair.jwk, 'EdDSA')
    const claims = JSON.parse(Buffer.from(body.access_token.split('.')[1], 'base64url').toString())
    expect(claims.cnf).toEqual({ jkt })
    expect(await live.sql('select cnf_jkt from issued_tokens where id = $1', [claims.jti])).toEqual([{ cnf_jkt: jkt }])
    expect(await live.auditOf('bound-1')).toMatchObject([{ action: 'auth.token.issue', metadata: { cnf_jkt: jkt } }])
  })

  test('TI-17 is nobody’s without a proof: not as a bearer token, not with an empty one, not with two', async () => {
    expect(await refused(await show(token, undefined, 'Bearer'))).toEqual(badProof)
    expect(await refused(await show(token, proof(), 'Bearer'))).toEqual(badProof)
    for (const dpop of [undefined, '', 'x', `${proof()}, ${proof()}`]) expect(await refused(await show(token, dpop))).toEqual(badProof)
    const headers = new Headers({ authorization: `DPoP ${token}` })
    for (let turn = 0; turn < 2; turn += 1) headers.append('dpop', proof())
    expect(await refused(await fetch(`${live.url}${path}`, { headers }))).toEqual(badProof)
  })

  test('TI-17 is not opened by a proof of another key, for another request or token, from another time', async () => {
    const [stranger, other] = [keyPair('EdDSA'), await bound(pair)]
    const d = pair.privateKey.export({ format: 'jwk' }).d
    const now = Math.floor(Date.now() / 1000)
    const bad = [
      proofOf(stranger, request()),
      proofOf({ ...pair, jwk: stranger.jwk }, request()),
      proof({ claims: { htm: 'POST' } }),
      proof({ claims: { htu: `${issuer}/api/v1/me` } }),
      proof({ claims: { htu: `${live.url}${path}` } }),
      proof({ claims: { ath: undefined } }),
      proofOf(pair, { ...request(), token: other }),
      proof({ claims: { iat: now - 90 } }),
      proof({ claims: { iat: now + 90 } }),
      proof({ claims: { jti: undefined } }),
      proof({ header: { jwk: { ...pair.jwk, d } } }),
      proof({ header: { typ: 'JWT' } }),
      proof({ header: { alg: 'none' } }),
    ]
    const before = await usedProofs()
    for (const dpop of bad) expect(await refused(await show(token, dpop))).toEqual(badProof)
    // What was not good is not used up.
    expect(await usedProofs()).toBe(before)
  })

  test('TI-17 is opened once by a proof, on whichever process, also where 50 use it at the same time', async () => {
    for (let turn = 0; turn < 3; turn += 1) {
      const dpop = proof()
      const shown = await Promise.all(Array.from({ length: 50 }, (_, index) => show(token, dpop, 'DPoP', bases[index % 3])))
      expect(shown.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 49 }, () => 401)])
      for (const base of bases) expect(await refused(await show(token, dpop, 'DPoP', base))).toEqual(badProof)
    }
  })

  test('TI-17 with a good proof is still refused when it is revoked, and its proof is not used up', async () => {
    const ended = await bound(pair)
    const { jti } = JSON.parse(Buffer.from(ended.split('.')[1]!, 'base64url').toString())
    await live.sql(`update issued_tokens set revoked_at = now(), revoked_by = actor_id, revoke_reason = 'x' where id = $1`, [jti])
    const before = await usedProofs()
    expect(await refused(await show(ended, proofOf(pair, { ...request(), token: ended })))).toEqual(badToken)
    expect(await usedProofs()).toBe(before)
  })

  test('TI-17 is told to be bound where somebody asks about it, and asks about itself with a proof only', async () => {
    const introspect = (headers: Headers) => sendForm(live.url, '/oauth2/introspect', { token }, headers)
    const own = proofOf(pair, { method: 'POST', url: `${issuer}/oauth2/introspect`, token })
    const { body } = await introspect({ authorization: `DPoP ${token}`, dpop: own })
    expect(body).toMatchObject({ active: true, token_type: 'DPoP', cnf: { jkt: thumbprintOf(pair.jwk, 'EdDSA') } })
    for (const headers of [{ authorization: `Bearer ${token}` }, { authorization: `DPoP ${token}`, dpop: proof() }] as Headers[]) {
      const { status, body: refusal } = await introspect(headers)
      expect([status, refusal.error]).toEqual([401, 'invalid_dpop_proof'])
    }
  })

  test('TI-17 of the window that policy says', async () => {
    const aged = () => proof({ claims: { iat: Math.floor(Date.now() / 1000) - 30 } })
    expect((await show(token, aged())).status).toBe(200)
    await live.setPolicy('auth.dpop_proof_window_seconds', 10)
    expect((await show(token, aged())).status).toBe(401)
    await live.setPolicy('auth.dpop_proof_window_seconds', 60)
  })
})

describe('a token that is bound to nobody', () => {
  test('TI-17 is not shown as a bound one, whether it is a machine’s or a person’s', async () => {
    const pair = keyPair()
    const { body } = await ask({})
    expect(body.token_type).toBe('Bearer')
    const tokens = [body.access_token as string, (await machine.ask()).body.access_token as string, await live.tokenOf('aldo')]
    for (const token of tokens) {
      expect(await refused(await show(token, proofOf(pair, { method: 'GET', url, token })))).toEqual(badToken)
      expect((await show(token, undefined, 'Bearer')).status).toBe(200)
    }
  })
})

describe('the token endpoint', () => {
  const pair = keyPair()
  const request = { method: 'POST', url: tokenUrl }

  test('TI-17 refuses a proof that is not good in the words of OAuth, and issues no token in its place', async () => {
    const [before] = await live.sql<{ n: number }>('select count(*)::int as n from issued_tokens')
    const bad = [
      'x',
      '',
      proofOf(pair, { ...request, method: 'GET' }),
      proofOf(pair, { ...request, url }),
      proofOf(keyPair('RS256'), request),
    ]
    for (const dpop of bad) {
      const { status, body, headers } = await ask({ dpop })
      expect([status, body.error, headers.get('www-authenticate')]).toEqual([400, 'invalid_dpop_proof', null])
    }
    expect(await live.sql('select count(*)::int as n from issued_tokens')).toEqual([before])
  })

  test('TI-17 takes a proof once, also where 20 send it at the same time', async () => {
    const dpop = proofOf(pair, request)
    const asked = await Promise.all(Array.from({ length: 20 }, (_, index) => ask({ dpop }, machine, bases[index % 3])))
    expect(asked.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 19 }, () => 400)])
    expect(asked.find(({ status }) => status === 400)!.body.error).toBe('invalid_dpop_proof')
  })

  test('TI-17 keeps nothing of the proof of a client that is not who it says', async () => {
    const before = await usedProofs()
    const dpop = proofOf(pair, request)
    expect((await ask({ dpop }, { ...machine, client_secret: 'wrong' })).status).toBe(401)
    expect((await ask({ dpop }, { key_id: randomUUID(), client_secret: machine.client_secret })).status).toBe(401)
    expect(await usedProofs()).toBe(before)
    expect((await ask({ dpop })).status).toBe(200)
  })
})

describe('behind a proxy', () => {
  test('TI-17 RFC 9700 headers that it, or anybody, sets change neither the address of a proof nor who asks nor from where', async () => {
    const pair = keyPair()
    const token = await bound(pair)
    const forwarded = {
      'x-forwarded-host': 'other.example',
      'x-forwarded-proto': 'http',
      'x-forwarded-for': '203.0.113.9',
      forwarded: 'for=203.0.113.9;host=other.example;proto=http',
      'x-real-ip': '203.0.113.9',
      'x-forwarded-client-cert': 'Subject="CN=ada"',
      'x-forwarded-user': 'ada',
      'x-ssl-client-cert': 'ada',
    }
    const sent = (address: string, headers: Headers) =>
      fetch(`${live.url}${path}`, {
        headers: { authorization: `DPoP ${token}`, dpop: proofOf(pair, { method: 'GET', url: address, token }), ...headers },
      })
    expect((await sent(url, forwarded)).status).toBe(200)
    expect((await sent(`http://other.example${path}`, forwarded)).status).toBe(401)
    expect((await fetch(`${live.url}${path}`, { headers: forwarded })).status).toBe(401)
    const asked = await ask(forwarded)
    const rows = await live.auditOf(asked.headers.get('x-request-id')!)
    expect(rows).toMatchObject([{ action: 'auth.token.issue', actor_id: machine.service_account_id }])
    // From wherever it says it comes, it counts against where it came from.
    const { url: base } = await live.replica()
    await live.setPolicy('rate_limit.anonymous_requests_per_minute', 2)
    const from = async (address: string) =>
      (await fetch(`${base}${path}`, { headers: { 'x-forwarded-for': address, 'x-real-ip': address } })).status
    const seen = [await from('203.0.113.1'), await from('203.0.113.2'), await from('203.0.113.3')]
    await live.setPolicy('rate_limit.anonymous_requests_per_minute', 1_000_000)
    expect(seen).toEqual([401, 401, 429])
  })
})

describe('what is written down of proofs', () => {
  const rows = async () => (await live.sql<{ n: number }>('select count(*)::int as n from used_proofs'))[0]!.n
  /** How many rows forty requests leave, and how they are answered. */
  const forty = async (limit: PolicyKey, send: () => Promise<{ status: number }>) => {
    await live.setPolicy(limit, 3)
    const before = await rows()
    const seen: Record<number, number> = {}
    for (let n = 0; n < 40; n += 1) {
      const { status } = await send()
      seen[status] = (seen[status] ?? 0) + 1
    }
    await live.setPolicy(limit, 1_000_000)
    return { rows: (await rows()) - before, seen }
  }
  const assertionForm = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

  test('HO-04 TI-17 is bounded by the limit of who brings them: at the API, and for a token', async () => {
    const pair = keyPair()
    const own = await machineWithSecret(live)
    const asked = await ask({ dpop: proofOf(pair, { method: 'POST', url: tokenUrl }) }, own)
    const token = asked.body.access_token
    const limit = 'rate_limit.machine_requests_per_minute'
    const shown = () => show(token, proofOf(pair, { method: 'GET', url, token }))
    expect(await forty(limit, shown)).toEqual({ rows: 3, seen: { 200: 3, 429: 37 } })
    const other = await machineWithSecret(live)
    const forToken = () => ask({ dpop: proofOf(pair, { method: 'POST', url: tokenUrl }) }, other)
    expect(await forty(limit, forToken)).toEqual({ rows: 3, seen: { 200: 3, 429: 37 } })
  })

  test('HO-04 TI-17 is bounded by the limit of who signs who he is: for a token, and to ask about one', async () => {
    const sent = (at: string, more: Headers) => async () => {
      const signed = assertionOf(client.pair, client.client_id, issuer)
      return sendForm(live.url, at, { client_assertion_type: assertionForm, client_assertion: signed, ...more })
    }
    const client = await machineWithPublicKey(live.sql)
    const forToken = sent('/oauth2/token', { grant_type: 'client_credentials' })
    expect(await forty('rate_limit.machine_requests_per_minute', forToken)).toEqual({ rows: 3, seen: { 200: 3, 429: 37 } })
    const about = sent('/oauth2/introspect', { token: 'x' })
    expect(await forty('rate_limit.decision_requests_per_minute', about)).toEqual({ rows: 3, seen: { 200: 3, 429: 37 } })
  })

  test('TI-12 TI-17 a proof that a known client uses again is recorded, by either grant', async () => {
    const own = await machineWithSecret(live)
    const pair = keyPair()
    const dpop = proofOf(pair, { method: 'POST', url: tokenUrl })
    const first = await ask({ dpop }, own)
    expect(first.status).toBe(200)
    const exchange = {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: first.body.access_token,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
      client_id: own.key_id,
      client_secret: own.client_secret,
    }
    for (const again of [await ask({ dpop }, own), await sendForm(live.url, '/oauth2/token', exchange, { dpop })]) {
      expect(again).toMatchObject({ status: 400, body: { error: 'invalid_dpop_proof' } })
      expect(await live.auditOf(again.headers.get('x-request-id')!)).toMatchObject([
        {
          action: 'auth.token.deny',
          result: 'denied',
          reason_code: 'proof_invalid',
          actor_id: own.service_account_id,
          metadata: { why: 'used_proof', key_id: own.key_id },
        },
      ])
    }
  })

  test('TI-25 the last use of a key is noted where a token is asked about or given back', async () => {
    for (const at of ['/oauth2/introspect', '/oauth2/revoke']) {
      const own = await machineWithSecret(live)
      const lastUse = async () =>
        (await live.sql<{ last_used_at: Date | null }>('select last_used_at from service_account_keys where id = $1', [own.key_id]))[0]!
          .last_used_at
      const send = () => sendForm(live.url, at, { token: 'x', client_id: own.key_id, client_secret: own.client_secret })
      expect(await lastUse()).toBeNull()
      expect((await sendForm(live.url, at, { token: 'x', client_id: own.key_id, client_secret: 'wrong' })).status).toBe(401)
      expect(await lastUse()).toBeNull()
      expect((await send()).status).toBe(200)
      expect((await lastUse())?.getSeconds()).toBe(0)
    }
  })
})
