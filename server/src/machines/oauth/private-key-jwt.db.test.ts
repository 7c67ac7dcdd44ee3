import { randomUUID } from 'node:crypto'
import { rotateServiceAccountKey } from '@gatehouse/contract/service-accounts'
import { importJWK } from 'jose'
import * as oauth4webapi from 'oauth4webapi'
import * as openid from 'openid-client'
import { describe, expect, test } from 'vitest'
import { fixture } from '../../../../test/fixture.ts'
import { noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'
import { machineWithSecret } from '../../../../test/machine-credential.ts'
import { machineWithPublicKey, sendForm } from '../../../../test/machine-public-key.ts'
import { assertionType } from './client-assertion.ts'
import { assertionOf, keyPair, type Pair } from './testing/signing.ts'

let bases: string[]
const live = serverFixture(
  {
    policies: {
      ...noRateLimits,
      'auth.wrong_secret.first_delay_milliseconds': 0,
      'auth.wrong_secret.longest_delay_milliseconds': 0,
      'auth.wrong_secret.most_waiting': 1000,
    },
  },
  async (live) => {
    bases = [live.url, (await live.replica()).url, (await live.replica()).url]
  },
)
const client = fixture(() => machineWithPublicKey(live.sql))

const issuer = 'https://gatehouse.test'
const formOf = (client_assertion: string) => ({
  grant_type: 'client_credentials',
  client_assertion_type: assertionType,
  client_assertion,
})
const ask = (form: Record<string, string>, headers: Record<string, string> = {}, base = live.url) =>
  sendForm(base, '/oauth2/token', form, headers)
const signed = (changed?: Parameters<typeof assertionOf>[3]) => assertionOf(client.pair, client.client_id, issuer, changed)
const usedProofs = async () => (await live.sql<{ n: number }>(`select count(*)::int as n from used_proofs`))[0]!.n
const refusal = ({ status, body }: Awaited<ReturnType<typeof ask>>) => [status, body.error]
const meOf = (token: string, base = live.url) =>
  fetch(`${base}/api/v1/projects/${seeded.project.aurora}/roles`, { headers: { authorization: `Bearer ${token}` } })

describe('stock clients, unmodified', () => {
  const own = serverFixture({ is_own_issuer: true })

  const cryptoKeyOf = async ({ privateKey, alg }: Pair, name: string = alg) =>
    (await importJWK(privateKey.export({ format: 'jwk' }), name)) as oauth4webapi.CryptoKey

  test.each(['ES256', 'EdDSA', 'RS256'] as const)(
    'TI-17 openid-client signs who it is (%s), gets a token, asks about it and gives it back',
    async (alg) => {
      const { client_id, account_id, pair } = await machineWithPublicKey(own.sql, alg)
      const key = await cryptoKeyOf(pair)
      const config = await openid.discovery(new URL(own.url), client_id, undefined, openid.PrivateKeyJwt({ key, kid: 'mine' }), {
        algorithm: 'oauth2',
        execute: [openid.allowInsecureRequests],
      })
      const issued = await openid.clientCredentialsGrant(config)
      expect(issued.token_type).toBe('bearer')
      expect((await meOf(issued.access_token, own.url)).status).toBe(200)
      expect(await openid.tokenIntrospection(config, issued.access_token)).toMatchObject({ active: true, sub: account_id, client_id })
      await openid.tokenRevocation(config, issued.access_token)
      expect(await openid.tokenIntrospection(config, issued.access_token)).toEqual({ active: false })
    },
  )

  test('TI-17 oauth4webapi does, without naming its key', async () => {
    const { client_id, pair } = await machineWithPublicKey(own.sql, 'EdDSA')
    const options = { [oauth4webapi.allowInsecureRequests]: true }
    const url = new URL(own.url)
    const found = await oauth4webapi.discoveryRequest(url, { ...options, algorithm: 'oauth2' })
    const as = await oauth4webapi.processDiscoveryResponse(url, found)
    expect(as.token_endpoint_auth_methods_supported).toContain('private_key_jwt')
    expect(as.token_endpoint_auth_signing_alg_values_supported).toEqual(['ES256', 'EdDSA', 'Ed25519', 'RS256'])
    const auth = oauth4webapi.PrivateKeyJwt(await cryptoKeyOf(pair))
    const response = await oauth4webapi.clientCredentialsGrantRequest(as, { client_id }, auth, {}, options)
    const issued = await oauth4webapi.processClientCredentialsResponse(as, { client_id }, response)
    expect((await meOf(issued.access_token, own.url)).status).toBe(200)
  })
})

describe('an assertion', () => {
  test('TI-17 opens once, on whichever process, also where 50 use it at the same time', async () => {
    for (let turn = 0; turn < 3; turn += 1) {
      const form = formOf(signed())
      const asked = await Promise.all(Array.from({ length: 50 }, (_, index) => ask(form, {}, bases[index % 3])))
      expect(asked.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 49 }, () => 401)])
      for (const base of bases) expect(refusal(await ask(form, {}, base))).toEqual([401, 'invalid_client'])
    }
  })

  test('TI-17 opens once whether or not something came of it, and for whichever endpoint', async () => {
    const form = formOf(signed())
    expect(refusal(await ask({ ...form, scope: 'platform.admin' }))).toEqual([400, 'invalid_scope'])
    expect(refusal(await ask(form))).toEqual([401, 'invalid_client'])
    const { client_assertion, client_assertion_type } = formOf(signed())
    const asking = { token: 'x', client_assertion, client_assertion_type }
    expect((await sendForm(live.url, '/oauth2/introspect', asking)).body).toEqual({ active: false })
    expect(refusal(await ask(formOf(client_assertion)))).toEqual([401, 'invalid_client'])
    expect((await sendForm(live.url, '/oauth2/introspect', asking)).status).toBe(401)
  })

  test('TI-17 that is not good is not used up, and leaves no row', async () => {
    const before = await usedProofs()
    const jti = randomUUID()
    const late = { claims: { jti, aud: 'https://other.test' } }
    for (const bad of [signed(late), assertionOf(keyPair(), client.client_id, issuer, { claims: { jti } })])
      expect(refusal(await ask(formOf(bad)))).toEqual([401, 'invalid_client'])
    expect(await usedProofs()).toBe(before)
    expect((await ask(formOf(signed({ claims: { jti } })))).status).toBe(200)
    expect(await usedProofs()).toBe(before + 1)
  })

  test('TI-17 may name its client in the form too, but no other; and the token says which client it was', async () => {
    const issued = await ask({ ...formOf(signed()), client_id: client.client_id })
    expect(issued.status).toBe(200)
    const [row] = await live.sql('select actor_id, credential_id, typ, cnf_jkt from issued_tokens order by issued_at desc, id desc limit 1')
    expect(row).toEqual({ actor_id: client.account_id, credential_id: client.client_id, typ: 'at+jwt', cnf_jkt: null })
    expect(refusal(await ask({ ...formOf(signed()), client_id: randomUUID() }))).toEqual([400, 'invalid_request'])
  })

  test('TI-17 comes alone: with a secret beside it, or half of it, the request is refused', async () => {
    const secret = await machineWithSecret(live)
    const basic = { authorization: `Basic ${Buffer.from(`${secret.key_id}:${secret.client_secret}`).toString('base64')}` }
    const { client_assertion, client_assertion_type, grant_type } = formOf(signed())
    expect(refusal(await ask(formOf(signed()), basic))).toEqual([400, 'invalid_request'])
    expect(refusal(await ask({ ...formOf(signed()), client_id: secret.key_id, client_secret: secret.client_secret }))).toEqual([
      400,
      'invalid_request',
    ])
    expect(refusal(await ask({ grant_type, client_assertion }))).toEqual([400, 'invalid_request'])
    expect(refusal(await ask({ grant_type, client_assertion_type }))).toEqual([400, 'invalid_request'])
    for (const type of ['urn:ietf:params:oauth:client-assertion-type:saml2-bearer', `${assertionType} `])
      expect(refusal(await ask({ ...formOf(signed()), client_assertion_type: type }))).toEqual([401, 'invalid_client'])
    const twice = await fetch(`${live.url}/oauth2/token`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `${new URLSearchParams(formOf(signed()))}&client_assertion=x`,
    })
    expect(twice.status).toBe(400)
    const inQuery = await sendForm(live.url, `/oauth2/token?client_assertion=${signed()}`, formOf(signed()))
    expect(inQuery.status).toBe(400)
  })

  test('TI-11 of a client that has a secret, that is not there or not a client at all is answered alike', async () => {
    const { key_id } = await machineWithSecret(live)
    const pair = keyPair()
    const asked = await Promise.all(
      [key_id, randomUUID(), 'somebody', client.client_id].map((client_id) => ask(formOf(assertionOf(pair, client_id, issuer)))),
    )
    expect(new Set(asked.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
    expect(refusal(asked[0]!)).toEqual([401, 'invalid_client'])
  })

  test('TI-13 of another client, or by another algorithm than its key’s, opens nothing', async () => {
    const other = await machineWithPublicKey(live.sql)
    const cases = [
      assertionOf(other.pair, client.client_id, issuer),
      assertionOf(client.pair, other.client_id, issuer),
      signed({ claims: { iss: other.client_id } }),
      signed({ header: { alg: 'none' } }),
      signed({ header: { alg: 'HS256' } }),
      signed({ header: { jwk: client.pair.jwk } }),
      signed({ claims: { exp: Math.floor(Date.now() / 1000) - 1 } }),
      signed({ claims: { exp: Math.floor(Date.now() / 1000) + 400 } }),
      signed({ claims: { jti: undefined } }),
    ]
    for (const bad of cases) expect(refusal(await ask(formOf(bad)))).toEqual([401, 'invalid_client'])
  })

  test('TI-17 may last as long as policy says', async () => {
    const lasting = (seconds: number) => formOf(signed({ claims: { exp: Math.floor(Date.now() / 1000) + seconds } }))
    expect((await ask(lasting(290))).status).toBe(200)
    await live.setPolicy('auth.client_assertion_max_ttl_seconds', 60)
    expect((await ask(lasting(290))).status).toBe(401)
    expect((await ask(lasting(50))).status).toBe(200)
    await live.setPolicy('auth.client_assertion_max_ttl_seconds', 300)
  })

  test('TI-14 opens nothing when its key is revoked or has ended, or its account is disabled; and its tokens end', async () => {
    const changes = [
      `update service_account_keys set revoked_at = now(), revoked_by = created_by, revoke_reason = 'x' where id = $1`,
      `update service_account_keys set expires_at = now() where id = $1`,
    ]
    for (const change of changes) {
      const { client_id, pair } = await machineWithPublicKey(live.sql)
      const issued = await ask(formOf(assertionOf(pair, client_id, issuer)))
      expect((await meOf(issued.body.access_token)).status).toBe(200)
      await live.sql(change, [client_id])
      expect(refusal(await ask(formOf(assertionOf(pair, client_id, issuer)), {}, bases[1]))).toEqual([401, 'invalid_client'])
      expect((await meOf(issued.body.access_token, bases[2])).status).toBe(401)
    }
  })

  test('TI-25 of a key in whose place another was put opens until the overlap is over, and so does the new one', async () => {
    const { client_id, account_id, pair } = await machineWithPublicKey(live.sql)
    const next = keyPair('RS256')
    const rotated = await live.ask('aldo', rotateServiceAccountKey, {
      params: { project_id: seeded.project.aurora, service_account_id: account_id, key_id: client_id },
      body: { public_jwk: { kty: 'RSA', n: next.jwk.n!, e: next.jwk.e! }, overlap_seconds: 60 },
    })
    expect(rotated.status).toBe(201)
    expect((await ask(formOf(assertionOf(pair, client_id, issuer)))).status).toBe(200)
    expect((await ask(formOf(assertionOf(next, rotated.body.key_id, issuer)))).status).toBe(200)
    // Each key is a client of its own.
    expect((await ask(formOf(assertionOf(next, client_id, issuer)))).status).toBe(401)
  })

  test('AU-01 that is wrong for a known key, or comes again, is recorded without a word of it', async () => {
    const { client_id, account_id, pair } = await machineWithPublicKey(live.sql)
    const jti = `canary-${randomUUID()}`
    const again = assertionOf(pair, client_id, issuer, { claims: { jti } })
    expect((await ask(formOf(again))).status).toBe(200)
    const tries = { wrong_assertion: assertionOf(keyPair(), client_id, issuer, { claims: { jti } }), used_assertion: again }
    for (const [why, assertion] of Object.entries(tries)) {
      expect((await ask(formOf(assertion), { 'x-request-id': why })).status).toBe(401)
      const rows = await live.auditOf(why)
      expect(rows).toMatchObject([
        { action: 'auth.token.deny', result: 'denied', resource_id: account_id, metadata: { why, key_id: client_id } },
      ])
      expect(JSON.stringify(rows)).not.toContain(jti)
    }
  })
})
