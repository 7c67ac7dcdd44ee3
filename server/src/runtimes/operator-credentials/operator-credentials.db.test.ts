import { createOperatorCredential, listOperatorCredentials, revokeOperatorCredential } from '@gatehouse/contract/operator-credentials'
import { removeOrganizationPolicyValue, setOrganizationPolicyValue } from '@gatehouse/contract/policies'
import { disableSharedRuntime, enableSharedRuntime } from '@gatehouse/contract/shared-runtimes'
import { issueSharedRuntimeOperatorToken, listRuntimeTokens } from '@gatehouse/contract/tokens'
import { describe, expect, test } from 'vitest'
import { holdsSecret } from '#ground/kernel/secret-in-text.ts'
import { secretsBeginning } from '#ground/kernel/spelled-secret.ts'
import { isSecretOf } from '#machines/service-accounts/key-secret.ts'
import { type Answered, noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'
import { runtimesOn, strange } from '../../../../test/runtime-scene.ts'

const { org, user } = seeded
const because = { reason: 'because' }

const live = serverFixture({ policies: { ...noRateLimits, 'auth.wrong_secret.first_delay_milliseconds': 1 } })
const runtimes = runtimesOn(live)
const make = (id: string, body: object = {}, who = 'alice') =>
  live.ask(who, createOperatorCredential, { params: { org_id: org.aurora, shared_runtime_id: id }, body })
const revoke = (id: string, key_id: string, who = 'adam') =>
  live.ask(who, revokeOperatorCredential, { params: { org_id: org.aurora, shared_runtime_id: id, key_id }, body: because })
const list = async (id: string) =>
  (await live.ask('adam', listOperatorCredentials, { params: { org_id: org.aurora, shared_runtime_id: id } })).body.items as {
    key_id: string
    state: string
  }[]
const ask = (credential: { shared_runtime_id: string; key_id: string; client_secret: string }, body: object = {}) =>
  live.ask(null, issueSharedRuntimeOperatorToken, { body: { ...credential, ...body } })
const as = (token: string, id: string, more = '') =>
  live.call(null, 'GET', runtimes.one(id, more), { headers: { authorization: `Bearer ${token}` } })
const refused = ({ status, body }: Answered) => [status, body?.code, body?.details?.reason_code ?? body?.details?.detail]
const bytesOf = ({ status, text, body }: Answered) => [status, text.replace(body.correlation_id, '')]

describe('a credential of a runtime’s operator', () => {
  test('MI-02 is made with its secret once, becomes a token, and by that speaks for this runtime alone', async () => {
    const [id, other] = [await runtimes.made(), await runtimes.made()]
    const made = await make(id, { reason: 'the controller' })
    expect(made.status).toBe(201)
    expect(made.headers.get('cache-control')).toBe('no-store')
    const { client_secret, ...told } = made.body
    expect(secretsBeginning('ghro_').isSpelled(client_secret)).toBe(true)
    expect(holdsSecret(client_secret)).toBe(true)
    expect(told).toEqual({
      key_id: told.key_id,
      shared_runtime_id: id,
      state: 'active',
      created_at: told.created_at,
      created_by: user('alice'),
      expires_at: null,
      last_used_at: null,
      revoked_at: null,
      credential_session_id: told.key_id,
    })
    // Only its salted hash is kept, and nobody is told it again.
    const [row] = await live.sql('select salt, secret_hash from shared_runtime_operator_credentials where id = $1', [told.key_id])
    expect(isSecretOf(row as never, client_secret)).toBe(true)
    const listing = await live.ask('adam', listOperatorCredentials, { params: { org_id: org.aurora, shared_runtime_id: id } })
    expect([listing.body.items.length, listing.text.includes('ghro_'), listing.text.includes('hash')]).toEqual([1, false, false])

    const issued = await ask({ shared_runtime_id: id, key_id: told.key_id, client_secret })
    expect([issued.status, issued.body.token_type, issued.body.credential_type]).toEqual([200, 'Bearer', 'jwt_bearer'])
    expect((await as(issued.body.access_token, id)).body).toMatchObject({ id, org_id: org.aurora })
    expect(refused(await as(issued.body.access_token, other))).toEqual([403, 'insufficient_permissions', 'scope_mismatch'])
    expect((await list(id))[0]).toMatchObject({ state: 'active', last_used_at: expect.stringMatching(/:00\.000Z$/) })

    const [recorded] = await live.auditOf(made.headers.get('x-request-id')!)
    expect(recorded).toMatchObject({
      action: 'shared_runtime.operator_credential.create',
      resource_type: 'operator_credential',
      resource_id: told.key_id,
      tenant_id: org.aurora,
      result: 'success',
      metadata: { shared_runtime_id: id, reason: 'the controller' },
    })
  })

  test('MI-02 making one counts as granting: by the tenant’s owner, not by who merely manages runtimes, and not by override', async () => {
    const id = await runtimes.made()
    const [by_owner, by_admin, by_member, by_platform] = await Promise.all(['alice', 'adam', 'anna', 'ada'].map((who) => make(id, {}, who)))
    expect(by_owner!.status).toBe(201)
    for (const beyond of [by_admin!, by_platform!]) {
      expect([beyond.status, beyond.body.details]).toMatchObject([403, { reason_code: 'permission_denied', detail: 'assignment_ceiling' }])
      expect(beyond.text).not.toContain('ghro_')
    }
    expect([by_member!.status, by_member!.body.details]).toMatchObject([403, { reason_code: 'permission_denied' }])
    expect(await list(id)).toHaveLength(1)
    // To see and to revoke them gives nothing away.
    expect((await revoke(id, by_owner!.body.key_id, 'adam')).status).toBe(204)
  })

  test('MI-02 several count at once, so that one can be rotated; each ends for itself, and once', async () => {
    const id = await runtimes.made()
    const [older, newer] = [(await make(id)).body, (await make(id)).body]
    const tokenBy = async ({ key_id, client_secret }: { key_id: string; client_secret: string }) =>
      ask({ shared_runtime_id: id, key_id, client_secret })
    const [first, second] = [(await tokenBy(older)).body.access_token, (await tokenBy(newer)).body.access_token]
    const done = await revoke(id, older.key_id)
    expect(done.status).toBe(204)
    expect((await live.auditOf(done.headers.get('x-request-id')!))[0]).toMatchObject({
      action: 'shared_runtime.operator_credential.revoke',
      resource_id: older.key_id,
      tenant_id: org.aurora,
      metadata: { shared_runtime_id: id, reason: 'because' },
    })
    expect([(await as(first, id)).status, (await as(second, id)).status]).toEqual([401, 200])
    expect([(await tokenBy(older)).status, (await tokenBy(newer)).status]).toEqual([401, 200])
    expect((await list(id)).map(({ key_id, state }) => [key_id, state])).toEqual([
      [older.key_id, 'revoked'],
      [newer.key_id, 'active'],
    ])
    expect(refused(await revoke(id, older.key_id)).slice(0, 2)).toEqual([409, 'state_conflict'])
    expect(refused(await revoke(id, strange)).slice(0, 2)).toEqual([404, 'operator_credential_not_found'])
    // One of another runtime is none of this one.
    expect(bytesOf(await revoke(await runtimes.made(), newer.key_id))).toEqual(bytesOf(await revoke(id, strange)))
  })

  test('TI-06 how many count at once is policy, counted one after the other; a tenant may set fewer', async () => {
    const id = await runtimes.made()
    expect(
      (
        await live.ask('alice', setOrganizationPolicyValue, {
          params: { org_id: org.aurora, key: 'auth.max_operator_credentials_per_runtime' },
          body: { value: 3, ...because },
        })
      ).status,
    ).toBe(200)
    const made = await Promise.all(Array.from({ length: 6 }, () => make(id)))
    expect(made.map(({ status }) => status).sort()).toEqual([201, 201, 201, 409, 409, 409])
    const full = made.find(({ status }) => status === 409)!
    expect([full.body.code, full.body.details]).toEqual([
      'limit_reached',
      { policy: 'auth.max_operator_credentials_per_runtime', limit: 3 },
    ])
    await revoke(id, made.find(({ status }) => status === 201)!.body.key_id)
    expect((await make(id)).status).toBe(201)
    expect(
      (
        await live.ask('alice', removeOrganizationPolicyValue, {
          params: { org_id: org.aurora, key: 'auth.max_operator_credentials_per_runtime' },
          body: because,
        })
      ).status,
    ).toBeLessThan(300)
  })

  test('MI-02 none is made that is over already, nor for a runtime that rests; a restored backup ends those there are', async () => {
    const id = await runtimes.made()
    expect((await make(id, { expires_at: '2020-01-01T00:00:00.000Z' })).status).toBe(400)
    const { body } = await make(id, { expires_at: '2999-01-01T00:00:00.000Z' })
    expect(body.expires_at).toBe('2999-01-01T00:00:00.000Z')
    await live.ask('adam', disableSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id }, body: because })
    expect(refused(await make(id)).slice(0, 2)).toEqual([409, 'state_conflict'])
    await live.ask('adam', enableSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id }, body: because })
    await live.sql('update shared_runtime_operator_credentials set epoch = epoch + 1 where id = $1', [body.key_id])
    expect(await list(id)).toMatchObject([{ state: 'ended_by_restore' }])
    expect((await ask({ shared_runtime_id: id, key_id: body.key_id, client_secret: body.client_secret })).status).toBe(401)
  })

  test('TI-19 asked again with the same key, the secret is not told again and no second one is made', async () => {
    const id = await runtimes.made()
    const again = () =>
      live.ask('alice', createOperatorCredential, {
        params: { org_id: org.aurora, shared_runtime_id: id },
        body: because,
        headers: { 'idempotency-key': `once-${id}` },
      })
    const [first, second] = [await again(), await again()]
    expect([first.status, second.status, second.body.code]).toEqual([201, 409, 'credential_already_issued'])
    expect(second.body.details).toEqual({ credential_session_id: first.body.key_id })
    expect(second.text).not.toContain('ghro_')
    expect(await list(id)).toHaveLength(1)
    const kept = await live.sql('select 1 from idempotency_keys k where k::text like $1', [`%${first.body.client_secret.slice(5, 40)}%`])
    expect(kept).toEqual([])
  })

  test('MI-02 another tenant’s runtime is like one that is not there', async () => {
    const id = await runtimes.made()
    const { body } = await make(id)
    const ways: [string, (runtime: string) => Promise<Answered>][] = [
      ['list', (runtime) => live.ask('bella', listOperatorCredentials, { params: { org_id: org.borealis, shared_runtime_id: runtime } })],
      [
        'create',
        (runtime) =>
          live.ask('bella', createOperatorCredential, { params: { org_id: org.borealis, shared_runtime_id: runtime }, body: {} }),
      ],
      [
        'revoke',
        (runtime) =>
          live.ask('bella', revokeOperatorCredential, {
            params: { org_id: org.borealis, shared_runtime_id: runtime, key_id: body.key_id },
            body: because,
          }),
      ],
      ['tokens', (runtime) => live.ask('bella', listRuntimeTokens, { params: { org_id: org.borealis, shared_runtime_id: runtime } })],
    ]
    for (const [what, way] of ways) {
      const foreign = await way(id)
      expect([what, foreign.status, foreign.body.code]).toEqual([what, 404, 'shared_runtime_not_found'])
      expect([what, bytesOf(foreign)]).toEqual([what, bytesOf(await way(strange))])
    }
    expect(await list(id)).toMatchObject([{ state: 'active' }])
  })
})
