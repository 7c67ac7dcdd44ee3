import { setTimeout } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { alteredDatabase } from '../../../test/altered-database.ts'
import { fixture } from '../../../test/fixture.ts'
import { type Answered, noRateLimits, seeded, serverFixture, testKeys } from '../../../test/live-server.ts'
import { believingOperators, runtimesOn, strange } from '../../../test/runtime-scene.ts'
import { parseKeyRing } from '../custody/key-ring.ts'
import { forgetDeliveries } from '../deliveries/forget-deliveries.ts'
import { rewrap } from '../installation/rewrap.ts'
import { lockRuntime } from '../shared-runtimes/shared-runtime-queries.ts'
import { envelopeColumns } from '../wiring.ts'
import { runtimeCredentialEnvelopes } from './runtime-credential.ts'

const { org } = seeded
const because = { reason: 'because' }
const unwrapping = '/api/v1/deliveries/unwrap'

const live = serverFixture({ parts: believingOperators, policies: noRateLimits })
const replicas = [fixture(() => live.replica(believingOperators)), fixture(() => live.replica(believingOperators))]
/** The same database, by three processes. */
const doors = () => [live, ...replicas].map(({ url }) => url)
const runtimes = runtimesOn(live)

const refused = ({ status, body }: Answered) => [status, body?.code, body?.details?.reason_code]
const bytesOf = ({ status, text, body }: Answered) => [status, text.replace(body.correlation_id, '')]

let secrets = 0
/** A secret as people think of one: nothing about it says that it is one. */
const newSecret = () => {
  secrets += 1
  return `canary-${secrets} "pässword" \\ ${'x'.repeat(40)}`
}
const deposit = (id: string, secret: string, name = 'db', more: object = {}, headers: Record<string, string> = {}, who = 'adam') =>
  live.call(who, 'POST', runtimes.one(id, '/credentials'), { body: { name, secret, ...more }, headers })
const listed = async (id: string) => (await live.call('adam', 'GET', runtimes.one(id, '/credentials'))).body.items
const revoke = (id: string, credential_id: string, who = 'adam') =>
  live.call(who, 'DELETE', runtimes.one(id, `/credentials/${credential_id}`), { body: because })
interface Operating {
  base?: string
  path?: string
  headers?: Record<string, string>
  org_id?: string
}
/** Believed at its word, so that it can ask what no token would be issued for any more. */
const operate = (id: string, method: string, path: string, body?: object, { base, headers = {}, org_id = org.aurora }: Operating = {}) =>
  live.call(
    null,
    method,
    path,
    { ...(body ? { body } : {}), headers: { authorization: `Bearer operator.${org_id}.${id}`, ...headers } },
    base,
  )
const deliver = (id: string, name = 'db', more: Operating = {}) =>
  operate(id, 'POST', more.path ?? runtimes.one(id, '/credential-deliveries', more.org_id), { name }, more)
const promised = async (id: string, name = 'db'): Promise<string> => (await deliver(id, name)).body.wrapping_token
const open = (id: string, wrapping_token: string, more: Operating = {}) => operate(id, 'POST', unwrapping, { wrapping_token }, more)
const withSecret = async () => {
  const [id, secret] = [await runtimes.made(), newSecret()]
  const { body } = await deposit(id, secret)
  return { id, secret, credential: body as { id: string; version: number } }
}
/** What everybody gets who opens what he cannot. */
const nothing = async () => bytesOf(await open(await runtimes.made(), 'ghwd_'.padEnd(54, 'A')))
const stateOf = async (delivery_id: string) =>
  (await live.sql('select state from wrapped_deliveries where id = $1', [delivery_id]))[0]!.state
interface Row {
  action: string
  result: string
  severity: string
  actor_id: string
  tenant_id: string | null
  correlation_id: string
  metadata: Record<string, unknown>
}
const recordOf = async (id: string, action?: string, result?: string) =>
  (
    await live.sql<Row>(
      `select action, result, severity, actor_id, tenant_id, correlation_id, metadata
         from audit_logs where (resource_id = $1 or metadata ->> 'subject_id' = $1) order by id`,
      [id],
    )
  ).filter((row) => (action ?? row.action) === row.action && (result ?? row.result) === row.result)

describe('secrets that are left for a runtime', () => {
  test('MI-11 a secret is left, listed by name, delivered to its operator, and in no other answer', async () => {
    for (const runtime_backend of ['slurm', 'k8s', 'ray', 'bare_metal']) {
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
      expect((await live.call(who, 'POST', runtimes.one(id, '/credential-deliveries'), { body: { name: 'db' } })).status).toBe(403)
      expect((await live.call(who, 'POST', unwrapping, { body: { wrapping_token: await promised(id) } })).status).toBe(403)
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
    const { requestHash } = await import('../http/idempotency.ts')
    const guessed = requestHash(depositRuntimeCredential, {
      params: { org_id: org.aurora, shared_runtime_id: id },
      query: {},
      body: { name: 'db', secret },
    })
    expect(kept!.request_hash).toMatch(/^[A-Za-z0-9_-]{43}$/)
    expect(kept!.request_hash).not.toBe(guessed)
  })
})

describe('wrapped delivery', () => {
  test('MI-11 X10 opened twice, by another operator, too late, or by what is no token: the same bytes, and nothing else', async () => {
    const [{ id, secret }, other] = [await withSecret(), await withSecret()]
    const expected = await nothing()
    expect(expected[0]).toBe(404)
    expect(expected[1]).toContain('delivery_not_found')
    const { wrapping_token, delivery_id } = (await deliver(id)).body
    expect(bytesOf(await open(other.id, wrapping_token))).toEqual(expected)
    expect(await stateOf(delivery_id)).toBe('waiting')
    // Of another tenant, with a runtime of its own.
    const { body: foreign } = await runtimes.create({}, 'boris', org.borealis)
    const crossing = await open(foreign.id, wrapping_token, { org_id: org.borealis })
    expect(bytesOf(crossing)).toEqual(expected)
    // Nor has it a name of another's delivered, in its own place or in that one's.
    expect(refused(await deliver(foreign.id, 'db', { org_id: org.borealis })).slice(0, 2)).toEqual([404, 'runtime_credential_not_found'])
    for (const org_id of [org.aurora, org.borealis])
      expect(
        refused(await deliver(foreign.id, 'db', { org_id: org.borealis, path: runtimes.one(id, '/credential-deliveries', org_id) })),
      ).toEqual([403, 'insufficient_permissions', 'scope_mismatch'])
    expect((await open(id, wrapping_token)).body.secret).toBe(secret)
    for (const base of doors()) expect(bytesOf(await open(id, wrapping_token, { base }))).toEqual(expected)
    const late = (await deliver(id)).body
    await live.sql(
      `update wrapped_deliveries set created_at = now() - interval '2 minutes', ends_at = now() - interval '1 second' where id = $1`,
      [late.delivery_id],
    )
    expect(bytesOf(await open(id, late.wrapping_token))).toEqual(expected)
    for (const none of ['x', 'ghwd_', `${wrapping_token}A`, wrapping_token.slice(0, -1), wrapping_token.toLowerCase(), ' '])
      expect(bytesOf(await open(id, none))).toEqual(expected)

    const why = (await recordOf(delivery_id, 'delivery.unwrap', 'denied')).map(({ severity, actor_id, tenant_id, metadata }) => [
      metadata.why,
      severity,
      actor_id,
      tenant_id,
    ])
    expect(why).toEqual([
      ['other_requester', 'high', other.id, org.aurora],
      // Whoever crosses tenants is the platform's business.
      ['other_requester', 'high', foreign.id, null],
      ...doors().map(() => ['opened_before', 'high', id, org.aurora]),
    ])
    // Its own tenant reads that it tried, as of a token that nobody has made: by its record no tenant finds out what others have.
    const ownRows = await Promise.all(
      [crossing, await open(foreign.id, 'ghwd_', { org_id: org.borealis })].map(async ({ body }) => {
        const rows = (await live.auditOf(body.correlation_id)) as unknown as Record<string, unknown>[]
        return rows
          .filter(({ tenant_id }) => tenant_id === org.borealis)
          .map(({ action, result, reason_code, resource_type, resource_id, severity, metadata }) => ({
            action,
            result,
            reason_code,
            resource_type,
            resource_id,
            severity,
            metadata,
          }))
      }),
    )
    expect(ownRows[0]).toMatchObject([{ action: 'delivery.unwrap', result: 'denied', metadata: { shared_runtime_id: foreign.id } }])
    expect(ownRows[0]).toEqual(ownRows[1])
    expect(
      (await recordOf(late.delivery_id, 'delivery.unwrap', 'denied')).map(({ severity, metadata }) => [metadata.why, severity]),
    ).toEqual([['expired', 'warning']])
  })

  test('MI-11 AU-01 each refusal to open one is a row, told of the delivery where there is one, in words of its own', async () => {
    const [{ id }, other] = [await withSecret(), await withSecret()]
    const { wrapping_token, delivery_id } = (await deliver(id)).body
    const rowsOf = async ({ body }: Answered) => (await live.auditOf(body.correlation_id)) as unknown as Record<string, unknown>[]
    const told = { action: 'delivery.unwrap', result: 'denied', reason_code: 'delivery_not_found', tenant_id: org.aurora }
    const of = { ...told, resource_type: 'delivery', resource_id: delivery_id, severity: 'high' }
    expect(await rowsOf(await open(other.id, wrapping_token))).toMatchObject([{ ...of, actor_id: other.id }])
    await open(id, wrapping_token)
    const again = await open(id, wrapping_token)
    expect(await rowsOf(again)).toMatchObject([
      { ...of, actor_id: id, metadata: { status: 404, shared_runtime_id: id, name: 'db', version: 1, why: 'opened_before' } },
    ])
    expect(await rowsOf(await open(id, 'nobodys'))).toMatchObject([
      { ...told, resource_type: 'operation', resource_id: null, severity: 'warning' },
    ])
    const log = await live.call('alice', 'GET', `/api/v1/orgs/${org.aurora}/audit-logs?limit=10`)
    const shown = log.body.items.find((item: { correlation_id: string }) => item.correlation_id === again.body.correlation_id)
    expect(shown.sentence).toContain(
      `tried to open a delivery of version 1 of db, and got nothing (opened_before): delivery ${delivery_id}.`,
    )
  })

  test('MI-11 how long it waits is a policy, which a tenant can shorten', async () => {
    const { id } = await withSecret()
    const path = `/api/v1/orgs/${org.aurora}/policies/values/deliveries.ttl_seconds`
    const set = await live.call('alice', 'PUT', path, { body: { value: 10, ...because } })
    expect(set.status).toBeLessThan(300)
    const { body } = await deliver(id)
    expect(Date.parse(body.expires_at) - Date.now()).toBeLessThanOrEqual(10_000)
    await live.call('alice', 'DELETE', path, { body: because })
  })

  test('MI-11 one whose time is up while it is being opened does not open', async () => {
    const { id } = await withSecret()
    const expected = await nothing()
    const { wrapping_token, delivery_id } = (await deliver(id)).body
    let opening: Promise<Answered> | undefined
    // Somebody changes the runtime, and takes his time.
    await live.database.transaction('write', async (tx) => {
      await tx.many(lockRuntime(org.aurora, id))
      await live.sql(`update wrapped_deliveries set ends_at = clock_timestamp() + interval '300 milliseconds' where id = $1`, [delivery_id])
      opening = open(id, wrapping_token)
      await setTimeout(600)
    })
    expect(bytesOf(await opening!)).toEqual(expected)
    expect(await stateOf(delivery_id)).toBe('waiting')
    expect((await recordOf(delivery_id)).map(({ metadata }) => metadata.why)).toEqual(['expired'])
  })

  test('MI-11 no more wait at a time than the limit says, by however many it is asked at once; what is opened or over makes room', async () => {
    const { id } = await withSecret()
    const path = `/api/v1/orgs/${org.aurora}/policies/values/deliveries.max_waiting_per_requester`
    expect((await live.call('alice', 'PUT', path, { body: { value: 3, ...because } })).status).toBeLessThan(300)
    try {
      const asked = await Promise.all(Array.from({ length: 9 }, (_, at) => deliver(id, 'db', { base: doors()[at % doors().length]! })))
      const made = asked.filter(({ status }) => status === 201)
      expect(made).toHaveLength(3)
      for (const { status, body } of asked.filter((one) => !made.includes(one)))
        expect([status, body.code, body.details]).toEqual([
          409,
          'limit_reached',
          { policy: 'deliveries.max_waiting_per_requester', limit: 3 },
        ])
      // Another runtime's are its own.
      const other = await withSecret()
      expect((await deliver(other.id)).status).toBe(201)
      expect((await open(id, made[0]!.body.wrapping_token)).status).toBe(200)
      expect((await deliver(id)).status).toBe(201)
      expect((await deliver(id)).status).toBe(409)
      await live.sql(`update wrapped_deliveries set created_at = now() - interval '2 minutes', ends_at = now() where id = $1`, [
        made[1]!.body.delivery_id,
      ])
      expect((await deliver(id)).status).toBe(201)
      expect((await deliver(id)).status).toBe(409)
    } finally {
      await live.call('alice', 'DELETE', path, { body: because })
    }
  })

  test('MI-11 however many were never opened, the runtime is disabled and deleted, its secrets are replaced and taken back', {
    timeout: 60_000,
  }, async () => {
    const { id } = await withSecret()
    const other = (await deposit(id, newSecret(), 'other')).body
    // As many as an operator can ask for in half an hour, when it opens none of them.
    await live.sql(
      `insert into wrapped_deliveries (id, kind, subject_id, org_id, requester_type, requester_id, token_hash, epoch, created_at, ends_at, state_since)
       select gen_random_uuid(), 'shared_runtime_credential', c.id, $2, 'shared_runtime_operator', $1, sha256(gen_random_uuid()::text::bytea),
              i.epoch, now() - interval '1 hour', now() - interval '1 minute', now()
         from installation i cross join shared_runtime_credentials c cross join generate_series(1, 75000) where c.shared_runtime_id = $1`,
      [id, org.aurora],
    )
    for (const name of ['db', 'db', 'other']) expect((await deliver(id, name)).status).toBe(201)
    expect((await live.call('adam', 'POST', runtimes.one(id, '/disable'), { body: because })).status).toBe(200)
    const [ended] = await recordOf(id, 'shared_runtime.deliveries.end')
    expect(ended!.metadata).toMatchObject({ deliveries_ended_count: 3 })
    expect((await live.call('adam', 'POST', runtimes.one(id, '/enable'), { body: because })).status).toBe(200)
    for (const name of ['db', 'other']) expect((await deliver(id, name)).status).toBe(201)
    expect((await deposit(id, newSecret())).status).toBe(201)
    expect((await revoke(id, other.id)).status).toBe(204)
    expect((await deliver(id)).status).toBe(201)
    expect((await live.call('adam', 'DELETE', runtimes.one(id), { body: because })).status).toBe(204)
    const states = 'select state, count(*)::int as count from wrapped_deliveries where requester_id = $1 group by state order by state'
    expect(await live.sql(states, [id])).toEqual([
      { state: 'revoked', count: 6 },
      { state: 'waiting', count: 150_000 },
    ])
    // What is long over goes, a few at a time.
    await live.sql(
      `update wrapped_deliveries set created_at = now() - interval '3 days', ends_at = now() - interval '1 day' where id in (
         select id from wrapped_deliveries where requester_id = $1 and state = 'waiting' limit 7)`,
      [id],
    )
    expect(await forgetDeliveries(live.database, 3)).toBe(7)
    expect(await forgetDeliveries(live.database, 3)).toBe(0)
  })

  test('MI-11 the record names at most twenty of those that ended, and counts them all', async () => {
    const { id, credential } = await withSecret()
    await live.setPolicy('deliveries.max_waiting_per_requester', 30)
    try {
      for (let at = 0; at < 25; at += 1) await deliver(id)
      await revoke(id, credential.id)
      const [recorded] = await recordOf(credential.id, 'shared_runtime.credential.revoke')
      expect(recorded!.metadata.deliveries_ended_count).toBe(25)
      expect(recorded!.metadata.deliveries_ended).toHaveLength(20)
    } finally {
      await live.setPolicy('deliveries.max_waiting_per_requester', 20)
    }
  })

  test('MI-11 of fifty who open it at once, by several processes, one has it', { timeout: 60_000 }, async () => {
    const { id, secret } = await withSecret()
    const expected = await nothing()
    const { wrapping_token, delivery_id } = (await deliver(id)).body
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, at) => open(id, wrapping_token, { base: doors()[at % doors().length]! })),
    )
    expect(answers.filter(({ status }) => status === 200).map(({ body }) => body.secret)).toEqual([secret])
    for (const lost of answers.filter(({ status }) => status !== 200)) expect(bytesOf(lost)).toEqual(expected)
    expect(await recordOf(delivery_id, 'delivery.unwrap', 'success')).toHaveLength(1)
    const lost = await recordOf(delivery_id, 'delivery.unwrap', 'denied')
    expect(lost.map(({ severity, metadata }) => [severity, metadata.why])).toEqual(Array(49).fill(['high', 'opened_before']))
  })

  test('MI-11 the test would notice a server that lets several through', async () => {
    const hasty = await live.replica((parts) =>
      believingOperators({
        ...parts,
        database: alteredDatabase(
          parts.database,
          { of: 'from wrapped_deliveries', rows: (rows) => rows.map((row) => ({ ...(row as object), state: 'waiting' })) },
          { of: 'update wrapped_deliveries', text: (text) => text.replace(`and d.state = 'waiting'`, '') },
        ),
      }),
    )
    const { id } = await withSecret()
    const token = await promised(id)
    const answers = await Promise.all(Array.from({ length: 5 }, () => open(id, token, { base: hasty.url })))
    expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(1)
  })

  test('MI-11 disabling the runtime ends what waits, on every process, also when it is enabled again; the secret stays', async () => {
    const { id, secret } = await withSecret()
    const expected = await nothing()
    const waiting = (await deliver(id)).body
    await live.call('adam', 'POST', runtimes.one(id, '/disable'), { body: because })
    for (const base of doors()) expect(bytesOf(await open(id, waiting.wrapping_token, { base }))).toEqual(expected)
    expect(refused(await deliver(id))).toEqual([403, 'insufficient_permissions', 'actor_disabled'])
    expect(await recordOf(id, 'shared_runtime.deliveries.end')).toMatchObject([
      { metadata: { deliveries_ended: [waiting.delivery_id], deliveries_ended_count: 1, reason: 'because' } },
    ])
    // A secret that has leaked is replaced while the runtime rests.
    expect((await deposit(id, secret)).status).toBe(201)
    await live.call('adam', 'POST', runtimes.one(id, '/enable'), { body: because })
    for (const base of doors()) expect(bytesOf(await open(id, waiting.wrapping_token, { base }))).toEqual(expected)
    expect((await open(id, await promised(id))).body.secret).toBe(secret)
  })

  test('MI-11 the test would notice a server that goes on delivering', async () => {
    const deaf = await live.replica((parts) =>
      believingOperators({
        ...parts,
        database: alteredDatabase(parts.database, { of: `update wrapped_deliveries set state = 'revoked'`, instead: async () => [] }),
      }),
    )
    const { id, secret } = await withSecret()
    const token = await promised(id)
    for (const verb of ['/disable', '/enable']) await live.call('adam', 'POST', runtimes.one(id, verb), { body: because }, deaf.url)
    expect((await open(id, token)).body.secret).toBe(secret)
  })

  test('MI-11 with a runtime that is deleted its secrets and what waits of them are gone', async () => {
    const { id, credential } = await withSecret()
    const waiting = (await deliver(id)).body
    await live.call('adam', 'DELETE', runtimes.one(id), { body: because })
    expect([401, 403, 404]).toContain((await open(id, waiting.wrapping_token)).status)
    expect(await stateOf(waiting.delivery_id)).toBe('revoked')
    expect(await live.sql('select state, envelope from shared_runtime_credentials where id = $1', [credential.id])).toEqual([
      { state: 'revoked', envelope: null },
    ])
    expect(await recordOf(credential.id, 'shared_runtime.credential.revoke')).toMatchObject([
      { metadata: { name: 'db', version: 1, cause: 'runtime_deleted' } },
    ])
  })

  test('MI-11 an opening that races with disabling, revoking or replacing either came before or gets nothing', async () => {
    for (let round = 0; round < 6; round += 1) {
      const { id, secret, credential } = await withSecret()
      const { wrapping_token, delivery_id } = (await deliver(id)).body
      const endings = [
        () => live.call('adam', 'POST', runtimes.one(id, '/disable'), { body: because }),
        () => revoke(id, credential.id),
        () => deposit(id, newSecret()),
      ]
      const [opened, ended] = await Promise.all([open(id, wrapping_token, { base: doors()[1]! }), endings[round % 3]!()])
      expect(ended.status).toBeLessThan(300)
      const state = await stateOf(delivery_id)
      expect(state).toBe(opened.status === 200 ? 'opened' : 'revoked')
      if (opened.status === 200) expect(opened.body.secret).toBe(secret)
      else expect(bytesOf(opened)).toEqual(await nothing())
    }
  })

  test('MI-11 everything is recorded by name and version, and nothing by its content', async () => {
    const { id, credential } = await withSecret()
    const { wrapping_token, delivery_id } = (await deliver(id)).body
    await open(id, wrapping_token)
    await open(id, wrapping_token)
    await revoke(id, credential.id)
    const rows = await recordOf(credential.id)
    expect(rows.map(({ action, metadata: { name, version } }) => [action, name, version])).toEqual(
      [
        'shared_runtime.credential.deposit',
        'shared_runtime.credential.deliver',
        'delivery.unwrap',
        'delivery.unwrap',
        'shared_runtime.credential.revoke',
      ].map((action) => [action, 'db', 1]),
    )
    expect(rows[1]).toMatchObject({ actor_id: id, tenant_id: org.aurora, metadata: { shared_runtime_id: id, delivery_id } })
    const [told] = await live.sql<{ all: string }>(
      `select coalesce(string_agg(a::text, ' '), '') || coalesce((select string_agg(k::text, ' ') from idempotency_keys k), '')
           || coalesce((select string_agg(d::text, ' ') from wrapped_deliveries d), '') || coalesce((select string_agg(c::text, ' ') from shared_runtime_credentials c), '') as all
         from audit_logs a`,
    )
    expect(told!.all).toContain(delivery_id)
    expect(told!.all).not.toContain('canary')
    expect(told!.all).not.toContain('ghwd_')
  })

  test('MI-11 the answers are given once: asked again with the same key, it is said which it was and nothing more', async () => {
    const { id, secret } = await withSecret()
    const headers = (key: string) => ({ headers: { 'idempotency-key': `${key}-${id}` } })
    const first = (await deliver(id, 'db', headers('deliver'))).body
    const again = await deliver(id, 'db', headers('deliver'))
    expect([again.status, again.body.code, again.body.details]).toEqual([
      409,
      'credential_already_issued',
      { credential_session_id: first.delivery_id },
    ])
    expect((await open(id, first.wrapping_token, headers('open'))).body.secret).toBe(secret)
    const twice = await open(id, first.wrapping_token, headers('open'))
    expect([twice.status, twice.body.code]).toEqual([409, 'credential_already_issued'])
    expect(twice.text).not.toContain('canary')
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
