import { createProjectConstraint, deleteProjectConstraint } from '@gatehouse/contract/constraints'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { describe, expect, test } from 'vitest'
import { type Answered, noRateLimits, seeded, serverFixture, tokenIssuer } from '../../../../test/live-server.ts'
import { auroraHome } from '../../../../test/machine-credential.ts'
import { basic, formType, oauthClient, postForm } from '../../../../test/oauth-client.ts'
import { newSecret } from '../service-accounts/credential.ts'

const live = serverFixture({ policies: { ...noRateLimits, 'auth.wrong_secret.first_delay_milliseconds': 0 } })

const grant = { grant_type: 'client_credentials' }
const path = '/oauth2/token'
const recorded = ({ headers }: Answered) => live.auditOf(headers.get('x-request-id')!)
const tokens = async () => (await live.sql<{ n: number }>('select count(*)::int as n from issued_tokens'))[0]!.n

describe('a client that asks for itself', () => {
  test('TI-17 TI-22 gets an access token of RFC 9068, and the row and the record of the other endpoint', async () => {
    const client = await oauthClient(live)
    const answered = await client.ask({ scope: 'allocation.read project.read' })
    expect(answered.status).toBe(200)
    expect(answered.body).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'allocation.read project.read',
    })
    const { access_token } = answered.body
    expect(decodeProtectedHeader(access_token)).toEqual({ alg: 'ES256', kid: expect.any(String), typ: 'at+jwt' })
    const claims = decodeJwt(access_token)
    expect(claims).toEqual({
      sub: client.service_account_id,
      actor_type: 'service_account',
      iss: tokenIssuer.url,
      aud: 'gpuaas-api',
      iat: expect.any(Number),
      exp: claims.iat! + 3600,
      jti: expect.any(String),
      scope: 'allocation.read project.read',
      ...auroraHome,
      client_id: client.client_id,
    })
    expect(await live.sql('select typ, credential_id, actor_id, scope from issued_tokens where id = $1', [claims.jti])).toEqual([
      { typ: 'at+jwt', credential_id: client.client_id, actor_id: client.service_account_id, scope: ['allocation.read', 'project.read'] },
    ])
    const [event, ...more] = await recorded(answered)
    expect(more).toEqual([])
    const byOther = await client.machine_ask({ scope: 'allocation.read project.read' })
    const [known] = await recorded(byOther)
    expect(Object.keys(event!.metadata as object).sort()).toEqual(Object.keys(known!.metadata as object).sort())
    expect(event).toMatchObject({
      action: 'auth.token.issue',
      result: 'success',
      actor_type: 'service_account',
      actor_id: client.service_account_id,
      tenant_id: auroraHome.org_id,
      project_id: auroraHome.project_id,
      resource_id: claims.jti,
      metadata: { key_id: client.client_id, audience: 'gpuaas-api', scope: 'allocation.read project.read' },
    })
  })

  test('TI-17 its token opens the API as the account, within its scope', async () => {
    const client = await oauthClient(live)
    const authorization = `Bearer ${await client.token({ scope: 'project.read' })}`
    const to = (where: string) => live.call(null, 'GET', where, { headers: { authorization } })
    const project = `/api/v1/projects/${auroraHome.project_id}`
    expect((await to(project)).status).toBe(200)
    expect((await to(`${project}/roles`)).body.details).toMatchObject({ reason_code: 'scope_mismatch' })
  })

  test('TI-17 no cache keeps the answer, nor a refusal', async () => {
    const client = await oauthClient(live)
    for (const { headers } of [await client.ask(), await client.ask({ client_secret: 'wrong' }), await client.ask({ grant_type: 'x' })]) {
      expect(headers.get('cache-control')).toBe('no-store')
      expect(headers.get('pragma')).toBe('no-cache')
      expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    }
  })

  test('TI-17 an audience may be named as RFC 8707 does; two different ones are none', async () => {
    const client = await oauthClient(live)
    const aud = async (fields: object) => {
      const { status, body } = await client.ask({ ...fields })
      return status === 200 ? decodeJwt(body.access_token).aud : [status, body.error]
    }
    expect(await aud({ resource: 'gpuaas-api' })).toBe('gpuaas-api')
    expect(await aud({ resource: 'gpuaas-api', audience: 'gpuaas-api' })).toBe('gpuaas-api')
    expect(await aud({ resource: 'gpuaas-api', audience: 'other' })).toEqual([400, 'invalid_target'])
    expect(await aud({ audience: 'https://evil.example' })).toEqual([400, 'invalid_target'])
  })

  test('TI-17 a repeated idempotency key gives no second token', async () => {
    const client = await oauthClient(live)
    const key = { 'idempotency-key': `once-${client.client_id}` }
    expect((await client.ask({}, key)).status).toBe(200)
    const before = await tokens()
    expect(await client.ask({}, key)).toMatchObject({ status: 409, body: { error: 'invalid_request' } })
    expect(await client.ask({ scope: 'project.read' }, key)).toMatchObject({ status: 422, body: { error: 'invalid_request' } })
    expect(await tokens()).toBe(before)
  })
})

describe('how a client says who it is', () => {
  test('TI-17 in the header or in the form; each part of the header is encoded like a field of a form', async () => {
    const client = await oauthClient(live)
    const { client_id, client_secret } = client
    const escaped = (text: string) => [...text].map((char) => `%${char.charCodeAt(0).toString(16)}`).join('')
    for (const header of [
      basic(client_id, client_secret),
      basic(escaped(client_id), escaped(client_secret)),
      basic(client_id.toUpperCase(), client_secret),
      { authorization: basic(client_id, client_secret).authorization.replace('Basic', 'bAsIc') },
    ])
      expect([header, (await postForm(live, path, grant, header)).status]).toEqual([header, 200])
    expect((await postForm(live, path, { ...grant, client_id }, basic(client_id, client_secret))).status).toBe(200)
    expect((await client.ask()).status).toBe(200)
  })

  test('TI-17 two ways at once, or two names, are no way', async () => {
    const [client, other] = [await oauthClient(live), await oauthClient(live)]
    const { client_id, client_secret } = client
    const before = await tokens()
    const refused = { status: 400, body: { error: 'invalid_request' } }
    expect(await client.ask({}, basic(client_id, client_secret))).toMatchObject(refused)
    expect(await client.ask({}, { authorization: `Bearer ${await client.token()}` })).toMatchObject(refused)
    expect(await postForm(live, path, { ...grant, client_id: other.client_id }, basic(client_id, client_secret))).toMatchObject(refused)
    expect(await tokens()).toBe(before + 1)
  })

  test.for<[string, (own: { client_id: string; client_secret: string }) => Record<string, string>]>([
    ['no base64', () => ({ authorization: 'Basic %%%' })],
    [
      'base64 with another ending',
      ({ client_id, client_secret }) => ({
        authorization: `${basic(client_id, client_secret).authorization.replaceAll('=', '')}x`,
      }),
    ],
    ['no colon', ({ client_id }) => ({ authorization: `Basic ${btoa(client_id)}` })],
    ['nothing', () => ({ authorization: 'Basic ' })],
    ['a percent sign alone', ({ client_id, client_secret }) => basic(client_id, `${client_secret}%`)],
    ['a control character', ({ client_id, client_secret }) => basic(client_id, `${client_secret}\u0000`)],
    ['another scheme', ({ client_id, client_secret }) => ({ authorization: `Digest ${client_id}:${client_secret}` })],
    ['a bearer token', () => ({ authorization: 'Bearer e30.e30.e30' })],
    ['a wrong secret', ({ client_id }) => basic(client_id, newSecret().reveal())],
    ['the secret of a client that is none', ({ client_secret }) => basic('nobody', client_secret)],
    ['an unknown client', ({ client_secret }) => basic('01890000-0000-7000-8000-000000000000', client_secret)],
  ])('TI-17 RFC 6749 with %s in the header it is nobody, and is told in which manner to try', async ([, header]) => {
    const client = await oauthClient(live)
    const refused = await postForm(live, path, grant, header(client.own))
    expect(refused.status).toBe(401)
    expect(refused.body).toEqual({ error: 'invalid_client', error_description: 'The client is not who it says it is.' })
    const challenge = header(client.own).authorization!.startsWith('Bearer') ? /^Bearer error="invalid_token"$/ : /^Basic realm="gatehouse"/
    expect(refused.headers.get('www-authenticate')).toMatch(challenge)
  })

  test('TI-17 whoever says nothing is nobody', async () => {
    for (const fields of [grant, { ...grant, client_secret: newSecret().reveal() }, { ...grant, client_id: 'x' }])
      expect(await postForm(live, path, fields)).toMatchObject({ status: 401, body: { error: 'invalid_client' } })
  })

  test('TI-11 TI-17 unknown, wrong, revoked, expired, disabled and deleted are told alike, byte for byte', async () => {
    const client = await oauthClient(live)
    const { client_id, service_account_id } = client
    const told: Record<string, string> = {}
    const ask = async (name: string, fields: object = {}) => {
      const { status, text, headers } = await client.ask({ ...fields })
      const said = [...headers].filter(([each]) => !/^(?:date|x-request-id|x-correlation-id)$/.test(each))
      told[name] = JSON.stringify([status, text, said])
    }
    await ask('unknown', { client_id: '01890000-0000-7000-8000-000000000000' })
    await ask('no id', { client_id: 'somebody' })
    await ask('wrong', { client_secret: newSecret().reveal() })
    await live.sql(`update service_account_keys set expires_at = now() where id = $1`, [client_id])
    await ask('expired')
    await live.sql(`update service_account_keys set revoked_at = now(), revoked_by = created_by, revoke_reason = 'x' where id = $1`, [
      client_id,
    ])
    await ask('revoked')
    await live.sql(
      'update service_account_keys set revoked_at = null, revoked_by = null, revoke_reason = null, expires_at = null where id = $1',
      [client_id],
    )
    await live.sql(
      `update service_accounts set state = 'disabled', disabled_at = now(), disabled_by = $2, disable_reason = 'x' where id = $1`,
      [service_account_id, seeded.user('alice')],
    )
    await ask('disabled')
    await live.sql(
      `update service_accounts set state = 'deleted', deleted_at = now(), deleted_by = $2, delete_reason = 'x', disabled_at = null, disabled_by = null, disable_reason = null where id = $1`,
      [service_account_id, seeded.user('alice')],
    )
    await ask('deleted')
    expect(new Set(Object.values(told)).size).toBe(1)
    expect(told.wrong).toMatch(/^\[401/)
  })

  test('TI-12 a wrong secret of a known key is recorded like one at the other endpoint, and slowed with it', async () => {
    const client = await oauthClient(live)
    const wrong = await client.ask({ client_secret: newSecret().reveal(), scope: 'mine' })
    expect(await recorded(wrong)).toMatchObject([
      {
        action: 'auth.token.deny',
        result: 'denied',
        reason_code: 'token_invalid',
        metadata: { why: 'wrong_secret', attempts: 1, scope: null },
      },
    ])
    const other = await client.machine_ask({ client_secret: newSecret().reveal() })
    expect(await recorded(other)).toMatchObject([{ metadata: { attempts: 2 } }])
    const third = await client.introspect({ token: 'x', client_secret: newSecret().reveal() })
    expect(third.status).toBe(401)
    expect(await recorded(third)).toMatchObject([{ metadata: { attempts: 3 } }])
    // In capitals it is the same client.
    const fourth = await client.ask({ client_id: client.client_id.toUpperCase(), client_secret: newSecret().reveal() })
    expect(await recorded(fourth)).toMatchObject([{ metadata: { attempts: 4 } }])
    expect(JSON.stringify(await recorded(wrong))).not.toContain('mine')
  })
})

describe('what is refused', () => {
  test.for<[string, Record<string, unknown>, number, string]>([
    ['another grant', { grant_type: 'password' }, 400, 'unsupported_grant_type'],
    ['a grant for people', { grant_type: 'authorization_code', code: 'x' }, 400, 'unsupported_grant_type'],
    ['a grant to go on', { grant_type: 'refresh_token', refresh_token: 'x' }, 400, 'unsupported_grant_type'],
    ['the grant in capitals', { grant_type: 'CLIENT_CREDENTIALS' }, 400, 'unsupported_grant_type'],
    ['no grant', { grant_type: undefined }, 400, 'invalid_request'],
    ['a grant without a value', { grant_type: '' }, 400, 'invalid_request'],
    ['what it does not hold', { scope: 'project.role.assign' }, 400, 'invalid_scope'],
    ['everything', { scope: '*' }, 400, 'invalid_scope'],
    ['a tab between keys', { scope: 'project.read\tallocation.read' }, 400, 'invalid_scope'],
    ['a scope without end', { scope: 'a'.repeat(8193) }, 400, 'invalid_request'],
    ['a form of more than 16 KiB', { scope: 'a'.repeat(16 * 1024) }, 413, 'invalid_request'],
    ['a secret without end', { client_secret: 'a'.repeat(201) }, 400, 'invalid_request'],
  ])('TI-17 RFC 6749 %s', async ([, fields, status, error]) => {
    const client = await oauthClient(live)
    const refused = await client.ask(fields)
    expect([refused.status, refused.body.error]).toEqual([status, error])
    expect(Object.keys(refused.body)).toEqual(['error', 'error_description'])
    expect(refused.body.error_description).toMatch(/^[\x20\x21\x23-\x5b\x5d-\x7e]+$/)
    expect(refused.headers.get('x-request-id')).toBeTruthy()
  })

  test('TI-17 what is refused to a client that is known is recorded, as at the other endpoint', async () => {
    const client = await oauthClient(live)
    const scope = await client.ask({ scope: 'project.role.assign' })
    expect(await recorded(scope)).toMatchObject([{ action: 'auth.token.deny', reason_code: 'scope_mismatch', metadata: { why: 'scope' } }])
    const audience = await client.ask({ audience: 'nobody' })
    expect(await recorded(audience)).toMatchObject([
      { action: 'auth.token.deny', reason_code: 'invalid_target', metadata: { why: 'audience', audience: null } },
    ])
  })

  test('TI-17 a client that may not, by a rule of its tenant, is told that it is not authorized', async () => {
    const client = await oauthClient(live)
    const rule = {
      key: `no-tokens-${client.client_id}`,
      actions: ['auth.token.issue'],
      condition: { within: { source_ip: ['127.0.0.0/8', '::1/128'] } },
    }
    const { status, body, text } = await live.ask('alice', createProjectConstraint, {
      params: { project_id: auroraHome.project_id },
      body: rule,
    })
    expect([status, text]).toEqual([201, expect.any(String)])
    try {
      const refused = await client.ask()
      expect(refused).toMatchObject({ status: 400, body: { error: 'unauthorized_client' } })
      expect(await recorded(refused)).toMatchObject([{ action: 'auth.token.deny', reason_code: 'policy_constraint_denied' }])
    } finally {
      expect(
        (
          await live.ask('alice', deleteProjectConstraint, {
            params: { project_id: auroraHome.project_id, constraint_id: body.id },
            body: { reason: 'r' },
          })
        ).status,
      ).toBe(204)
    }
  })

  test('A9 TI-17 a credential in the address is refused before it is looked at', async () => {
    const { client_id, client_secret } = await oauthClient(live)
    for (const query of [
      `client_secret=${client_secret}`,
      `client_id=${client_id}&client_secret=${client_secret}`,
      'access_token=x',
      `x=${client_secret}`,
    ]) {
      const refused = await postForm(live, `${path}?${query}`, grant)
      expect([query, refused.status, refused.body.error]).toEqual([query, 400, 'invalid_request'])
      expect(refused.text).not.toContain(client_secret)
    }
    // Not a credential, but not a place for parameters either.
    expect((await postForm(live, `${path}?grant_type=client_credentials`, grant)).status).toBe(400)
  })

  test('TI-17 RFC 6749 a field that comes twice, known or not', async () => {
    const client = await oauthClient(live)
    const own = new URLSearchParams({ ...grant, ...client.own }).toString()
    for (const more of [
      'grant_type=client_credentials',
      'scope=a&scope=b',
      'scope=&scope=',
      'state=1&state=2',
      'stat%65=1&state=1',
      'client%5fid=x',
    ])
      expect([more, await postForm(live, path, `${own}&${more}`)]).toMatchObject([
        more,
        { status: 400, body: { error: 'invalid_request' } },
      ])
    expect((await postForm(live, path, `${own}&state=1&scope=&unknown`)).status).toBe(200)
  })

  test.for<[string, string, string, number]>([
    ['JSON', '{"grant_type":"client_credentials"}', 'application/json', 415],
    ['a form in parts', 'x', 'multipart/form-data; boundary=x', 415],
    ['another charset', 'grant_type=client_credentials', `${formType}; charset=iso-8859-1`, 415],
    ['half an escape', 'grant_type=%4', formType, 400],
    ['an escape of no character', 'grant_type=%ff', formType, 400],
    ['a NUL', 'grant_type=%00', formType, 400],
    ['nothing', '', formType, 400],
    ['too many fields', Array.from({ length: 101 }, (_, n) => `f${n}=1`).join('&'), formType, 400],
    ['too many bytes', `x=${'a'.repeat(257 * 1024)}`, formType, 413],
  ])('TI-17 %s for a form', async ([, raw, type, status]) => {
    const refused = await postForm(live, path, raw, { 'content-type': type })
    expect([refused.status, refused.body.error]).toEqual([status, 'invalid_request'])
  })

  test('TI-17 bytes that are no UTF-8, or compressed', async () => {
    const bytes = Buffer.from('grant_type=\xff\xfe', 'latin1')
    const sent = (headers: object) => live.call(null, 'POST', path, { raw: bytes, headers: { 'content-type': formType, ...headers } })
    expect(await sent({})).toMatchObject({ status: 400, body: { error: 'invalid_request' } })
    expect(await sent({ 'content-encoding': 'gzip' })).toMatchObject({ status: 415, body: { error: 'invalid_request' } })
  })

  test('TI-17 a form for an operation that speaks JSON', async () => {
    const sent = { raw: 'name=x', headers: { 'content-type': formType } }
    expect(await live.call('alice', 'PATCH', `/api/v1/orgs/${seeded.org.aurora}`, sent)).toMatchObject({
      status: 415,
      body: { code: 'unsupported_media_type' },
    })
  })

  test('TI-22 no person, and no token of one, comes by a token here', async () => {
    const before = await tokens()
    const authorization = `Bearer ${await live.tokenOf('ada')}`
    expect((await postForm(live, path, grant, { authorization })).status).toBe(401)
    expect((await live.call(null, 'GET', path)).status).toBe(405)
    expect(await tokens()).toBe(before)
  })

  test('HO-06 whoever is nobody is counted against where he comes from, whatever he is refused for', async () => {
    await live.setPolicy('rate_limit.anonymous_requests_per_minute', 5)
    try {
      const statuses = []
      for (let n = 0; n < 20; n += 1)
        statuses.push((await postForm(live, path, { grant_type: 'x', client_id: 'x', client_secret: 'y' })).status)
      expect(statuses).toContain(429)
      const limited = await postForm(live, path, { grant_type: 'x', client_id: 'x', client_secret: 'y' })
      expect(limited.body.error).toBe('temporarily_unavailable')
      expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(0)
      // The owner of a secret behind the same address is not.
      expect((await (await oauthClient(live)).ask()).status).toBe(200)
    } finally {
      await live.setPolicy('rate_limit.anonymous_requests_per_minute', 1_000_000)
    }
  })
})
