import { createProject } from '@gatehouse/contract/projects'
import fc from 'fast-check'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import * as oauth4webapi from 'oauth4webapi'
import * as openid from 'openid-client'
import { describe, expect, test } from 'vitest'
import type { Act } from '#ground/work/work.ts'
import { exchangeGrant, tokenTypes } from '../../../../contract/src/oauth.ts'
import { ada, type Client, dead, exchangesOn, type Fields, refused, said } from '../../../../test/exchange-scene.ts'
import { liveServer, noRateLimits, seeded, serverFixture, tokenIssuer } from '../../../../test/live-server.ts'
import { auroraHome } from '../../../../test/machine-credential.ts'
import { oauthClient, postForm } from '../../../../test/oauth-client.ts'
import { actorsIn } from '../tokens/act.ts'
import { keyPair, type Pair, proofOf } from './testing/signing.ts'

const { org, project, user } = seeded

const live = serverFixture({
  policies: {
    ...noRateLimits,
    'auth.wrong_secret.first_delay_milliseconds': 0,
    'auth.iam_token_issuer.allowed_audiences': ['gpuaas-api', 'gpuaas-storage', 'gpuaas-node'],
  },
})
const { bearing, disable, enable, onAll, opens, other, owner, recorded, rowOf, stranger, swap, swapped, third } = exchangesOn(live)

const revokeKey = ({ client_id }: Client) =>
  live.sql(`update service_account_keys set revoked_at = now(), revoked_by = ${ada}, revoke_reason = 'x' where id = $1`, [client_id])

describe('a token that is exchanged', () => {
  test('TI-17 becomes one of the same account with less scope, which says where it comes from', async () => {
    const subject = await owner.token()
    const answered = await swap(owner, subject, { scope: 'project.read', requested_token_type: tokenTypes.access_token })
    expect(answered.body).toEqual({
      access_token: expect.any(String),
      issued_token_type: tokenTypes.access_token,
      token_type: 'Bearer',
      expires_in: expect.any(Number),
      scope: 'project.read',
    })
    expect(answered.headers.get('cache-control')).toBe('no-store')
    const { access_token } = answered.body
    expect(decodeProtectedHeader(access_token)).toMatchObject({ typ: 'at+jwt' })
    const [before, claims] = [decodeJwt(subject), decodeJwt(access_token)]
    expect(claims).toEqual({
      sub: owner.service_account_id,
      actor_type: 'service_account',
      iss: tokenIssuer.url,
      aud: 'gpuaas-api',
      iat: expect.any(Number),
      exp: claims.iat! + answered.body.expires_in,
      jti: expect.any(String),
      scope: 'project.read',
      ...auroraHome,
      client_id: owner.client_id,
    })
    expect(claims.exp).toBeLessThanOrEqual(before.exp!)
    expect(await rowOf(access_token)).toMatchObject({ parent_id: before.jti, credential_id: owner.client_id, act: null })
    const [event, ...more] = await recorded(answered)
    expect(more).toEqual([])
    expect(event).toMatchObject({ action: 'auth.token.issue', actor_id: owner.service_account_id, metadata: { parent_id: before.jti } })
    expect(await onAll(access_token)).toEqual(['open', 'open'])
    const roles = await bearing(access_token, 'GET', `/api/v1/projects/${auroraHome.project_id}/roles`)
    expect(roles.body.details).toMatchObject({ reason_code: 'scope_mismatch' })
  })

  test('TI-17 by another account of the project stays its subject’s, and says and records who acts', async () => {
    const subject = await owner.token()
    const answered = await swap(other, subject, { scope: 'project.read project.role.read' })
    expect(answered.status, answered.text).toBe(200)
    const { access_token } = answered.body
    const act = { sub: other.service_account_id }
    const claims = decodeJwt(access_token)
    expect(claims).toMatchObject({ sub: owner.service_account_id, client_id: other.client_id, act })
    expect(await rowOf(access_token)).toMatchObject({
      actor_id: owner.service_account_id,
      credential_id: other.client_id,
      parent_id: decodeJwt(subject).jti,
      act,
    })
    expect((await recorded(answered))[0]).toMatchObject({
      action: 'auth.token.issue',
      actor_id: other.service_account_id,
      metadata: {
        actor_id: other.service_account_id,
        requested_actor_id: owner.service_account_id,
        key_id: other.client_id,
        parent_id: decodeJwt(subject).jti,
        act,
      },
    })
    expect(await onAll(access_token)).toEqual(['open', 'open'])
    const told = await owner.introspect({ token: access_token })
    expect(told.body).toMatchObject({ active: true, sub: owner.service_account_id, client_id: other.client_id, act })
    // What is done with it is the subject's doing, and the record names who did it.
    const tried = await bearing(access_token, 'GET', `/api/v1/projects/${project.borealis}`)
    expect(tried.status).toBe(403)
    expect((await recorded(tried))[0]).toMatchObject({ actor_id: owner.service_account_id, metadata: { act } })
  })

  test('TI-17 keeps the whole chain, the latest first', async () => {
    const first = await swapped(other, await owner.token())
    const second = await swapped(third, first)
    const chain = { sub: third.service_account_id, act: { sub: other.service_account_id } }
    expect(decodeJwt(second)).toMatchObject({ sub: owner.service_account_id, act: chain })
    // Who acts already is not named twice; its subject, acting again, is.
    const again = await swapped(third, second)
    expect(decodeJwt(again).act).toEqual(chain)
    const back = await swapped(owner, again)
    expect(decodeJwt(back).act).toEqual({ sub: owner.service_account_id, act: chain })
    expect(await onAll(back)).toEqual(['open', 'open'])
    expect((await owner.introspect({ token: back })).body.act).toEqual({ sub: owner.service_account_id, act: chain })
  })

  test('TI-17 may be one of the endpoint that speaks JSON, and be called a JWT', async () => {
    const { body } = await owner.machine_ask()
    expect((await swap(owner, body.access_token, { subject_token_type: tokenTypes.jwt })).status).toBe(200)
  })

  test('TI-17 whoever acts holds what the subject holds, not what he holds himself, and the other way round', async () => {
    const wide = await swap(other, await owner.token({ scope: 'allocation.create project.read' }))
    expect(wide.body.scope).toBe('allocation.create project.read')
    const narrow = await swap(owner, await other.token())
    expect(narrow.body.scope.split(' ')).not.toContain('allocation.create')
  })
})

describe('it only narrows', () => {
  test('TI-17 what is asked beyond the token is left out, and where nothing is left there is none', async () => {
    const subject = await owner.token({ scope: 'project.read allocation.read' })
    expect((await swap(owner, subject, { scope: 'allocation.create allocation.read' })).body.scope).toBe('allocation.read')
    const nothing = await swap(owner, subject, { scope: 'allocation.create' })
    expect(said(nothing)).toBe('400 invalid_scope')
    expect((await recorded(nothing))[0]).toMatchObject({ action: 'auth.token.deny', result: 'denied', metadata: { why: 'scope' } })
  })

  test('TI-17 what the subject has lost since is not in it, though its token says so', async () => {
    const losing = await oauthClient(live)
    const subject = await losing.token({ scope: 'allocation.create project.read' })
    await live.sql(`update project_role_bindings set deleted_at = now(), delete_reason = 'x' where principal_id = $1`, [
      losing.service_account_id,
    ])
    for (const client of [losing, owner]) expect((await swap(client, subject)).body.scope).toBe('project.read')
  })

  test('TI-17 it ends no later, through any number of hands', async () => {
    const short = (await owner.machine_ask({ ttl_seconds: 30 })).body.access_token
    const [first, second] = [await swapped(other, short), await swapped(third, await swapped(owner, short))]
    for (const token of [first, second]) expect(decodeJwt(token).exp).toBeLessThanOrEqual(decodeJwt(short).exp!)
    const long = await swap(owner, await owner.token())
    expect(long.body.expires_in).toBeLessThanOrEqual(3600)
  })

  test('TI-17 one for us may become one for another, and one for another never one for us or for a third', async () => {
    const subject = await owner.token()
    const storage = await swapped(owner, subject, { audience: 'gpuaas-storage' })
    expect(decodeJwt(storage).aud).toBe('gpuaas-storage')
    expect(await opens(storage)).toBe(dead)
    expect(decodeJwt(await swapped(other, storage)).aud).toBe('gpuaas-storage')
    for (const audience of ['gpuaas-api', 'gpuaas-node', 'nobody'])
      expect(said(await swap(owner, storage, { audience })), audience).toBe('400 invalid_target')
    expect(said(await swap(owner, subject, { resource: 'nobody' }))).toBe('400 invalid_target')
  })

  test('TI-17 every token of a random chain is within all before it', async () => {
    const clients = [owner, other, third]
    const scopes = ['allocation.create', 'allocation.read', 'project.read', 'project.role.read', 'storage.read']
    const step = fc.record(
      {
        by: fc.nat({ max: 2 }),
        scope: fc.subarray(scopes, { minLength: 1 }),
        audience: fc.constantFrom('gpuaas-api', 'gpuaas-storage', 'gpuaas-node'),
      },
      { requiredKeys: ['by'] },
    )
    const outcomes = { issued: 0, refused: 0 }
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 4 }), async (steps) => {
        let token = await owner.token()
        const before = [decodeJwt(token)]
        for (const { by, scope, audience } of steps) {
          const fields = { ...(scope && { scope: scope.join(' ') }), ...(audience && { audience }) }
          const { status, body } = await swap(clients[by]!, token, fields)
          outcomes[status === 200 ? 'issued' : 'refused'] += 1
          if (status !== 200) {
            expect(['invalid_scope', 'invalid_target']).toContain(body.error)
            continue
          }
          token = body.access_token
          const claims = decodeJwt(token)
          for (const each of before) {
            expect(String(each.scope).split(' ')).toEqual(expect.arrayContaining(String(claims.scope).split(' ')))
            expect(claims.exp).toBeLessThanOrEqual(each.exp!)
            expect([claims.sub, claims.org_id, claims.project_id]).toEqual([each.sub, each.org_id, each.project_id])
            if (each.aud !== 'gpuaas-api') expect(claims.aud).toBe(each.aud)
            const [chain, earlier] = [actorsIn(claims.act as Act), actorsIn(each.act as Act)]
            expect(chain.slice(chain.length - earlier.length)).toEqual(earlier)
          }
          before.push(claims)
        }
      }),
      { numRuns: 25 },
    )
    expect(Math.min(outcomes.issued, outcomes.refused)).toBeGreaterThan(0)
  })

  test('TI-17 no more hands than policy allows', async () => {
    let token = await owner.token()
    for (let n = 0; n < 4; n += 1) token = await swapped(n % 2 ? owner : other, token)
    const answered = await swap(owner, token)
    expect(said(answered)).toBe(refused)
    expect((await recorded(answered))[0]).toMatchObject({ metadata: { why: 'subject_token_depth' } })
    await live.setPolicy('auth.token_exchange_max_depth', 8)
    for (let n = 4; n < 8; n += 1) token = await swapped(n % 2 ? owner : other, token)
    expect(await onAll(token)).toEqual(['open', 'open'])
    expect(said(await swap(owner, token))).toBe(refused)
    await live.setPolicy('auth.token_exchange_max_depth', 4)
  })
})

describe('what is not exchanged', () => {
  const forms: [string, Fields][] = [
    ['no subject token', { subject_token: undefined }],
    ['no type of it', { subject_token_type: undefined }],
    ['a type that we do not take', { subject_token_type: 'urn:ietf:params:oauth:token-type:saml2' }],
    ['an id token asked for', { requested_token_type: 'urn:ietf:params:oauth:token-type:id_token' }],
    ['a refresh token asked for', { requested_token_type: 'urn:ietf:params:oauth:token-type:refresh_token' }],
    ['an actor token', { actor_token: 'x', actor_token_type: tokenTypes.jwt }],
    ['only the type of one', { actor_token_type: tokenTypes.jwt }],
  ]
  test.each(forms)('TI-17 a form with %s is an invalid request', async (_what, fields) => {
    const subject = await owner.token()
    const form = Object.fromEntries(
      Object.entries({ subject_token: subject, subject_token_type: tokenTypes.jwt, ...fields }).filter(([, value]) => value !== undefined),
    )
    expect(said(await postForm(live, '/oauth2/token', { ...owner.own, grant_type: exchangeGrant, ...form }))).toBe(refused)
  })

  const others: [string, () => Promise<string>][] = [
    ['of another tenant', () => stranger.token()],
    ['that is none', async () => 'nobodys'],
    ['with another signature', async () => `${(await owner.token()).split('.').slice(0, 2).join('.')}.${'A'.repeat(86)}`],
    ['of a person', () => live.tokenOf('alice')],
    ['that is the secret itself', async () => owner.client_secret],
    [
      'that was given back',
      async () => {
        const token = await owner.token()
        await owner.revoke({ token })
        return token
      },
    ],
    [
      'that is over',
      async () => {
        const token: string = (await owner.machine_ask({ ttl_seconds: 1 })).body.access_token
        await expect.poll(() => opens(token)).toBe('401 token_expired')
        return token
      },
    ],
    [
      'whose key was revoked',
      async () => {
        const ending = await oauthClient(live)
        const token = await ending.token()
        await revokeKey(ending)
        return token
      },
    ],
  ]
  test.each(others)('TI-17 a token %s is refused alike, and recorded', async (_what, made) => {
    const token = await made()
    const answered = await swap(owner, token)
    expect([answered.status, answered.body]).toEqual([
      400,
      { error: 'invalid_request', error_description: 'The subject token cannot be exchanged by this client.' },
    ])
    const [event, ...more] = await recorded(answered)
    expect(more).toEqual([])
    expect(event).toMatchObject({
      action: 'auth.token.deny',
      reason_code: 'subject_token_invalid',
      actor_id: owner.service_account_id,
      tenant_id: org.aurora,
      metadata: { why: 'subject_token', key_id: owner.client_id },
    })
    expect(JSON.stringify(event)).not.toContain(token.slice(-20))
  })

  test('TI-17 a token of another project of the same tenant is not', async () => {
    const made = await live.ask('alice', createProject, {
      params: { org_id: org.aurora },
      body: { name: 'Second', slug: 'second', owner_user_id: user('alice'), reason: 'test' },
    })
    expect(made.status, made.text).toBe(201)
    const elsewhere = await oauthClient(live, { org_id: org.aurora, project_id: made.body.id })
    for (const [client, token] of [
      [elsewhere, await owner.token()],
      [owner, await elsewhere.token()],
    ] as const) {
      const answered = await swap(client, token)
      expect(said(answered)).toBe(refused)
      expect((await recorded(answered))[0]).toMatchObject({ metadata: { why: 'subject_token' } })
    }
    expect((await swap(elsewhere, await elsewhere.token())).status).toBe(200)
  })

  test('TI-17 a client that is not who it says exchanges nothing, not even its own', async () => {
    const subject = await owner.token()
    expect(said(await swap(owner, subject, { client_secret: 'wrong' }))).toBe('401 invalid_client')
    expect(said(await postForm(live, '/oauth2/token', { grant_type: exchangeGrant, subject_token: subject }))).toBe('401 invalid_client')
  })

  test('TI-17 the token of a disabled account is not, while it is disabled', async () => {
    const one = await oauthClient(live)
    const subject = await one.token()
    await disable(one)
    const answered = await swap(owner, subject)
    expect(said(answered)).toBe(refused)
    expect((await recorded(answered))[0]).toMatchObject({
      action: 'auth.token.deny',
      metadata: { requested_actor_id: one.service_account_id },
    })
    await enable(one)
    expect((await swap(owner, subject)).status).toBe(200)
  })

  test('TI-18 a subject token in the query is refused before it is looked at', async () => {
    const { status, body } = await postForm(live, `/oauth2/token?subject_token=x`, { ...owner.own, grant_type: exchangeGrant })
    expect([status, body.error]).toEqual([400, 'invalid_request'])
  })

  test('TI-19 an idempotency key is good for one exchange of one token', async () => {
    const [one, two] = [await owner.token(), await owner.token()]
    const key = { 'idempotency-key': 'exchange' }
    expect((await swap(owner, one, {}, key)).status).toBe(200)
    expect((await swap(owner, one, {}, key)).status).toBe(409)
    expect((await swap(owner, two, {}, key)).status).toBe(422)
  })
})

describe('a bound token', () => {
  const at = `${tokenIssuer.url}/oauth2/token`
  const proof = (pair: Pair) => ({ dpop: proofOf(pair, { method: 'POST', url: at }) })
  const bound = async (pair: Pair): Promise<string> => (await owner.ask({}, proof(pair))).body.access_token

  test('TI-17 is exchanged by whoever proves to hold its key, and so is bound what comes of it', async () => {
    const pair = keyPair()
    const subject = await bound(pair)
    const answered = await swap(owner, subject, {}, proof(pair))
    expect([answered.status, answered.body.token_type]).toEqual([200, 'DPoP'])
    expect(decodeJwt(answered.body.access_token).cnf).toEqual(decodeJwt(subject).cnf)
    expect(await opens(answered.body.access_token)).toBe('401 proof_invalid')
  })

  test('TI-17 is not exchanged without a proof, nor with one of another key, nor with one that was used', async () => {
    const pair = keyPair()
    const subject = await bound(pair)
    const without = await swap(owner, subject)
    expect(said(without)).toBe('400 invalid_dpop_proof')
    expect((await recorded(without))[0]).toMatchObject({ action: 'auth.token.deny', metadata: { why: 'subject_token_holder' } })
    expect(said(await swap(owner, subject, {}, proof(keyPair())))).toBe('400 invalid_dpop_proof')
    const once = proof(pair)
    expect((await swap(owner, subject, {}, once)).status).toBe(200)
    expect(said(await swap(owner, subject, {}, once))).toBe('400 invalid_dpop_proof')
  })

  test('TI-17 comes of one that is not bound where a proof is brought', async () => {
    const answered = await swap(other, await owner.token(), {}, proof(keyPair()))
    expect([answered.status, answered.body.token_type]).toEqual([200, 'DPoP'])
  })
})

describe('stock clients, unmodified', () => {
  test('TI-17 openid-client and oauth4webapi exchange a token', async () => {
    const own = await liveServer({}, {}, { is_own_issuer: true })
    try {
      const { client_id, client_secret, token, service_account_id } = await oauthClient(own)
      const fields = { subject_token: await token(), subject_token_type: tokenTypes.access_token, scope: 'project.read' }

      const config = await openid.discovery(new URL(own.url), client_id, client_secret, openid.ClientSecretBasic(client_secret), {
        execute: [openid.allowInsecureRequests],
        algorithm: 'oauth2',
      })
      expect(config.serverMetadata().grant_types_supported).toContain(exchangeGrant)
      const first = await openid.genericGrantRequest(config, exchangeGrant, fields)
      expect(first).toMatchObject({ scope: 'project.read', issued_token_type: tokenTypes.access_token })

      const as = { issuer: own.url, token_endpoint: `${own.url}/oauth2/token` }
      const response = await oauth4webapi.genericTokenEndpointRequest(
        as,
        { client_id },
        oauth4webapi.ClientSecretPost(client_secret),
        exchangeGrant,
        fields,
        { [oauth4webapi.allowInsecureRequests]: true },
      )
      const second = await oauth4webapi.processGenericTokenEndpointResponse(as, { client_id }, response)
      expect(decodeJwt(second.access_token)).toMatchObject({ sub: service_account_id, scope: 'project.read' })
    } finally {
      await own.stop()
    }
  })
})
