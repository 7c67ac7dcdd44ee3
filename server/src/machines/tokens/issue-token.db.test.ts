import { randomUUID } from 'node:crypto'
import { createProjectConstraint } from '@gatehouse/contract/constraints'
import { setProjectPolicyValue } from '@gatehouse/contract/policies'
import { describe, expect, test } from 'vitest'
import { parseKeyRing } from '#ground/custody/key-ring.ts'
import { auditKey } from '#ground/installation/own-secrets.ts'
import { verifyChains } from '#rails/audit/verify-chains.ts'
import { type Answered, noRateLimits, seeded, serverFixture, testKeys, tokenIssuer } from '../../../../test/live-server.ts'
import { auroraHome as home, machineWithSecret } from '../../../../test/machine-credential.ts'

const live = serverFixture({
  policies: { ...noRateLimits, 'auth.wrong_secret.first_delay_milliseconds': 5, 'auth.wrong_secret.longest_delay_milliseconds': 20 },
})

const machine = (role?: string) => machineWithSecret(live, home, role)

const claimsIn = (token: string) => JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())
const rowOf = async (id: string) => (await live.sql<Record<string, unknown>>('select * from issued_tokens where id = $1', [id]))[0]
const correlation = ({ headers }: Answered) => headers.get('x-request-id')!
const recorded = async (answered: Answered) => live.auditOf(correlation(answered))
const as = (token: string, to: string) => live.call(null, 'GET', to, { headers: { authorization: `Bearer ${token}` } })

describe('a token', () => {
  test('TI-01 TI-05 TI-23 is issued for a secret, says what the answer says, and is recorded with its row', async () => {
    const sa = await machine()
    const answered = await sa.ask({ reason: 'nightly', source_workflow_id: 'wf/1' })
    expect(answered.status).toBe(200)
    expect(answered.headers.get('cache-control')).toBe('no-store')
    const { access_token, issued_claims_summary, credential_session_id, ...rest } = answered.body
    const claims = claimsIn(access_token)
    expect(issued_claims_summary).toEqual(claims)
    expect(Object.keys(claims).join(' ')).toBe('sub actor_type iss aud iat exp jti scope org_id project_id')
    expect(claims).toMatchObject({
      sub: sa.service_account_id,
      iss: tokenIssuer.url,
      aud: 'gpuaas-api',
      jti: credential_session_id,
      ...home,
    })
    expect(rest).toEqual({
      credential_type: 'jwt_bearer',
      token_type: 'Bearer',
      expires_in_seconds: 3600,
      expires_at: new Date(claims.exp * 1000).toISOString(),
      scope: claims.scope,
    })
    const row = (await rowOf(credential_session_id))!
    expect(row).toMatchObject({
      actor_type: 'service_account',
      actor_id: sa.service_account_id,
      credential_id: sa.key_id,
      parent_id: null,
      ...home,
      binding: {},
      typ: 'sa+jwt',
      audience: 'gpuaas-api',
      scope: claims.scope.split(' '),
      reason: 'nightly',
      source_workflow_id: 'wf/1',
      revoked_at: null,
    })
    expect(Math.floor((row.issued_at as Date).getTime() / 1000)).toBe(claims.iat)
    expect((row.expires_at as Date).getTime()).toBe(claims.exp * 1000)
    const [event, ...more] = await recorded(answered)
    expect(more).toEqual([])
    expect(event).toMatchObject({
      action: 'auth.token.issue',
      result: 'success',
      actor_type: 'service_account',
      actor_id: sa.service_account_id,
      tenant_id: home.org_id,
      project_id: home.project_id,
      resource_type: 'token',
      resource_id: credential_session_id,
      metadata: {
        actor_type: 'service_account',
        actor_id: sa.service_account_id,
        requested_actor_type: 'service_account',
        requested_actor_id: sa.service_account_id,
        key_id: sa.key_id,
        audience: 'gpuaas-api',
        scope: claims.scope,
        resource_type: 'project',
        resource_id: home.project_id,
        expires_at: rest.expires_at,
        credential_type: 'jwt_bearer',
        source_workflow_id: 'wf/1',
        reason: 'nightly',
      },
    })
    expect((await as(access_token, `/api/v1/projects/${home.project_id}`)).status).toBe(200)
  })

  test('TI-25 the key says in which minute it was used last', async () => {
    const sa = await machine()
    await sa.ask()
    const [key] = await live.sql<{ last_used_at: Date }>('select last_used_at from service_account_keys where id = $1', [sa.key_id])
    expect(Date.now() - key!.last_used_at.getTime()).toBeLessThan(120_000)
    expect(key!.last_used_at.getTime() % 60_000).toBe(0)
  })

  test('TI-01 a secret is no bearer token, anywhere', async () => {
    const sa = await machine()
    for (const to of ['/api/v1/me', `/api/v1/projects/${home.project_id}`, '/api/v1/orgs'])
      expect((await as(sa.client_secret, to)).status, to).toBe(401)
  })

  test('TI-09 bounds what its bearer may do, whatever he holds', async () => {
    const sa = await machine()
    const { body } = await sa.ask({ scope: 'allocation.read' })
    expect(body.scope).toBe('allocation.read')
    expect((await as(body.access_token, `/api/v1/projects/${home.project_id}/roles`)).body.details).toMatchObject({
      reason_code: 'scope_mismatch',
    })
  })
})

describe('limits', () => {
  test.each([
    ['zero', 0],
    ['less', -1],
    ['a half', 1.5],
    ['a text', '3600'],
    ['null', null],
    ['absurd', 1e9],
    ['a list', [60]],
  ])('TI-07 T12 a lifetime that is %s is 400', async (_what, ttl_seconds) => {
    const sa = await machine()
    expect((await sa.ask({ ttl_seconds })).status).toBe(400)
  })

  test('TI-07 T12 a hint shortens; beyond the maximum it is shortened to it, and the answer says so', async () => {
    const sa = await machine()
    for (const [asked, granted] of [
      [60, 60],
      [3600, 3600],
      [3601, 3600],
      [1e8, 3600],
    ]) {
      const { body } = await sa.ask({ ttl_seconds: asked })
      const { iat, exp } = claimsIn(body.access_token)
      expect([body.expires_in_seconds, exp - iat]).toEqual([granted, granted])
    }
  })

  test('TI-06 TI-07 T12 every limit is policy: a project’s own counts there, the platform’s maximum everywhere', async () => {
    const sa = await machine()
    const policy = (value: number) =>
      live.ask('alice', setProjectPolicyValue, {
        params: { project_id: home.project_id, key: 'auth.service_account_token_ttl_seconds' },
        body: { value, reason: 'shorter' },
      })
    expect((await policy(120)).status).toBe(200)
    expect((await sa.ask()).body.expires_in_seconds).toBe(120)
    expect((await sa.ask({ ttl_seconds: 3600 })).body.expires_in_seconds).toBe(120)
    await live.sql(`delete from policy_values where key = 'auth.service_account_token_ttl_seconds' and project_id is not null`)
    await live.setPolicy('auth.iam_token_issuer.max_ttl_seconds', 90)
    expect((await sa.ask()).body.expires_in_seconds).toBe(90)
    await live.setPolicy('auth.iam_token_issuer.max_ttl_seconds', 3600)
  })

  test.each([
    'auth.service_account_token_ttl_seconds',
    'auth.iam_token_issuer.max_ttl_seconds',
    'auth.iam_token_issuer.allowed_audiences',
    'auth.iam_token_issuer.allowed_scopes',
  ] as const)('TI-06 TI-12 T12 without a readable %s no token is issued, and that is recorded', async (key) => {
    const sa = await machine()
    const [before] = await live.sql<{ value: unknown }>('select value from policy_values where key = $1 and replaced_at is null', [key])
    const broken = async () => {
      const answered = await sa.ask()
      expect([answered.status, answered.body.code]).toEqual([503, 'policy_unavailable'])
      expect(answered.text).not.toContain('eyJ')
      expect((await recorded(answered)).map(({ action, reason_code }) => [action, reason_code])).toEqual([
        ['auth.token.deny', 'policy_unavailable'],
      ])
    }
    await live.setPolicy(key, { garbled: 7 })
    await broken()
    await live.sql('update policy_values set replaced_at = now() where key = $1 and replaced_at is null', [key])
    await broken()
    await live.sql('update policy_values set replaced_at = null, value = $2 where key = $1', [key, JSON.stringify(before!.value)])
    expect((await sa.ask()).status).toBe(200)
  })

  test('TI-08 an audience that is not allowed is 400 and recorded, without the caller’s word', async () => {
    const sa = await machine()
    const word = `canary${randomUUID().replaceAll('-', '')}`
    const answered = await sa.ask({ audience: word })
    expect([answered.status, answered.body.code, answered.body.details?.fields?.[0]?.field]).toEqual([400, 'validation_error', 'audience'])
    const [event] = await recorded(answered)
    expect(event).toMatchObject({
      action: 'auth.token.deny',
      result: 'denied',
      reason_code: 'validation_error',
      metadata: { why: 'audience', audience: null },
    })
    expect(JSON.stringify(event)).not.toContain(word)
    expect(event).toMatchObject({ metadata: { asked_audience: '[withheld]' } })
    expect((await sa.ask({ audience: ['gpuaas-api'] })).status).toBe(400)
  })

  test('AU-08 refused mint: an audience with the shape of a name → the row says which one was asked', async () => {
    const sa = await machine()
    for (const audience of ['billing-api', 'https://storage.example.com/v2'])
      expect((await recorded(await sa.ask({ audience })))[0]).toMatchObject({ metadata: { audience: null, asked_audience: audience } })
  })

  test('TI-09 T13 the scope is normalised, narrowed and told; nothing left is 403', async () => {
    const sa = await machine()
    const scopeFor = async (scope: string) => {
      const { body } = await sa.ask({ scope })
      expect(body.issued_claims_summary).toEqual(claimsIn(body.access_token))
      return body.scope
    }
    expect(await scopeFor('Allocation.READ allocation.create allocation.read platform.admin')).toBe('allocation.create allocation.read')
    expect(await scopeFor(Array.from({ length: 1000 }, (_, n) => (n % 2 ? 'allocation.read' : 'x')).join(' '))).toBe('allocation.read')
    for (const scope of [
      '*',
      'allocation.read\tallocation.create',
      'allocation.read\u00a0',
      'platform.admin tenant.read',
      'auth.token.issue',
      ' ',
    ]) {
      const answered = await sa.ask({ scope })
      expect([answered.status, answered.body.details], scope).toMatchObject([403, { reason_code: 'scope_mismatch' }])
      expect((await recorded(answered)).map(({ action, metadata }) => [action, (metadata as { why: string }).why])).toEqual([
        ['auth.token.deny', 'scope'],
      ])
    }
  })

  test('TI-05 a member that is not known is 400', async () => {
    const sa = await machine()
    for (const more of [{ exp: 1 }, { claims: {} }, { grant_type: 'client_credentials' }]) expect((await sa.ask(more)).status).toBe(400)
  })
})

describe('the binding', () => {
  const other = randomUUID()
  test.each([
    ['actor_type', { actor_type: 'shared_runtime_operator' }],
    ['actor_id', { actor_id: other }],
    ['org_id', { org_id: seeded.org.borealis }],
    ['project_id', { project_id: seeded.project.borealis }],
    ['resource_type', { resource_type: 'node' }],
    ['resource_id', { resource_id: other }],
  ])('TI-10 AU-08 another %s is 403 and recorded, with what was asked', async (what, body) => {
    const sa = await machine()
    const answered = await sa.ask(body)
    expect([answered.status, answered.body.details]).toMatchObject([403, { reason_code: 'scope_mismatch' }])
    expect((await recorded(answered))[0]).toMatchObject({
      action: 'auth.token.deny',
      tenant_id: home.org_id,
      reason_code: 'scope_mismatch',
      metadata: {
        ...{ why: 'binding', actor_id: sa.service_account_id, credential_type: 'jwt_bearer', key_id: sa.key_id },
        // Whose token is asked for has the name that seed 001 gives it.
        [what.startsWith('actor_') ? `requested_${what}` : `asked_${what}`]: Object.values(body)[0],
      },
    })
  })

  test('TI-05 what is true may be asserted', async () => {
    const sa = await machine()
    const { status } = await sa.ask({
      actor_type: 'service_account',
      actor_id: sa.service_account_id,
      ...home,
      resource_type: 'project',
      resource_id: home.project_id,
    })
    expect(status).toBe(200)
  })

  test('TI-12 where the organization is suspended, the project archived or a rule denies it, it is 403 and recorded', async () => {
    const sa = await machine()
    const refused = async () => {
      const answered = await sa.ask()
      expect([answered.status, answered.body.details]).toMatchObject([403, { reason_code: 'policy_constraint_denied' }])
      expect((await recorded(answered))[0]).toMatchObject({
        action: 'auth.token.deny',
        reason_code: 'policy_constraint_denied',
        metadata: { why: 'decision' },
      })
    }
    for (const [table, id, state] of [
      ['organizations', home.org_id, 'suspended'],
      ['projects', home.project_id, 'archived'],
    ]) {
      await live.sql(`update ${table} set state = $2 where id = $1`, [id, state])
      await refused()
      await live.sql(`update ${table} set state = 'active' where id = $1`, [id])
    }
    const rule = await live.ask('alice', createProjectConstraint, {
      params: { project_id: home.project_id },
      body: { key: 'no-tokens', actions: ['auth.token.issue'], condition: { in: { actor_type: ['service_account'] } }, reason: 'none' },
    })
    expect(rule.status).toBe(201)
    await refused()
    await live.sql(`delete from policy_constraints where key = 'no-tokens'`)
    expect((await sa.ask()).status).toBe(200)
  })
})

describe('the record of a refusal', () => {
  /** Whatever is done to the world for a refusal is undone after it. */
  const withState = async (table: string, id: string, state: string, act: () => Promise<Answered>) => {
    await live.sql(`update ${table} set state = $2 where id = $1`, [id, state])
    return act().finally(() => live.sql(`update ${table} set state = 'active' where id = $1`, [id]))
  }
  const withoutPolicy = async (key: string, act: () => Promise<Answered>) => {
    await live.sql('update policy_values set replaced_at = now() where key = $1 and replaced_at is null', [key])
    return act().finally(() => live.sql('update policy_values set replaced_at = null where key = $1', [key]))
  }
  type Machine = Awaited<ReturnType<typeof machine>>
  const told = { reason: 'nightly', source_workflow_id: 'wf/7', audience: 'gpuaas-api', scope: 'allocation.read Allocation.CREATE' }
  const other = randomUUID()
  const refusals: [string, (sa: Machine) => Promise<Answered>, reason_code: string, differs: Record<string, unknown>][] = [
    ['decision', (sa) => withState('organizations', home.org_id, 'suspended', () => sa.ask(told)), 'policy_constraint_denied', {}],
    ['binding', (sa) => sa.ask({ ...told, actor_id: other }), 'scope_mismatch', { requested_actor_id: other }],
    ['binding', (sa) => sa.ask({ ...told, actor_type: 'workload' }), 'scope_mismatch', { requested_actor_type: 'workload' }],
    ['audience', (sa) => sa.ask({ ...told, audience: 'nowhere' }), 'validation_error', { asked_audience: 'nowhere' }],
    ['scope', (sa) => sa.ask({ ...told, scope: 'platform.admin' }), 'scope_mismatch', { asked_scope: 'platform.admin' }],
    ['policy', (sa) => withoutPolicy('auth.iam_token_issuer.max_ttl_seconds', () => sa.ask(told)), 'policy_unavailable', {}],
  ]
  test.each(refusals)('TI-12 has all that seed 001 wants at least, and why: %s', async (why, refuse, reason_code, differs) => {
    const sa = await machine()
    const answered = await refuse(sa)
    expect(answered.status).toBeGreaterThanOrEqual(400)
    const [event, ...more] = await recorded(answered)
    expect(more).toEqual([])
    expect(event).toMatchObject({
      action: 'auth.token.deny',
      result: 'denied',
      reason_code,
      actor_type: 'service_account',
      actor_id: sa.service_account_id,
      tenant_id: home.org_id,
      project_id: home.project_id,
    })
    // Exactly these: a member that is missing, or one more, is seen.
    expect(event!.metadata).toEqual({
      why,
      source_ip: '127.0.0.1',
      actor_type: 'service_account',
      actor_id: sa.service_account_id,
      requested_actor_type: 'service_account',
      requested_actor_id: sa.service_account_id,
      key_id: sa.key_id,
      // Nothing was issued; what was asked for has one name each.
      audience: null,
      asked_audience: 'gpuaas-api',
      scope: null,
      asked_scope: 'allocation.create allocation.read',
      resource_type: 'project',
      resource_id: home.project_id,
      expires_at: null,
      credential_type: 'jwt_bearer',
      source_workflow_id: 'wf/7',
      reason: 'nightly',
      decision_id: expect.any(String),
      ...differs,
    })
  })
})

test('TI-12 the chain is whole after all this', async () => {
  const key = await auditKey(live.database, parseKeyRing(testKeys))
  expect((await live.database.transaction('read', (tx) => verifyChains(tx, key))).faults).toEqual([])
})
