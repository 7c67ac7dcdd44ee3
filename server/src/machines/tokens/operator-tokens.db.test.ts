import { setTimeout as pause } from 'node:timers/promises'
import { revokeOperatorCredential } from '@gatehouse/contract/operator-credentials'
import { deleteSharedRuntime, disableSharedRuntime, enableSharedRuntime } from '@gatehouse/contract/shared-runtimes'
import { issueServiceAccountToken, listRuntimeTokens, revokeTokens } from '@gatehouse/contract/tokens'
import { describe, expect, test } from 'vitest'
import { newOperatorSecret } from '#runtimes/operator-credentials/operator-credential.ts'
import { type Answered, noRateLimits, seeded, serverFixture, tokenIssuer } from '../../../../test/live-server.ts'
import { machineWithSecret } from '../../../../test/machine-credential.ts'
import { basic, oauthClient, postForm } from '../../../../test/oauth-client.ts'
import { operatorTokenPath, operatorWithSecret } from '../../../../test/operator-credential.ts'
import { runtimesOn, strange } from '../../../../test/runtime-scene.ts'
import { newSecret } from '../service-accounts/key-secret.ts'

const { org, project, user } = seeded
const because = { reason: 'because' }
const allowlist = 'shared_runtime.allocation.read shared_runtime.credential.deliver shared_runtime.report tenant.shared_runtime.read'

/** The same database, by three processes. */
let doors: readonly string[]
const live = serverFixture(
  { policies: { ...noRateLimits, 'auth.wrong_secret.first_delay_milliseconds': 1, 'auth.wrong_secret.longest_delay_milliseconds': 10 } },
  async (live) => {
    doors = [live.url, (await live.replica()).url, (await live.replica()).url]
  },
)
const runtimes = runtimesOn(live)

const operator = async (more: object = {}) => {
  const id = await runtimes.made(more)
  return { id, ...(await operatorWithSecret(live, id)) }
}
const bearer = (token: string) => ({ headers: { authorization: `Bearer ${token}` } })
const as = (token: string, id: string, more = '', base = live.url) => live.call(null, 'GET', runtimes.one(id, more), bearer(token), base)
const refused = ({ status, body }: Answered) => [status, body?.code, body?.details?.reason_code]
const denied = (reason_code: string) => [403, 'insufficient_permissions', reason_code]
const invalid = [401, 'token_invalid', undefined]
const bytesOf = ({ status, text, body }: Answered) => [status, text.replace(body.correlation_id, '')]
const partOf = (token: string, index: number) => JSON.parse(Buffer.from(token.split('.')[index]!, 'base64url').toString())
const recordOf = ({ headers }: Answered) => live.auditOf(headers.get('x-request-id')!)
/** On each process, whatever it kept. */
const everywhere = async (token: string, id: string, more = '') => {
  const told = await Promise.all(doors.map(async (base) => refused(await as(token, id, more, base))))
  expect(new Set(told.map((each) => JSON.stringify(each))).size).toBe(1)
  return told[0]
}

describe('a token of a runtime’s operator', () => {
  test('MI-02 TI-02 TI-03 says exactly what its class says: the runtime as subject, its tenant, and no project', async () => {
    const { id, ask } = await operator()
    const { status, body } = await ask()
    expect(status).toBe(200)
    const claims = partOf(body.access_token, 1)
    expect(claims).toEqual({
      sub: id,
      actor_type: 'shared_runtime_operator',
      iss: tokenIssuer.url,
      aud: 'gpuaas-api',
      iat: claims.iat,
      exp: claims.iat + 3600,
      jti: body.credential_session_id,
      scope: allowlist,
      org_id: org.aurora,
      shared_runtime_id: id,
    })
    expect(Object.keys(claims).sort()).toEqual(
      ['sub', 'actor_type', 'org_id', 'shared_runtime_id', 'scope', 'exp', 'iat', 'iss', 'aud', 'jti'].sort(),
    )
    expect(partOf(body.access_token, 0)).toEqual({ alg: 'ES256', kid: expect.any(String), typ: 'sro+jwt' })
    expect(body.issued_claims_summary).toEqual(claims)
    expect(body).toMatchObject({ expires_in_seconds: 3600, scope: allowlist })
  })

  test('TI-01 comes from the one issuer: a row with what it is bound to, and its record, with the runtime', async () => {
    const { id, key_id, ask } = await operator()
    const issued = await ask({ reason: 'a round', source_workflow_id: 'wf-1' })
    const rows = await live.sql('select * from issued_tokens where id = $1', [issued.body.credential_session_id])
    expect(rows).toMatchObject([
      {
        actor_type: 'shared_runtime_operator',
        actor_id: id,
        credential_id: key_id,
        org_id: org.aurora,
        project_id: null,
        binding: { shared_runtime_id: id },
        typ: 'sro+jwt',
        revoked_at: null,
      },
    ])
    expect(JSON.stringify(rows)).not.toContain(issued.body.access_token.split('.')[2])
    expect(await recordOf(issued)).toMatchObject([
      {
        action: 'auth.token.issue',
        actor_type: 'shared_runtime_operator',
        actor_id: id,
        tenant_id: org.aurora,
        project_id: null,
        result: 'success',
        metadata: {
          shared_runtime_id: id,
          requested_actor_type: 'shared_runtime_operator',
          requested_actor_id: id,
          key_id,
          resource_type: 'shared_runtime',
          resource_id: id,
          scope: allowlist,
          audience: 'gpuaas-api',
          credential_type: 'jwt_bearer',
          source_workflow_id: 'wf-1',
          reason: 'a round',
        },
      },
    ])
  })

  test('MI-02 whatever is wrong with a credential, the answer has the same bytes; of a known one it is recorded', async () => {
    const [right, another, revoked, expired, disabled, deleted] = await Promise.all([1, 2, 3, 4, 5, 6].map(() => operator()))
    const [by, table] = [user('alice'), 'shared_runtime_operator_credentials']
    await live.sql(`update ${table} set revoked_at = now(), revoked_by = $2, revoke_reason = 'x' where id = $1`, [revoked!.key_id, by])
    await live.sql(`update ${table} set expires_at = now() where id = $1`, [expired!.key_id])
    await live.ask('adam', disableSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: disabled!.id }, body: because })
    await live.ask('adam', deleteSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: deleted!.id }, body: because })
    const account = await machineWithSecret(live)
    const cases: Record<string, [Answered, string | null]> = {
      'a wrong secret': [await right!.ask({ client_secret: newOperatorSecret().reveal() }), 'wrong_secret'],
      'no secret at all': [await right!.ask({ client_secret: 'x' }), 'wrong_secret'],
      'an unknown key': [await right!.ask({ key_id: strange }), null],
      'an unknown runtime': [await right!.ask({ shared_runtime_id: strange }), null],
      'the key of another runtime': [await right!.ask({ key_id: another!.key_id, client_secret: another!.client_secret }), null],
      'a service account': [
        await right!.ask({ shared_runtime_id: account.service_account_id, key_id: account.key_id, client_secret: account.client_secret }),
        null,
      ],
      'one that was revoked': [await revoked!.ask(), 'key_revoked'],
      'one that has expired': [await expired!.ask(), 'key_expired'],
      'one of a disabled runtime': [await disabled!.ask(), 'runtime_disabled'],
      // Its credentials were revoked with it.
      'one of a deleted runtime': [await deleted!.ask(), 'key_revoked'],
    }
    const [same] = Object.values(cases) as [[Answered, string | null]]
    expect(same[0].status).toBe(401)
    for (const [what, [answered, why]] of Object.entries(cases)) {
      expect([what, ...bytesOf(answered)]).toEqual([what, ...bytesOf(same[0])])
      const rows = await recordOf(answered)
      expect([what, rows.map(({ action, metadata }) => [action, (metadata as { why: string }).why])]).toEqual([
        what,
        why ? [['auth.token.deny', why]] : [],
      ])
    }
    expect((await right!.ask()).status).toBe(200)
  })

  test('TI-05 TI-10 asserts nothing that is not so, and can be asked for less, never for more', async () => {
    const { id, ask } = await operator()
    const true_ones = {
      actor_type: 'shared_runtime_operator',
      actor_id: id,
      org_id: org.aurora,
      resource_type: 'shared_runtime',
      resource_id: id,
    }
    expect((await ask(true_ones)).status).toBe(200)
    const false_ones: object[] = [
      { actor_type: 'service_account' },
      { actor_id: strange },
      { org_id: org.borealis },
      // Bound to no project, it is not bound to that one.
      { project_id: project.aurora },
      { resource_type: 'project' },
      { resource_id: strange },
    ]
    for (const wrong of false_ones) {
      const answered = await ask(wrong)
      expect(refused(answered)).toEqual(denied('scope_mismatch'))
      expect(await recordOf(answered)).toMatchObject([{ action: 'auth.token.deny', metadata: { why: 'binding', shared_runtime_id: id } }])
    }
    expect((await ask({ scope: 'shared_runtime.report tenant.role.assign allocation.create shared_runtime.attach' })).body.scope).toBe(
      'shared_runtime.report',
    )
    for (const scope of ['shared_runtime.attach', 'platform.admin', '*', 'tenant.shared_runtime.manage', 'allocation.read'])
      expect([scope, ...refused(await ask({ scope }))]).toEqual([scope, ...denied('scope_mismatch')])
    expect((await ask({ ttl_seconds: 60 })).body.expires_in_seconds).toBe(60)
    expect((await ask({ ttl_seconds: 999_999 })).body.expires_in_seconds).toBe(3600)
    expect((await ask({ audience: 'somebody' })).status).toBe(400)
  })

  test('MI-02 what is delegated is in its token, and what its token does not say it cannot do', async () => {
    const { id, ask } = await operator({ delegated_actions: ['attach', 'detach'], eligible_project_ids: [project.aurora] })
    expect((await ask()).body.scope.split(' ')).toEqual(expect.arrayContaining(['shared_runtime.attach', 'shared_runtime.detach']))
    const { body } = await ask({ scope: 'tenant.shared_runtime.read' })
    expect((await as(body.access_token, id)).status).toBe(200)
    expect(refused(await as(body.access_token, id, '/allocations'))).toEqual(denied('scope_mismatch'))
  })

  test('TI-01 MI-09 a secret is good for tokens alone, and no class is taken for another', async () => {
    const { id, ask, client_secret } = await operator()
    const token = (await ask()).body.access_token
    expect(refused(await as(client_secret, id))).toEqual(invalid)
    const account = await machineWithSecret(live)
    const { body } = await account.ask()
    // A project's account has no business with a runtime of the tenant, nor an operator with a project.
    for (const more of ['', '/attachments', '/allocations', '/members'])
      expect([more, ...refused(await as(body.access_token, id, more))]).toEqual([more, ...denied('permission_denied')])
    for (const path of [`/api/v1/projects/${project.aurora}`, `/api/v1/projects/${project.aurora}/members`, '/api/v1/me', '/api/v1/orgs'])
      expect([path, ...refused(await live.call(null, 'GET', path, bearer(token)))]).toEqual([path, ...denied('permission_denied')])
    // Each class has its own door.
    expect(refused(await ask({ shared_runtime_id: account.service_account_id }))).toEqual(invalid)
    const crossed = { service_account_id: id, key_id: strange, client_secret }
    expect(refused(await live.ask(null, issueServiceAccountToken, { body: crossed }))).toEqual(invalid)
  })
})

describe('what ends it', () => {
  test('MI-07 TI-15 disabling its runtime refuses it at once on every process; enabled again, it is heard again', async () => {
    const { id, ask } = await operator()
    const token = (await ask()).body.access_token
    expect(await everywhere(token, id)).toEqual([200, undefined, undefined])
    await live.ask('adam', disableSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id }, body: because })
    expect(await everywhere(token, id)).toEqual(denied('actor_disabled'))
    await live.ask('adam', enableSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id }, body: because, base: doors[1] })
    expect(await everywhere(token, id)).toEqual([200, undefined, undefined])
  })

  test('TI-16 deleting its runtime ends it and its credentials for good', async () => {
    const { id, key_id, ask } = await operator()
    const token = (await ask()).body.access_token
    expect((await everywhere(token, id))?.[0]).toBe(200)
    await live.ask('adam', deleteSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id }, body: because, base: doors[2] })
    expect(await everywhere(token, id)).toEqual(invalid)
    expect(await live.sql('select revoke_reason from shared_runtime_operator_credentials where id = $1', [key_id])).toEqual([
      { revoke_reason: 'because' },
    ])
    // Also where the row should ever come back: there is a cut-off.
    expect(await live.sql('select subject_type from token_cutoffs where subject_id = $1', [id])).toEqual([{ subject_type: 'actor' }])
  })

  test('MI-02 TI-16 revoking a credential ends what it got, and what another got goes on: that is how one rotates', async () => {
    const { id, key_id, ask } = await operator()
    const next = await operatorWithSecret(live, id)
    const [older, newer] = [(await ask()).body.access_token, await next.token()]
    expect([(await everywhere(older, id))?.[0], (await everywhere(newer, id))?.[0]]).toEqual([200, 200])
    const revoked = await live.ask('adam', revokeOperatorCredential, {
      params: { org_id: org.aurora, shared_runtime_id: id, key_id },
      body: because,
    })
    expect(revoked.status).toBe(204)
    expect(await everywhere(older, id)).toEqual(invalid)
    expect(await everywhere(newer, id)).toEqual([200, undefined, undefined])
  })

  test('TI-16 the end of a credential, a restored backup and a suspended organization end it too', async () => {
    const ended = async (text: string, back: string) => {
      const { id, key_id, ask } = await operator()
      const token = (await ask()).body.access_token
      expect((await everywhere(token, id))?.[0]).toBe(200)
      await live.sql(text.replace('KEY', key_id))
      expect([text, ...(await everywhere(token, id))!]).toEqual([text, ...invalid])
      if (back) await live.sql(back)
    }
    await ended(`update shared_runtime_operator_credentials set expires_at = now() where id = 'KEY'`, '')
    await ended('update issued_tokens set epoch = epoch + 1', 'update issued_tokens set epoch = epoch - 1')
    await ended(
      `update organizations set state = 'suspended' where id = '${org.aurora}'`,
      `update organizations set state = 'active' where id = '${org.aurora}'`,
    )
  })

  test('TI-16 those who manage the runtime list its tokens and end them: one, of a credential, all, and all before', async () => {
    const { id, key_id, ask } = await operator()
    const list = async () =>
      (await live.ask('adam', listRuntimeTokens, { params: { org_id: org.aurora, shared_runtime_id: id } })).body.items as {
        id: string
        state: string
        credential_id: string
      }[]
    const end = (body: object, who = 'adam') => live.ask(who, revokeTokens, { body: { ...body, ...because } })
    const issued = async () => {
      const { body } = await ask()
      return { token: body.access_token as string, jti: body.credential_session_id as string }
    }
    const actor = { type: 'shared_runtime_operator', id }
    const ways: Record<string, (one: { jti: string }) => object> = {
      token: ({ jti }) => ({ token_id: jti }),
      credential: () => ({ credential_id: key_id }),
      actor: () => ({ actor }),
    }
    for (const [way, body] of Object.entries(ways)) {
      const one = await issued()
      expect((await list())[0]).toMatchObject({ id: one.jti, state: 'live', credential_id: key_id })
      // Not by those who manage a project's credentials, nor by a stranger, to whom it is like one that is not there.
      expect([way, ...refused(await end(body(one), 'amara'))]).toEqual([
        way,
        ...denied('membership_missing').slice(0, 2),
        expect.any(String),
      ])
      const [foreign, unknown] = [await end(body(one), 'bella'), await end({ token_id: strange }, 'bella')]
      expect([way, ...bytesOf(foreign)]).toEqual([way, ...bytesOf(unknown)])
      expect([way, foreign.status]).toEqual([way, 404])
      expect((await everywhere(one.token, id))?.[0]).toBe(200)
      const done = await end(body(one))
      expect([way, done.status]).toEqual([way, 200])
      expect([way, ...(await everywhere(one.token, id))!]).toEqual([way, ...invalid])
      expect((await list())[0]).toMatchObject({ id: one.jti, state: 'ended' })
      expect(await recordOf(done)).toMatchObject([{ action: 'auth.token.revoke', tenant_id: org.aurora, severity: 'high' }])
    }
    const [before, instant] = [await issued(), new Date(Date.now() + 1).toISOString()]
    await pause(20)
    const after = await issued()
    await end({ actor, issued_before: instant })
    expect([await everywhere(before.token, id), (await everywhere(after.token, id))?.[0]]).toEqual([invalid, 200])
    const read = await live.ask('ada', listRuntimeTokens, { params: { org_id: org.aurora, shared_runtime_id: id } })
    expect(await recordOf(read)).toMatchObject([{ action: 'auth.token.list_of_shared_runtime', severity: 'high', metadata: { rows: 5 } }])
    expect(read.text).not.toContain(after.token.split('.')[2])
  })
})

describe('an operator as an OAuth client', () => {
  const form = { grant_type: 'client_credentials' }
  const asked = (one: { key_id: string; client_secret: string }, fields: Record<string, unknown> = {}) =>
    postForm(live, '/oauth2/token', { ...form, ...fields }, basic(one.key_id, one.client_secret))

  test('TI-22 TI-03 it has an access token of RFC 9068, that says which client it is, and is heard as its operator', async () => {
    const one = await operator()
    const { status, body } = await asked(one)
    expect([status, body.token_type, body.scope]).toEqual([200, 'Bearer', allowlist])
    expect(partOf(body.access_token, 0).typ).toBe('at+jwt')
    const claims = partOf(body.access_token, 1)
    expect(claims).toMatchObject({ sub: one.id, actor_type: 'shared_runtime_operator', shared_runtime_id: one.id, client_id: one.key_id })
    expect(claims).not.toHaveProperty('project_id')
    expect((await as(body.access_token, one.id)).status).toBe(200)
    await live.ask('adam', disableSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: one.id }, body: because })
    expect(await everywhere(body.access_token, one.id)).toEqual(denied('actor_disabled'))
  })

  test('TI-22 a wrong secret of its is as wrong as anybody’s', async () => {
    const one = await operator()
    const wrong = await asked({ ...one, client_secret: newSecret().reveal() })
    expect(wrong.status).toBe(401)
    expect(wrong.text).toBe((await asked({ key_id: strange, client_secret: newSecret().reveal() })).text)
    expect(await recordOf(wrong)).toMatchObject([{ action: 'auth.token.deny', actor_id: one.id, metadata: { why: 'wrong_secret' } }])
  })

  test('TI-22 it exchanges nothing, and nobody exchanges what is its', async () => {
    const one = await operator()
    const token = await one.token()
    const exchange = {
      grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange',
      subject_token: token,
      subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
    }
    const own = await asked(one, exchange)
    expect([own.status, own.body.error]).toEqual([400, 'invalid_request'])
    expect(await recordOf(own)).toMatchObject([{ action: 'auth.token.deny', metadata: { why: 'class_of_client' } }])
    const account = await oauthClient(live)
    const others = await account.ask(exchange)
    expect([others.status, others.body.error]).toEqual([400, 'invalid_request'])
  })

  test('TI-17 machines of its tenant learn whether it counts, and of which runtime it is; it asks about none itself', async () => {
    const one = await operator()
    const token = await one.token()
    const account = await oauthClient(live)
    expect((await account.introspect({ token })).body).toMatchObject({
      active: true,
      sub: one.id,
      actor_type: 'shared_runtime_operator',
      org_id: org.aurora,
      shared_runtime_id: one.id,
      client_id: one.key_id,
    })
    const foreign = await oauthClient(live, { org_id: org.borealis, project_id: project.borealis })
    expect((await foreign.introspect({ token })).body).toEqual({ active: false })
    for (const path of ['/oauth2/introspect', '/oauth2/revoke']) {
      // Known, and not served: that is another thing than not to be who one says.
      const known = await postForm(live, path, { token }, basic(one.key_id, one.client_secret))
      expect([path, known.status, known.body.error]).toEqual([path, 400, 'unauthorized_client'])
      expect(await recordOf(known)).toMatchObject([
        {
          actor_type: 'shared_runtime_operator',
          actor_id: one.id,
          tenant_id: org.aurora,
          result: 'denied',
          reason_code: 'permission_denied',
        },
      ])
      const wrong = await postForm(
        live,
        path,
        { token },
        basic(one.key_id, `${one.client_secret.slice(0, -1)}${one.client_secret.endsWith('x') ? 'y' : 'x'}`),
      )
      expect([path, wrong.status, wrong.body.error]).toEqual([path, 401, 'invalid_client'])
      expect([path, (await postForm(live, path, { token }, { authorization: `Bearer ${token}` })).body.error]).toEqual([
        path,
        'unauthorized_client',
      ])
    }
    expect((await as(token, one.id)).status).toBe(200)
    await live.ask('adam', disableSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: one.id }, body: because })
    expect((await account.introspect({ token })).body).toEqual({ active: false })
  })

  test('MI-10 the document says the claims of its token, who may ask for one, and the door to it', async () => {
    const { body } = await live.call(null, 'GET', '/openapi.json')
    const { post } = body.paths[operatorTokenPath]
    const text = JSON.stringify(post)
    for (const claim of ['sub', 'actor_type', 'org_id', 'shared_runtime_id', 'scope', 'exp', 'iat', 'iss', 'aud', 'jti'])
      expect(text).toContain(`"${claim}"`)
    expect(post.description).toContain('no `project_id`')
    expect(text).toContain('shared_runtime_operator')
  })
})
