import { request } from 'node:http'
import { readMyPermissions } from '@gatehouse/contract/decisions'
import { proofAlgorithms } from '@gatehouse/contract/proofs'
import {
  deleteServiceAccount,
  disableServiceAccount,
  enableServiceAccount,
  revokeServiceAccountKey,
} from '@gatehouse/contract/service-accounts'
import { revokeTokens } from '@gatehouse/contract/tokens'
import { decodeJwt } from 'jose'
import { beforeEach, describe, expect, test } from 'vitest'
import { seeded, serverFixture, tokenIssuer } from '../../../../test/live-server.ts'
import { machineOn } from '../../../../test/machine.ts'
import { auroraHome } from '../../../../test/machine-credential.ts'
import { basic, formType, oauthClient, postForm } from '../../../../test/oauth-client.ts'
import { keyPair, proofOf } from './testing/signing.ts'

let client: Awaited<ReturnType<typeof oauthClient>>
const live = serverFixture({ policies: { 'auth.wrong_secret.first_delay_milliseconds': 0 } })
beforeEach(async () => {
  client = await oauthClient(live)
})

const borealisHome = { org_id: seeded.org.borealis, project_id: seeded.project.borealis }
const path = '/oauth2/introspect'
const inactive = '{"active":false}'

describe('a token that counts', () => {
  test('TI-17 RFC 7662 is told with what it says, to a client by its secret or by a token of its own', async () => {
    const token = await client.token({ scope: 'project.read' })
    const { iat, exp, jti } = decodeJwt(token)
    const expected = {
      active: true,
      scope: 'project.read',
      client_id: client.client_id,
      token_type: 'Bearer',
      exp,
      iat,
      sub: client.service_account_id,
      aud: 'gpuaas-api',
      iss: tokenIssuer.url,
      jti,
      actor_type: 'service_account',
      ...auroraHome,
    }
    const another = await oauthClient(live)
    for (const answered of [
      await client.introspect({ token }),
      await another.introspect({ token, token_type_hint: 'refresh_token' }),
      await postForm(live, path, { token }, { authorization: `Bearer ${await another.token({ scope: 'allocation.read' })}` }),
    ]) {
      expect([answered.status, answered.body]).toEqual([200, expected])
      expect(answered.headers.get('cache-control')).toBe('no-store')
      expect(await live.auditOf(answered.headers.get('x-request-id')!)).toEqual([])
    }
  })

  test('TI-17 also one of the endpoint that speaks JSON, and one for another audience: whoever asks may be that audience', async () => {
    const { body } = await client.machine_ask()
    expect((await client.introspect({ token: body.access_token })).body).toMatchObject({ active: true, client_id: client.client_id })
    const [audiences] = await live.sql<{ value: string[] }>(
      `select value from policy_values where key = 'auth.iam_token_issuer.allowed_audiences' and replaced_at is null`,
    )
    await live.setPolicy('auth.iam_token_issuer.allowed_audiences', [...audiences!.value, 'object-store'])
    const token = await client.token({ audience: 'object-store' })
    expect((await client.introspect({ token })).body).toMatchObject({ active: true, aud: 'object-store' })
    // Which does not make it one for us.
    expect((await live.ask(null, readMyPermissions, { headers: { authorization: `Bearer ${token}` } })).status).toBe(401)
  })
})

describe('anything else', () => {
  const past = Math.floor(Date.now() / 1000) - 3600
  test('TI-17 a token of another tenant is not active, and nothing else is said', async () => {
    const stranger = await oauthClient(live, borealisHome)
    const [theirs, own] = [await stranger.token(), await client.token()]
    expect((await client.introspect({ token: theirs })).text).toBe(inactive)
    expect((await stranger.introspect({ token: own })).text).toBe(inactive)
    expect((await stranger.introspect({ token: theirs })).body.active).toBe(true)
  })

  test.for<[string, (token: string) => string | Promise<string>]>([
    ['a text', () => 'nothing'],
    ['a token without its signature', (token) => token.slice(0, token.lastIndexOf('.') + 1)],
    ['a token with another signature', (token) => `${token.slice(0, -4)}AAAA`],
    ['a token with a space behind it', (token) => `${token} `],
    [
      'a token that says more',
      (token) => {
        const [header, , signature] = token.split('.')
        return [header, btoa(JSON.stringify({ ...decodeJwt(token), scope: 'platform.admin' })).replaceAll('=', ''), signature].join('.')
      },
    ],
    ['a token of nobody’s algorithm', (token) => `${btoa('{"alg":"none","typ":"at+jwt"}').replaceAll('=', '')}.${token.split('.')[1]}.`],
    ['a person’s token', () => live.tokenOf('ada')],
    ['a secret', () => client.client_secret],
  ])('TI-17 RFC 7662 %s is not active', async ([, changed]) => {
    expect(await client.introspect({ token: await changed(await client.token()) })).toMatchObject({ status: 200, text: inactive })
  })

  test.for<[string, Parameters<Awaited<ReturnType<typeof machineOn>>['mint']>[0]]>([
    ['that was never issued', { is_recorded: false }],
    [
      'that has expired',
      { claims: { iat: past, exp: past + 60 }, row: { issued_at: `to_timestamp(${past})`, expires_at: `to_timestamp(${past + 60})` } },
    ],
    ['of another issuer', { claims: { iss: 'https://other.example' } }],
    ['of another type than recorded', { header: { typ: 'at+jwt' } }],
    [
      'that names another client',
      { header: { typ: 'at+jwt' }, claims: { client_id: '01890000-0000-7000-8000-000000000000' }, row: { typ: `'at+jwt'` } },
    ],
    ['that says less than its type', { header: { typ: 'at+jwt' }, row: { typ: `'at+jwt'` } }],
    ['with a claim too many', { claims: { admin: true } }],
  ])('TI-15 TI-17 a token %s is not active, though it is signed well', async ([, minted]) => {
    const machine = await machineOn(live.sql, auroraHome)
    expect((await client.introspect({ token: (await machine.mint({})).token })).body.active).toBe(true)
    expect((await client.introspect({ token: (await machine.mint(minted)).token })).text).toBe(inactive)
  })

  const ends: [string, (of: { client_id: string; service_account_id: string; jti: string }) => Promise<unknown>][] = [
    ['revoked', ({ jti }) => live.ask('amara', revokeTokens, { body: { token_id: jti } })],
    ['cut off with its key', ({ client_id }) => live.ask('amara', revokeTokens, { body: { credential_id: client_id } })],
    [
      'of a disabled account',
      ({ service_account_id }) =>
        live.ask('aldo', disableServiceAccount, {
          params: { project_id: auroraHome.project_id, service_account_id },
          body: { reason: 'r' },
        }),
    ],
    [
      'of a deleted account',
      ({ service_account_id }) =>
        live.ask('aldo', deleteServiceAccount, {
          params: { project_id: auroraHome.project_id, service_account_id },
          body: { reason: 'r' },
        }),
    ],
  ]
  test.for(ends)('TI-16 TI-17 one that was %s is not active with the very next question, on every process', async ([, end]) => {
    const other = await live.replica()
    const asker = await oauthClient(live)
    const token = await client.token()
    for (const base of [live.url, other.url]) expect((await asker.introspect({ token }, {}, base)).body.active).toBe(true)
    const ended = (await end({ ...client, jti: decodeJwt(token).jti! })) as { status: number; text: string }
    expect(ended.status, ended.text).toBeLessThan(300)
    for (const base of [live.url, other.url]) expect((await asker.introspect({ token }, {}, base)).text).toBe(inactive)
  })
})

describe('who may ask', () => {
  test('TI-17 nobody without saying who he is, in one way', async () => {
    const token = await client.token()
    const bearer = { authorization: `Bearer ${token}` }
    expect(await postForm(live, path, { token })).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
    expect(await client.introspect({ token, client_secret: 'wrong' })).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
    expect(await client.introspect({ token }, bearer)).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    const [revoked] = [await client.token()]
    await client.revoke({ token: revoked })
    const refused = await postForm(live, path, { token }, { authorization: `Bearer ${revoked}` })
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, 'Bearer error="invalid_token"'])
  })

  test.for(['/oauth2/introspect', '/oauth2/revoke'])(
    'TI-17 RFC 9449 RFC 6750 a token that is shown at %s is refused as at any resource',
    async (at) => {
      const [token, pair] = [await client.token(), keyPair()]
      const tokenUrl = `${tokenIssuer.url}/oauth2/token`
      const bound = (await client.ask({}, { dpop: proofOf(pair, { method: 'POST', url: tokenUrl }) })).body.access_token
      const proof = (of = pair, for_token = bound) => proofOf(of, { method: 'POST', url: `${tokenIssuer.url}${at}`, token: for_token })
      const refused = async (headers: Record<string, string>) => {
        const answer = await postForm(live, at, { token }, headers)
        return [answer.status, answer.body.error, answer.headers.get('www-authenticate')]
      }
      const asksForProof = (error: string) => [401, error, `DPoP error="${error}", algs="${proofAlgorithms.join(' ')}"`]
      const unproved = asksForProof('invalid_dpop_proof')
      expect(await refused({ authorization: `Bearer ${bound}` })).toEqual(unproved)
      expect(await refused({ authorization: `DPoP ${bound}` })).toEqual(unproved)
      expect(await refused({ authorization: `DPoP ${bound}`, dpop: proof(keyPair()) })).toEqual(unproved)
      const none = [401, 'invalid_token', 'Bearer error="invalid_token"']
      for (const bad of ['abc', 'a b', `${token}x`]) expect(await refused({ authorization: `Bearer ${bad}` })).toEqual(none)
      expect(await refused({ authorization: 'DPoP abc', dpop: proof() })).toEqual(asksForProof('invalid_token'))
      const good = await postForm(live, at, { token: 'x' }, { authorization: `DPoP ${bound}`, dpop: proof() })
      expect(good.status).toBe(200)
    },
  )

  test('TI-15 TI-17 a second spelling of a token, or of a secret, is neither', async () => {
    let token = await client.token()
    while (!token.includes('K')) token = await client.token()
    expect((await client.introspect({ token })).body.active).toBe(true)
    expect((await client.introspect({ token: token.replace('K', '\u212a') })).text).toBe(inactive)
    let other = client
    while (!other.client_secret.includes('K')) other = await oauthClient(live)
    const spelled = { client_secret: other.client_secret.replace('K', '\u212a') }
    expect((await other.introspect({ token, ...spelled })).status).toBe(401)
  })

  test('TI-17 T7 of two headers that say who asks neither is meant', async () => {
    const token = await client.token()
    const sent = (path: string, method: string, lines: string[]) =>
      new Promise<number>((resolve, reject) => {
        const { hostname, port } = new URL(live.url)
        const headers = ['host', 'x', 'content-type', formType, ...lines.flatMap((line) => ['Authorization', line])]
        const asked = request({ hostname, port, path, method, headers: headers as never }, (answer) => {
          answer.resume()
          resolve(answer.statusCode!)
        })
        asked.on('error', reject).end(method === 'POST' ? `token=${token}` : '')
      })
    const [own, other] = [basic(client.client_id, client.client_secret).authorization, basic('x', 'y').authorization]
    expect(await sent(path, 'POST', [own])).toBe(200)
    expect(await sent(path, 'POST', [own, other])).toBe(400)
    expect(await sent(path, 'POST', [own, own])).toBe(400)
    const api = '/api/v1/me/permissions'
    expect(await sent(api, 'GET', [`Bearer ${token}`])).toBe(200)
    expect(await sent(api, 'GET', [`Bearer ${token}`, `Bearer ${await live.tokenOf('ada')}`])).toBe(400)
  })

  test('TI-17 no person, whatever his role; it is recorded that he tried', async () => {
    const token = await client.token()
    const refused = await postForm(live, path, { token }, { authorization: `Bearer ${await live.tokenOf('ada')}` })
    expect(refused).toMatchObject({ status: 400, body: { error: 'unauthorized_client' } })
    expect(await live.auditOf(refused.headers.get('x-request-id')!)).toMatchObject([
      { action: 'oauth.token.introspect', result: 'denied', actor_id: seeded.user('ada') },
    ])
  })

  test('TI-17 a client whose key was revoked, or whose account was disabled, asks nothing any more', async () => {
    const token = await client.token()
    const asker = await oauthClient(live)
    expect((await asker.introspect({ token })).body.active).toBe(true)
    await live.ask('aldo', disableServiceAccount, {
      params: { project_id: auroraHome.project_id, service_account_id: asker.service_account_id },
      body: { reason: 'r' },
    })
    expect((await asker.introspect({ token })).status).toBe(401)
    await live.ask('aldo', enableServiceAccount, {
      params: { project_id: auroraHome.project_id, service_account_id: asker.service_account_id },
      body: { reason: 'r' },
    })
    expect((await asker.introspect({ token })).body.active).toBe(true)
    await live.ask('aldo', revokeServiceAccountKey, {
      params: { project_id: auroraHome.project_id, service_account_id: asker.service_account_id, key_id: asker.key_id },
      body: { reason: 'r' },
    })
    expect((await asker.introspect({ token })).status).toBe(401)
  })

  test('TI-17 without a token, with two or in the address there is nothing to look at', async () => {
    const refused = { status: 400, body: { error: 'invalid_request' } }
    expect(await client.introspect()).toMatchObject(refused)
    expect(await client.introspect({ token: 'a'.repeat(10_000) })).toMatchObject(refused)
    expect(await postForm(live, path, `${new URLSearchParams(client.own)}&token=a&token=b`)).toMatchObject(refused)
    expect(await postForm(live, `${path}?token=${await client.token()}`, client.own)).toMatchObject(refused)
    expect((await live.call(null, 'GET', path)).status).toBe(405)
  })
})
