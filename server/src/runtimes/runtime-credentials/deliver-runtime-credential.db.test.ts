import { setTimeout } from 'node:timers/promises'
import { listOrganizationAuditLogs } from '@gatehouse/contract/audit-logs'
import { removeOrganizationPolicyValue, setOrganizationPolicyValue } from '@gatehouse/contract/policies'
import { deleteSharedRuntime, disableSharedRuntime, enableSharedRuntime } from '@gatehouse/contract/shared-runtimes'
import { describe, expect, test } from 'vitest'
import { alteredDatabase } from '../../../../test/altered-database.ts'
import { type Answered, noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'
import { because, bytesOf, newSecret, refused, runtimeCredentialsOn } from '../../../../test/runtime-credential-scene.ts'
import { believingOperators } from '../../../../test/runtime-scene.ts'
import { forgetDeliveries } from '../deliveries/forget-deliveries.ts'
import { lockRuntime } from '../shared-runtimes/shared-runtime-queries.ts'

const { org } = seeded

const live = serverFixture({ parts: believingOperators, policies: noRateLimits })
const { deliver, deposit, doors, nothing, open, promised, recordOf, revoke, runtimes, stateOf, withSecret } = runtimeCredentialsOn(live)

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
    const log = await live.ask('alice', listOrganizationAuditLogs, { params: { org_id: org.aurora }, query: { limit: 10 } })
    const shown = log.body.items.find((item: { correlation_id: string }) => item.correlation_id === again.body.correlation_id)
    expect(shown!.sentence).toContain(
      `tried to open a delivery of version 1 of db, and got nothing (opened_before): delivery ${delivery_id}.`,
    )
  })

  test('MI-11 how long it waits is a policy, which a tenant can shorten', async () => {
    const { id } = await withSecret()
    const set = await live.ask('alice', setOrganizationPolicyValue, {
      params: { org_id: org.aurora, key: 'deliveries.ttl_seconds' },
      body: { value: 10, ...because },
    })
    expect(set.status).toBeLessThan(300)
    const { body } = await deliver(id)
    expect(Date.parse(body.expires_at) - Date.now()).toBeLessThanOrEqual(10_000)
    await live.ask('alice', removeOrganizationPolicyValue, { params: { org_id: org.aurora, key: 'deliveries.ttl_seconds' }, body: because })
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
    expect(
      (
        await live.ask('alice', setOrganizationPolicyValue, {
          params: { org_id: org.aurora, key: 'deliveries.max_waiting_per_requester' },
          body: { value: 3, ...because },
        })
      ).status,
    ).toBeLessThan(300)
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
      await live.ask('alice', removeOrganizationPolicyValue, {
        params: { org_id: org.aurora, key: 'deliveries.max_waiting_per_requester' },
        body: because,
      })
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
    expect(
      (await live.ask('adam', disableSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id }, body: because })).status,
    ).toBe(200)
    const [ended] = await recordOf(id, 'shared_runtime.deliveries.end')
    expect(ended!.metadata).toMatchObject({ deliveries_ended_count: 3 })
    expect(
      (await live.ask('adam', enableSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id }, body: because })).status,
    ).toBe(200)
    for (const name of ['db', 'other']) expect((await deliver(id, name)).status).toBe(201)
    expect((await deposit(id, newSecret())).status).toBe(201)
    expect((await revoke(id, other.id)).status).toBe(204)
    expect((await deliver(id)).status).toBe(201)
    expect(
      (await live.ask('adam', deleteSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id }, body: because })).status,
    ).toBe(204)
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
    await live.ask('adam', disableSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id }, body: because })
    for (const base of doors()) expect(bytesOf(await open(id, waiting.wrapping_token, { base }))).toEqual(expected)
    expect(refused(await deliver(id))).toEqual([403, 'insufficient_permissions', 'actor_disabled'])
    expect(await recordOf(id, 'shared_runtime.deliveries.end')).toMatchObject([
      { metadata: { deliveries_ended: [waiting.delivery_id], deliveries_ended_count: 1, reason: 'because' } },
    ])
    // A secret that has leaked is replaced while the runtime rests.
    expect((await deposit(id, secret)).status).toBe(201)
    await live.ask('adam', enableSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id }, body: because })
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
    for (const verb of ['disable', 'enable'] as const) await runtimes.move(id, verb, 'adam', deaf.url)
    expect((await open(id, token)).body.secret).toBe(secret)
  })

  test('MI-11 with a runtime that is deleted its secrets and what waits of them are gone', async () => {
    const { id, credential } = await withSecret()
    const waiting = (await deliver(id)).body
    await live.ask('adam', deleteSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id }, body: because })
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
        () => live.ask('adam', disableSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id }, body: because }),
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
