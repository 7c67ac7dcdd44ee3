import fc from 'fast-check'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import * as oauth4webapi from 'oauth4webapi'
import * as openid from 'openid-client'
import { describe, expect, test } from 'vitest'
import { exchangeGrant, tokenTypes } from '../../../contract/src/oauth.ts'
import { deafDatabase } from '../../../test/deaf-database.ts'
import { fixture } from '../../../test/fixture.ts'
import { type Answered, liveServer, noRateLimits, seeded, serverFixture, testKeys, tokenIssuer } from '../../../test/live-server.ts'
import { auroraHome } from '../../../test/machine-credential.ts'
import { oauthClient, postForm } from '../../../test/oauth-client.ts'
import { parseKeyRing } from '../custody/key-ring.ts'
import { keySetSource } from '../keys/key-set.ts'
import { createSigner } from '../keys/signer.ts'
import { actorsIn } from '../tokens/act.ts'
import type { IssuerParts } from '../tokens/issue-token.ts'
import { gateAndIssuer } from '../tokens/issuing.ts'
import type { Act } from '../work/work.ts'
import { holding } from './holder.ts'
import { oauthWith } from './oauth-routes.ts'
import { keyPair, type Pair, proofOf } from './testing/signing.ts'
import { proofUsing } from './used-proofs.ts'

type Client = Awaited<ReturnType<typeof oauthClient>>
const { org, project, user } = seeded

const live = serverFixture({
  policies: {
    ...noRateLimits,
    'auth.wrong_secret.first_delay_milliseconds': 0,
    'auth.iam_token_issuer.allowed_audiences': ['gpuaas-api', 'gpuaas-storage', 'gpuaas-node'],
  },
})
const replica = fixture(() => live.replica())
const owner = fixture(() => oauthClient(live))
const other = fixture(() => oauthClient(live, auroraHome, 'project_viewer'))
const third = fixture(() => oauthClient(live))
const stranger = fixture(() => oauthClient(live, { org_id: org.borealis, project_id: project.borealis }))

type Fields = Readonly<Record<string, unknown>>
const swap = (client: Client, subject_token: string, fields: Fields = {}, headers: Record<string, string> = {}, base?: string) =>
  postForm(
    live,
    '/oauth2/token',
    { ...client.own, grant_type: exchangeGrant, subject_token, subject_token_type: tokenTypes.access_token, ...fields },
    headers,
    base,
  )
const swapped = async (...asked: Parameters<typeof swap>): Promise<string> => {
  const { status, text, body } = await swap(...asked)
  if (status !== 200) throw new Error(`nothing was exchanged: ${status} ${text}`)
  return body.access_token
}
const said = ({ status, body }: Answered) => `${status} ${body.error}`
const refused = '400 invalid_request'
const recorded = ({ headers }: Answered) => live.auditOf(headers.get('x-request-id')!)
const rowOf = async (token: string) => (await live.sql('select * from issued_tokens where id = $1', [decodeJwt(token).jti]))[0]!

const bearing = (token: string, method: string, path: string, body?: unknown, base?: string) =>
  live.call(null, method, path, { headers: { authorization: `Bearer ${token}` }, ...(body === undefined ? {} : { body }) }, base)
const opens = async (token: string, base?: string): Promise<string> => {
  const { status, body } = await bearing(token, 'GET', `/api/v1/projects/${auroraHome.project_id}`, undefined, base)
  return status === 200 ? 'open' : `${status} ${body.details?.reason_code ?? body.code}`
}
const onAll = (token: string) => Promise.all([live, replica].map(({ url }) => opens(token, url)))
const dead = '401 token_invalid'

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
    expect(roles.body.details).toEqual({ reason_code: 'scope_mismatch' })
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
        await expect.poll(() => opens(token), { timeout: 4000 }).toBe('401 token_expired')
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
    const made = await live.call('alice', 'POST', `/api/v1/orgs/${org.aurora}/projects`, {
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

const ada = `'${seeded.user('ada')}'`
const revokeKey = ({ client_id }: Client) =>
  live.sql(`update service_account_keys set revoked_at = now(), revoked_by = ${ada}, revoke_reason = 'x' where id = $1`, [client_id])
const disable = ({ service_account_id: id }: Client) =>
  live.sql(
    `update service_accounts set state = 'disabled', disabled_at = now(), disabled_by = ${ada}, disable_reason = 'x' where id = $1`,
    [id],
  )
const enable = ({ service_account_id: id }: Client) =>
  live.sql(`update service_accounts set state = 'active', disabled_at = null, disabled_by = null, disable_reason = null where id = $1`, [
    id,
  ])
const remove = ({ service_account_id: id }: Client) =>
  live.sql(`update service_accounts set state = 'deleted', deleted_at = now(), deleted_by = ${ada}, delete_reason = 'x' where id = $1`, [
    id,
  ])
const revoke = async (body: object) => {
  const answered = await live.call('ada', 'POST', '/api/v1/auth/tokens/revoke', { body })
  expect(answered.status, answered.text).toBe(200)
}

describe('it ends with what it comes from', () => {
  interface Line {
    readonly subject: Client
    readonly middle: Client
    readonly last: Client
    readonly tokens: readonly [root: string, middle: string, last: string]
  }
  const jti = (token: string) => decodeJwt(token).jti
  const actor = ({ service_account_id: id }: Client) => ({ actor: { type: 'service_account', id } })
  const ends: [string, (line: Line) => Promise<unknown>][] = [
    ['the first token is revoked', ({ tokens }) => revoke({ token_id: jti(tokens[0]) })],
    ['the one between is revoked', ({ tokens }) => revoke({ token_id: jti(tokens[1]) })],
    ['the first is given back by its owner', ({ subject, tokens }) => subject.revoke({ token: tokens[0] })],
    ['the one between is given back by who acts', ({ middle, tokens }) => middle.revoke({ token: tokens[1] })],
    ['the key of the subject is revoked', ({ subject }) => revokeKey(subject)],
    ['the key of who acted before is revoked', ({ middle }) => revokeKey(middle)],
    ['the key of who acts is revoked', ({ last }) => revokeKey(last)],
    ['what was issued for the key of the subject is', ({ subject }) => revoke({ credential_id: subject.client_id })],
    ['what was issued for the key of who acted before is', ({ middle }) => revoke({ credential_id: middle.client_id })],
    ['what was issued for the key of who acts is', ({ last }) => revoke({ credential_id: last.client_id })],
    ['what was issued to the subject is', ({ subject }) => revoke(actor(subject))],
    ['what was issued to who acted before is', ({ middle }) => revoke(actor(middle))],
    ['what was issued to who acts is', ({ last }) => revoke(actor(last))],
    ['the subject is deleted', ({ subject }) => remove(subject)],
    ['who acted before is deleted', ({ middle }) => remove(middle)],
    ['who acts is deleted', ({ last }) => remove(last)],
    ['who acted before is disabled', ({ middle }) => disable(middle)],
    ['who acts is disabled', ({ last }) => disable(last)],
    [
      'the key of the subject expires',
      ({ subject }) => live.sql('update service_account_keys set expires_at = now() where id = $1', [subject.client_id]),
    ],
    [
      'the key of who acted before expires',
      ({ middle }) => live.sql('update service_account_keys set expires_at = now() where id = $1', [middle.client_id]),
    ],
  ]
  test.each(ends)('TI-16 TI-17 %s: the next request on every process is 401', async (_what, end) => {
    const [subject, middle, last] = [await oauthClient(live), await oauthClient(live), await oauthClient(live)]
    const root = await subject.token()
    const between = await swapped(middle, root)
    const token = await swapped(last, between)
    expect(await onAll(token)).toEqual(['open', 'open'])
    await end({ subject, middle, last, tokens: [root, between, token] })
    expect(await onAll(token)).toEqual([dead, dead])
    expect((await owner.introspect({ token })).body).toEqual({ active: false })
    expect(said(await swap(owner, token))).toBe(refused)
    const listed = await live.call('ada', 'GET', `/api/v1/projects/${auroraHome.project_id}/tokens?limit=20`)
    expect(listed.body.items.find(({ id }: { id: string }) => id === jti(token))).toMatchObject({
      state: 'ended',
      parent_id: jti(between),
      actor_id: subject.service_account_id,
      acting_id: last.service_account_id,
    })
  })

  test('TI-16 TI-17 it ends when the key of an earlier one does, by the clock alone', async () => {
    const [subject, last] = [await oauthClient(live), await oauthClient(live)]
    const token = await swapped(last, await subject.token())
    await live.sql(`update service_account_keys set expires_at = now() + interval '700 ms' where id = $1`, [subject.client_id])
    expect(await opens(token)).toBe('open')
    await expect.poll(() => opens(token), { timeout: 4000 }).toBe(dead)
  })

  test('TI-13 TI-17 it ends when the key is revoked that an earlier one was signed with', async () => {
    const subject = await owner.token()
    const token = await swapped(other, subject)
    const [{ kid }] = (await live.sql<{ kid: string }>('select kid from signing_keys where state = $1', ['active'])) as [{ kid: string }]
    await live.sql(
      `insert into signing_keys (kid, alg, public_jwk, custody, envelope, state, created_at, activated_at, ended_at, end_reason)
       select 'key-that-is-gone', alg, public_jwk, custody, envelope, 'revoked', now(), now(), now(), 'x' from signing_keys where kid = $1`,
      [kid],
    )
    expect(await opens(token)).toBe('open')
    await live.sql(`update issued_tokens set kid = 'key-that-is-gone' where id = $1`, [jti(subject)])
    expect(await onAll(token)).toEqual([dead, dead])
  })

  test('TI-15 TI-17 its subject is disabled: 403 actor_disabled, as with any token of its', async () => {
    const one = await oauthClient(live)
    const token = await swapped(other, await one.token())
    await disable(one)
    expect(await onAll(token)).toEqual(['403 actor_disabled', '403 actor_disabled'])
    await enable(one)
    expect(await onAll(token)).toEqual(['open', 'open'])
  })

  test('TI-16 TI-17 what ends a later one does not end the earlier', async () => {
    const [subject, last] = [await oauthClient(live), await oauthClient(live)]
    const root = await subject.token()
    const token = await swapped(last, root)
    await revokeKey(last)
    await revoke({ token_id: jti(token) })
    expect([await opens(root), await opens(token)]).toEqual(['open', dead])
  })

  test('TI-17 whoever was given it to act may give it back, and nobody else', async () => {
    const token = await swapped(other, await owner.token())
    await third.revoke({ token })
    expect(await opens(token)).toBe('open')
    await other.revoke({ token })
    expect(await opens(token)).toBe(dead)
  })

  test.each([
    ['another who acts', `act = jsonb_build_object('sub', '00000000-0000-7000-8000-000000000001')`],
    ['nobody who acts', 'act = null'],
    ['a longer chain', `act = jsonb_build_object('sub', act ->> 'sub', 'act', act)`],
  ])('TI-15 TI-17 whose record says something else is 401: %s', async (_what, changed) => {
    const token = await swapped(other, await owner.token())
    await live.sql(`update issued_tokens set ${changed} where id = $1`, [jti(token)])
    expect(await onAll(token)).toEqual([dead, dead])
  })

  test('TI-16 TI-17 a line that goes in a circle, or on and on, is a dead one and costs no more than any', async () => {
    const subject = await owner.token()
    const token = await swapped(other, subject)
    await live.sql('update issued_tokens set parent_id = $2 where id = $1', [jti(subject), jti(token)])
    expect(await onAll(token)).toEqual([dead, dead])
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

describe('what changes while it is being exchanged', () => {
  const ring = parseKeyRing(testKeys)
  const sign = createSigner({ ring, transit: null })
  /** One more server whose signer does something first, and whose parts may be others. */
  const serving = (before: () => Promise<unknown>, changed: Partial<IssuerParts> = {}) =>
    live.replica((parts) => {
      const keys = {
        want: keySetSource(ring),
        sign: async (...asked: Parameters<typeof sign>) => {
          await before()
          return sign(...asked)
        },
      }
      const own: IssuerParts = { ...parts, keys, issuer: tokenIssuer, ...changed }
      const useProof = proofUsing(own.database)
      const holders = holding(useProof, tokenIssuer.url)
      const routes = oauthWith({ ...own, ...gateAndIssuer(own), useProof, holders, identify: parts.identify }).routes
      return {
        ...parts,
        answers: parts.answers.map((each) => routes.find(({ operation }) => operation.id === each.operation.id) ?? each),
      }
    })
  const childrenOf = (token: string) => live.sql('select id from issued_tokens where parent_id = $1', [decodeJwt(token).jti])
  const giveBack = (token: string) =>
    live.sql(`update issued_tokens set revoked_at = now(), revoked_by = actor_id, revoke_reason = 'x' where id = $1`, [
      decodeJwt(token).jti,
    ])

  const changes: [string, (subject: Client, token: string) => Promise<unknown>][] = [
    ['its token is revoked', (_subject, token) => giveBack(token)],
    ['the key of its subject is revoked', (subject) => revokeKey(subject)],
    ['its subject is deleted', (subject) => remove(subject)],
    ['its subject is disabled', (subject) => disable(subject)],
  ]
  test.each(changes)('TI-16 TI-17 %s meanwhile: nothing is issued, with an idempotency key or without', async (_what, change) => {
    for (const headers of [{}, { 'idempotency-key': 'meanwhile' }]) {
      const [subject, client] = [await oauthClient(live), await oauthClient(live)]
      const token = await subject.token()
      const { url } = await serving(() => change(subject, token))
      expect(said(await swap(client, token, {}, headers, url))).toBe(refused)
      expect(await childrenOf(token)).toEqual([])
    }
  })

  test('TI-16 TI-17 the control: a server that does not ask again issues one, and it is dead all the same', async () => {
    const [subject, client] = [await oauthClient(live), await oauthClient(live)]
    const token = await subject.token()
    const { url } = await serving(() => giveBack(token), { database: await deafDatabase(live) })
    const answered = await swap(client, token, {}, {}, url)
    expect(answered.status, answered.text).toBe(200)
    expect(await onAll(answered.body.access_token)).toEqual([dead, dead])
  })

  test('TI-16 TI-17 given back by its owner while twenty exchange it on two servers: nothing that comes of it is left', async () => {
    const [subject, client] = [await oauthClient(live), await oauthClient(live)]
    const token = await subject.token()
    const asking = Array.from({ length: 20 }, (_, n) => swap(client, token, {}, {}, [live, replica][n % 2]!.url))
    const given = subject.revoke({ token })
    const answers = await Promise.all(asking)
    expect((await given).status).toBe(200)
    for (const { status, body } of answers)
      if (status === 200) expect(await onAll(body.access_token)).toEqual([dead, dead])
      else expect([status, body.error]).toEqual([400, 'invalid_request'])
    expect(said(await swap(client, token))).toBe(refused)
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
