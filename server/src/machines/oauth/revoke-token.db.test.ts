import { readMyPermissions } from '@gatehouse/contract/decisions'
import { readProject } from '@gatehouse/contract/projects'
import { createServiceAccountKey } from '@gatehouse/contract/service-accounts'
import { decodeJwt } from 'jose'
import { beforeEach, describe, expect, test } from 'vitest'
import { seeded, serverFixture, tokenIssuer } from '../../../../test/live-server.ts'
import { auroraHome } from '../../../../test/machine-credential.ts'
import { machineWithPublicKey } from '../../../../test/machine-public-key.ts'
import { oauthClient, postForm } from '../../../../test/oauth-client.ts'
import { assertionOf } from './testing/signing.ts'

let client: Awaited<ReturnType<typeof oauthClient>>
const live = serverFixture({ policies: { 'auth.wrong_secret.first_delay_milliseconds': 0 } })
beforeEach(async () => {
  client = await oauthClient(live)
})

const counts = async (token: string): Promise<boolean> =>
  (await live.ask(null, readProject, { params: { project_id: auroraHome.project_id }, headers: { authorization: `Bearer ${token}` } }))
    .status === 200
const rowOf = async (token: string) =>
  (await live.sql('select revoked_at, revoked_by, revoke_reason from issued_tokens where id = $1', [decodeJwt(token).jti]))[0]

const exchanged = async (by: typeof client, subject_token: string, more: object = {}) => {
  const type = 'urn:ietf:params:oauth:token-type:access_token'
  const grant_type = 'urn:ietf:params:oauth:grant-type:token-exchange'
  const { status, text, body } = await by.ask({ grant_type, subject_token, subject_token_type: type, ...more })
  if (status !== 200) throw new Error(`nothing was exchanged: ${status} ${text}`)
  return body.access_token as string
}

describe('a token of one’s own', () => {
  test('TI-16 TI-17 RFC 7009 ends at once and for good, on every process, and is recorded as its owner’s doing', async () => {
    const [token, other] = [await client.token(), await client.token()]
    const second = await live.replica()
    const seen = async () =>
      (await live.ask(null, readMyPermissions, { headers: { authorization: `Bearer ${token}` }, base: second.url })).status
    expect([await counts(token), await seen()]).toEqual([true, 200])
    const revoked = await client.revoke({ token, token_type_hint: 'access_token' })
    expect([revoked.status, revoked.text]).toEqual([200, ''])
    expect(revoked.headers.get('cache-control')).toBe('no-store')
    expect([await counts(token), await seen(), await counts(other)]).toEqual([false, 401, true])
    expect(await rowOf(token)).toMatchObject({ revoked_at: expect.any(Date), revoked_by: client.service_account_id })
    expect(await live.auditOf(revoked.headers.get('x-request-id')!)).toMatchObject([
      {
        action: 'auth.token.revoke',
        result: 'success',
        actor_type: 'service_account',
        actor_id: client.service_account_id,
        tenant_id: auroraHome.org_id,
        project_id: auroraHome.project_id,
        resource_type: 'token',
        resource_id: decodeJwt(token).jti,
      },
    ])
    const [first, again] = [await rowOf(token), (await client.revoke({ token })).status]
    expect([again, await rowOf(token)]).toEqual([200, first])
  })

  test('TI-17 of another key of the account, of the other endpoint, and shown instead of a secret', async () => {
    const token = (await client.machine_ask()).body.access_token
    const { body: key } = await live.ask('aldo', createServiceAccountKey, {
      params: { project_id: auroraHome.project_id, service_account_id: client.service_account_id },
      body: {},
    })
    await client.revoke({ token, client_id: key.key_id, client_secret: key.client_secret })
    expect(await counts(token)).toBe(false)
    const own = await client.token()
    expect((await postForm(live, '/oauth2/revoke', { token: own }, { authorization: `Bearer ${own}` })).status).toBe(200)
    expect(await counts(own)).toBe(false)
  })

  test('HO-04 the same key, the same answer: a token is given back once', async () => {
    const token = await client.token()
    const key = { 'idempotency-key': `back-${client.client_id}` }
    const [first, second] = [await client.revoke({ token }, key), await client.revoke({ token }, key)]
    expect([first.status, second.status]).toEqual([200, 200])
    expect(await live.auditOf(second.headers.get('x-request-id')!)).toEqual([])
  })
})

describe('the same request again', () => {
  test('HO-04 TI-17 RFC 7523 is the same though the client signs anew who it is', async () => {
    const { client_id, pair } = await machineWithPublicKey(live.sql)
    const type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
    const send = (at: string, fields: Record<string, string>, headers = {}) =>
      postForm(
        live,
        at,
        { client_assertion_type: type, client_assertion: assertionOf(pair, client_id, tokenIssuer.url), ...fields },
        headers,
      )
    const token = (await send('/oauth2/token', { grant_type: 'client_credentials' })).body.access_token
    const key = { 'idempotency-key': 'signed' }
    const [first, second] = [await send('/oauth2/revoke', { token }, key), await send('/oauth2/revoke', { token }, key)]
    expect([first.status, second.status]).toEqual([200, 200])
    expect(await live.auditOf(first.headers.get('x-request-id')!)).toHaveLength(1)
    expect(await live.auditOf(second.headers.get('x-request-id')!)).toEqual([])
    expect((await send('/oauth2/revoke', { token: 'another' }, key)).status).toBe(422)
  })

  test('HO-04 TI-24 whoever acts for another has keys of his own', async () => {
    const acting = await oauthClient(live)
    const [whole, given] = [await client.token(), await client.token()]
    const lent = await exchanged(acting, whole)
    const key = { 'idempotency-key': `shared-${client.client_id}` }
    const showing = (token: string, shown: string) =>
      postForm(live, '/oauth2/revoke', { token }, { authorization: `Bearer ${shown}`, ...key })
    expect((await showing('junk', lent)).status).toBe(200)
    expect((await showing(given, given)).status).toBe(200)
    expect((await rowOf(given))?.revoked_at).not.toBeNull()
    expect((await showing('other junk', lent)).status).toBe(422)
    expect((await showing('junk', lent)).status).toBe(200)
  })
})

describe('with a token in the place of a secret', () => {
  const showing = (token: string, shown: string) => postForm(live, '/oauth2/revoke', { token }, { authorization: `Bearer ${shown}` })
  const isOver = async (token: string) => (await rowOf(token))?.revoked_at !== null

  test('TI-17 TI-24 a narrowed token ends itself and what comes from it, and nothing else of its subject', async () => {
    const [whole, other] = [await client.token(), await client.token()]
    const narrow = await exchanged(client, whole, { scope: 'project.read' })
    const [below, beside] = [await exchanged(client, await exchanged(client, narrow)), await exchanged(client, whole)]
    for (const token of [whole, other, beside]) {
      const refused = await showing(token, narrow)
      expect([refused.status, refused.text, await isOver(token)]).toEqual([200, '', false])
      expect(await live.auditOf(refused.headers.get('x-request-id')!)).toMatchObject([
        { result: 'failed', reason_code: 'token_not_found', resource_id: client.service_account_id },
      ])
    }
    await showing(below, narrow)
    expect([await isOver(below), await isOver(narrow)]).toEqual([true, false])
    await showing(narrow, narrow)
    expect([await isOver(narrow), await counts(whole), await counts(other)]).toEqual([true, true, true])
    await showing(beside, whole)
    expect([await isOver(beside), await counts(whole)]).toEqual([true, true])
  })

  test('TI-17 TI-24 who acts for another ends with his token no other of his subject’s, and is the one who is recorded', async () => {
    const acting = await oauthClient(live)
    const [whole, other] = [await client.token(), await client.token()]
    const lent = await exchanged(acting, whole, { scope: 'project.read' })
    for (const token of [whole, other, await acting.token()]) {
      expect((await showing(token, lent)).status).toBe(200)
      expect(await isOver(token)).toBe(false)
    }
    const given = await showing(lent, lent)
    expect(await rowOf(lent)).toMatchObject({
      revoked_at: expect.any(Date),
      revoked_by: acting.service_account_id,
      revoke_reason: 'given back by who acts for its owner',
    })
    expect(await live.auditOf(given.headers.get('x-request-id')!)).toMatchObject([
      {
        result: 'success',
        actor_id: client.service_account_id,
        metadata: { reason: 'given back by who acts for its owner', act: { sub: acting.service_account_id } },
      },
    ])
    const again = await exchanged(acting, whole)
    await acting.revoke({ token: again })
    const reason = { revoke_reason: 'given back by who acts for its owner' }
    expect(await rowOf(again)).toMatchObject({ revoked_by: acting.service_account_id, ...reason })
    await client.revoke({ token: whole })
    expect(await rowOf(whole)).toMatchObject({ revoked_by: client.service_account_id, revoke_reason: 'given back by its owner' })
  })
})

describe('anybody else’s', () => {
  test('TI-17 RFC 7009 is answered alike and nothing happens: of another account, of another tenant, and any text', async () => {
    const [beside, abroad] = [
      await oauthClient(live),
      await oauthClient(live, { org_id: seeded.org.borealis, project_id: seeded.project.borealis }),
    ]
    const theirs = [await beside.token(), await abroad.token()]
    const own = await client.token()
    const forged = `${own.slice(0, -6)}AAAAAA`
    for (const token of [...theirs, forged, 'nothing', await live.tokenOf('ada')]) {
      const answered = await client.revoke({ token })
      expect([answered.status, answered.text]).toEqual([200, ''])
      expect(await live.auditOf(answered.headers.get('x-request-id')!)).toMatchObject([
        { action: 'auth.token.revoke', result: 'failed', reason_code: 'token_not_found', resource_id: client.service_account_id },
      ])
    }
    expect(await rowOf(theirs[0]!)).toMatchObject({ revoked_at: null })
    expect(await rowOf(theirs[1]!)).toMatchObject({ revoked_at: null })
    expect([await counts(theirs[0]!), await counts(own)]).toEqual([true, true])
  })

  test('TI-17 nobody ends anything without saying who he is; and no person does it here', async () => {
    const token = await client.token()
    expect((await postForm(live, '/oauth2/revoke', { token })).status).toBe(401)
    expect((await client.revoke({ token, client_secret: 'wrong' })).status).toBe(401)
    const bearer = { authorization: `Bearer ${await live.tokenOf('ada')}` }
    expect(await postForm(live, '/oauth2/revoke', { token }, bearer)).toMatchObject({ status: 400, body: { error: 'unauthorized_client' } })
    expect(await counts(token)).toBe(true)
  })
})
