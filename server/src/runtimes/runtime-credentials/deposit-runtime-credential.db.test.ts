import { deliverRuntimeCredential, unwrapDelivery } from '@gatehouse/contract/runtime-credentials'
import { describe, expect, test } from 'vitest'
import { parseKeyRing } from '#ground/custody/key-ring.ts'
import { rewrap } from '#ground/installation/rewrap.ts'
import { noRateLimits, seeded, serverFixture, testKeys } from '../../../../test/live-server.ts'
import { because, bytesOf, newSecret, refused, runtimeCredentialsOn, unwrapping } from '../../../../test/runtime-credential-scene.ts'
import { believingOperators, strange } from '../../../../test/runtime-scene.ts'
import { envelopeColumns } from '../../rooms.ts'
import { runtimeCredentialEnvelopes } from './runtime-credential.ts'

const { org } = seeded

const live = serverFixture({ parts: believingOperators, policies: noRateLimits })
const { deliver, deposit, doors, listed, nothing, open, operate, promised, recordOf, revoke, runtimes, stateOf, withSecret } =
  runtimeCredentialsOn(live)

describe('secrets that are left for a runtime', () => {
  test('MI-11 a secret is left, listed by name, delivered to its operator, and in no other answer', async () => {
    for (const runtime_backend of ['slurm', 'k8s', 'ray', 'bare_metal'] as const) {
      const [id, secret] = [await runtimes.made({ runtime_backend }), newSecret()]
      const made = await deposit(id, secret, 'db.password', because)
      expect([made.status, made.body]).toMatchObject([
        201,
        { shared_runtime_id: id, name: 'db.password', version: 1, state: 'active', delivered_at: null, revoked_at: null },
      ])
      expect(made.text).not.toContain('canary')
      expect(await listed(id)).toEqual([made.body])
      const wrapped = await runtimes.operate(id, 'POST', '/credential-deliveries', { name: 'db.password' })
      expect(wrapped.status).toBe(201)
      expect(wrapped.body.wrapping_token).toMatch(/^ghwd_/)
      expect(Date.parse(wrapped.body.expires_at) - Date.now()).toBeLessThanOrEqual(60_000)
      const { wrapping_token } = wrapped.body
      const opened = await runtimes.operate(id, 'POST', '', { wrapping_token }, { path: unwrapping, base: doors()[1]! })
      expect([opened.status, opened.body]).toEqual([
        200,
        {
          delivery_id: wrapped.body.delivery_id,
          name: 'db.password',
          version: 1,
          secret,
          credential_session_id: wrapped.body.delivery_id,
        },
      ])
      expect(opened.headers.get('cache-control')).toContain('no-store')
      expect((await listed(id))[0]).toMatchObject({ state: 'delivered', delivered_at: expect.any(String) })
      // It is there for the next delivery.
      expect((await open(id, await promised(id, 'db.password'))).body.secret).toBe(secret)
    }
  })

  test('MI-11 it lies sealed, for its row alone, and is sealed anew with the rest', async () => {
    const [one, other] = [await withSecret(), await withSecret()]
    const envelopes = () =>
      live.sql<{ envelope: { ct: string; key_id: string } }>(
        'select envelope from shared_runtime_credentials where id = any($1) order by id',
        [[one.credential.id, other.credential.id]],
      )
    for (const { envelope } of await envelopes()) expect(Buffer.from(envelope.ct, 'base64url').toString()).not.toContain('canary')
    const later = parseKeyRing(`later:${'l'.repeat(42)}A,${testKeys}`)
    const counts = await rewrap(live.database, later, envelopeColumns, live.append)
    expect(counts['shared_runtime_credentials.envelope']).toBeGreaterThanOrEqual(2)
    for (const { envelope } of await envelopes()) expect(envelope.key_id).toBe('later')
    await rewrap(live.database, parseKeyRing(`${testKeys},later:${'l'.repeat(42)}A`), envelopeColumns, live.append)
    expect((await open(one.id, await promised(one.id))).body.secret).toBe(one.secret)
    // Whoever can write the table cannot have one delivered in the place of another.
    await live.sql(
      `update shared_runtime_credentials c set envelope = o.envelope from shared_runtime_credentials o where c.id = $1 and o.id = $2`,
      [one.credential.id, other.credential.id],
    )
    const { wrapping_token, delivery_id } = (await deliver(one.id)).body
    expect(bytesOf(await open(one.id, wrapping_token))).toEqual(await nothing())
    expect((await recordOf(delivery_id)).map(({ severity, metadata }) => [severity, metadata.why])).toEqual([['high', 'does_not_open']])
    await revoke(one.id, one.credential.id)
  })

  test('MI-11 moved to another runtime, of the same tenant or of another, it does not open there, also when it was sealed anew', async () => {
    const neighbour = await runtimes.made()
    const { body: foreign } = await runtimes.create({}, 'boris', org.borealis)
    const places = [
      { runtime: neighbour, org_id: org.aurora },
      { runtime: foreign.id, org_id: org.borealis },
    ]
    for (const { runtime, org_id } of places) {
      const { id, credential, secret } = await withSecret()
      const move = (to: string, of: string) =>
        live.sql('update shared_runtime_credentials set shared_runtime_id = $2, org_id = $3 where id = $1', [credential.id, to, of])
      const tried = async () => {
        const { wrapping_token, delivery_id } = (await deliver(runtime, 'db', { org_id })).body
        expect(bytesOf(await open(runtime, wrapping_token, { org_id }))).toEqual(await nothing())
        expect((await recordOf(delivery_id)).map(({ severity, tenant_id, metadata }) => [severity, tenant_id, metadata.why])).toEqual([
          ['high', org_id, 'does_not_open'],
        ])
        expect(await stateOf(delivery_id)).toBe('waiting')
      }
      await move(runtime, org_id)
      await tried()
      // Whoever seals everything anew stops at what does not open, rather than seal it for where it was put.
      const anew = (keys: string) => rewrap(live.database, parseKeyRing(keys), [runtimeCredentialEnvelopes], live.append)
      const later = `later:${'l'.repeat(42)}A`
      await expect(anew(`${later},${testKeys}`)).rejects.toThrow('does not open')
      await move(id, org.aurora)
      await anew(`${later},${testKeys}`)
      await anew(`${testKeys},${later}`)
      await move(runtime, org_id)
      await tried()
      await move(id, org.aurora)
      expect((await open(id, await promised(id))).body.secret).toBe(secret)
    }
  })

  test('MI-11 one of the same name is replaced: the next version, the old one gone and what waits of it void', async () => {
    const { id, credential } = await withSecret()
    const waiting = (await deliver(id)).body
    const next = newSecret()
    const replaced = await deposit(id, next, 'db', because)
    expect(replaced.body).toMatchObject({ name: 'db', version: 2, state: 'active' })
    expect((await listed(id)).map(({ version, state }: { version: number; state: string }) => [version, state])).toEqual([
      [1, 'revoked'],
      [2, 'active'],
    ])
    expect(await live.sql('select envelope from shared_runtime_credentials where id = $1', [credential.id])).toEqual([{ envelope: null }])
    expect(bytesOf(await open(id, waiting.wrapping_token))).toEqual(await nothing())
    expect(await stateOf(waiting.delivery_id)).toBe('revoked')
    expect((await open(id, await promised(id))).body).toMatchObject({ version: 2, secret: next })
    const [recorded] = await recordOf(replaced.body.id)
    expect(recorded!.metadata).toMatchObject({ updated: true, replaced_version: 1, version: 2, deliveries_ended: [waiting.delivery_id] })
    // Taken back and left anew, a name goes on counting.
    await revoke(id, replaced.body.id)
    expect((await deposit(id, newSecret())).body).toMatchObject({ version: 3 })
  })

  test('MI-11 two who leave one at once leave two versions, of which one counts', async () => {
    const id = await runtimes.made()
    const made = await Promise.all(doors().map(() => deposit(id, newSecret())))
    expect(made.map(({ status }) => status)).toEqual(doors().map(() => 201))
    expect(made.map(({ body }) => body.version).sort()).toEqual([1, 2, 3])
    expect((await listed(id)).filter(({ state }: { state: string }) => state !== 'revoked')).toHaveLength(1)
  })

  test('MI-11 it is taken back once, with its envelope', async () => {
    const { id, credential } = await withSecret()
    const waiting = (await deliver(id)).body
    expect((await revoke(id, credential.id)).status).toBe(204)
    expect(bytesOf(await open(id, waiting.wrapping_token))).toEqual(await nothing())
    expect(await live.sql('select envelope, state, revoke_reason from shared_runtime_credentials where id = $1', [credential.id])).toEqual([
      { envelope: null, state: 'revoked', revoke_reason: 'because' },
    ])
    expect(refused(await revoke(id, credential.id)).slice(0, 2)).toEqual([409, 'state_conflict'])
    expect(refused(await deliver(id)).slice(0, 2)).toEqual([404, 'runtime_credential_not_found'])
    // Of another runtime, and of none.
    const other = await withSecret()
    const missing = bytesOf(await revoke(id, strange))
    expect(missing[0]).toBe(404)
    expect(bytesOf(await revoke(id, other.credential.id))).toEqual(missing)
  })

  test('MI-11 no more than the limit says, which the tenant can lower; what is taken back or replaced makes room', async () => {
    const id = await runtimes.made()
    await live.setPolicy('shared_runtimes.max_credentials_per_runtime', 2)
    try {
      const first = await deposit(id, newSecret(), 'a')
      expect((await deposit(id, newSecret(), 'b')).status).toBe(201)
      const full = await deposit(id, newSecret(), 'c')
      expect([full.status, full.body.details]).toEqual([409, { policy: 'shared_runtimes.max_credentials_per_runtime', limit: 2 }])
      expect(full.text).not.toContain('canary')
      expect((await deposit(id, newSecret(), 'b')).status).toBe(201)
      await revoke(id, first.body.id)
      expect((await deposit(id, newSecret(), 'c')).status).toBe(201)
    } finally {
      await live.setPolicy('shared_runtimes.max_credentials_per_runtime', 50)
    }
  })

  test('MI-11 only those who manage the runtimes of the tenant leave, list or take back; the operator does none of it', async () => {
    const { id, credential } = await withSecret()
    const asks: [string, string, object?][] = [
      ['POST', '/credentials', { name: 'x', secret: newSecret() }],
      ['GET', '/credentials'],
      ['DELETE', `/credentials/${credential.id}`, because],
    ]
    for (const [method, more, body] of asks) {
      const sent = body ? { body } : {}
      expect(refused(await live.call('anna', method, runtimes.one(id, more), sent))).toEqual([
        403,
        'insufficient_permissions',
        'permission_denied',
      ])
      expect((await live.call('birgit', method, runtimes.one(id, more), sent)).status).toBe(404)
      expect(refused(await operate(id, method, runtimes.one(id, more), body))).toEqual([
        403,
        'insufficient_permissions',
        'permission_denied',
      ])
    }
    for (const who of ['adam', 'alice', 'ada']) {
      expect(
        (await live.ask(who, deliverRuntimeCredential, { params: { org_id: org.aurora, shared_runtime_id: id }, body: { name: 'db' } }))
          .status,
      ).toBe(403)
      expect((await live.ask(who, unwrapDelivery, { body: { wrapping_token: await promised(id) } })).status).toBe(403)
    }
    expect(await listed(id)).toHaveLength(1)
  })

  test('MI-11 it is delivered to the letter, whatever it is written with', async () => {
    const id = await runtimes.made()
    for (const secret of ['e\u0301', '\u00e9', 'A\u030a', '\u2126', ' a\n\t"\\', '\u{1f511}']) {
      await deposit(id, secret, 'letter')
      const { wrapping_token } = (await deliver(id, 'letter')).body
      expect((await open(id, wrapping_token)).body.secret).toBe(secret)
    }
  })

  test('MI-11 what is no name or no secret is refused, and not repeated', async () => {
    const id = await runtimes.made()
    for (const body of [
      { name: 'Db', secret: newSecret() },
      { name: '', secret: newSecret() },
      { name: 'x'.repeat(64), secret: newSecret() },
      { name: 'db', secret: '' },
      { name: 'db', secret: 'canary'.repeat(3000) },
      { name: 'db', secret: ['canary'] },
      { name: 'db', secret: { canary: 'canary' } },
      { name: 'db', secret: 'x', note: 'canary' },
    ]) {
      const answered = await live.call('adam', 'POST', runtimes.one(id, '/credentials'), { body })
      expect(answered.status).toBe(400)
      expect(answered.text).not.toContain('canary')
    }
    // What would be a secret anywhere else may be one here.
    for (const secret of [
      `ghsa_${'A'.repeat(49)}`,
      '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----',
      'eyJhbGciOiJFUzI1NiJ9.e30.AAAA',
    ]) {
      expect((await deposit(id, secret)).status).toBe(201)
      expect((await open(id, await promised(id))).body.secret).toBe(secret)
      expect((await deposit(id, 'x', 'other', { reason: secret })).status).toBe(400)
    }
  })

  test('MI-11 asked again with the same key it is left once; nothing is kept of it by which a guess could be tried', async () => {
    const [id, secret, key] = [await runtimes.made(), newSecret(), `again-${Date.now()}`]
    const headers = { 'idempotency-key': key }
    const [first, again] = [await deposit(id, secret, 'db', {}, headers), await deposit(id, secret, 'db', {}, headers)]
    expect([again.status, again.body]).toEqual([201, first.body])
    expect(await listed(id)).toHaveLength(1)
    // Another secret is another request.
    expect(refused(await deposit(id, `${secret}!`, 'db', {}, headers)).slice(0, 2)).toEqual([422, 'idempotency_key_reused'])
    const [kept] = await live.sql<{ request_hash: string }>('select * from idempotency_keys where key = $1', [key])
    expect(JSON.stringify(kept)).not.toContain('canary')
    const { depositRuntimeCredential } = await import('@gatehouse/contract/runtime-credentials')
    const { requestHash } = await import('#rails/http/idempotency.ts')
    const guessed = requestHash(depositRuntimeCredential, {
      params: { org_id: org.aurora, shared_runtime_id: id },
      query: {},
      body: { name: 'db', secret },
    })
    expect(kept!.request_hash).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(kept!.request_hash).not.toBe(guessed)
  })
})

test('MI-11 after a restore neither what waits nor what was left before counts; it can be left anew', async () => {
  const { id } = await withSecret()
  const expected = await nothing()
  const waiting = (await deliver(id)).body
  await live.sql('update installation set epoch = epoch + 1')
  expect(bytesOf(await open(id, waiting.wrapping_token))).toEqual(expected)
  expect(refused(await deliver(id)).slice(0, 2)).toEqual([404, 'runtime_credential_not_found'])
  expect((await listed(id))[0]).toMatchObject({ state: 'ended_by_restore' })
  expect((await recordOf(waiting.delivery_id, 'delivery.unwrap', 'denied')).map(({ metadata }) => metadata.why)).toEqual([
    'ended_by_restore',
  ])
  const next = newSecret()
  expect((await deposit(id, next)).body).toMatchObject({ version: 2, state: 'active' })
  expect((await open(id, await promised(id))).body.secret).toBe(next)
})
