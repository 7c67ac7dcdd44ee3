import { restoreProject } from '@gatehouse/contract/projects'
import { listProjectBindings } from '@gatehouse/contract/role-bindings'
import { revokeTokens } from '@gatehouse/contract/tokens'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { Fresh, Known, Wanted } from '#ground/epochs/fresh.ts'
import { newId } from '#ground/kernel/ids.ts'
import { signText } from '#people/principals/oidc/testing/local-issuer.ts'
import { fixture } from '../../../../test/fixture.ts'
import { liveServer, seeded, serverFixture } from '../../../../test/live-server.ts'
import { machineOn } from '../../../../test/machine.ts'
import { machineWithSecret } from '../../../../test/machine-credential.ts'
import { typeOf } from './machine-class.ts'
import { secondOf } from './testing/own-keys.ts'

let all: string[]
const rejected: string[] = []
const { org, project, user } = seeded
const home = { org_id: org.aurora, project_id: project.aurora }

const live = serverFixture({ parts: { onRejected: (code) => rejected.push(code) } }, async (live) => {
  all = [live.url, (await live.replica()).url, (await live.replica()).url]
})
const machine = fixture(() => machineOn(live.sql, home))
afterEach(() => {
  vi.useRealTimers()
})

const creating = { action: 'allocation.create', resource: { type: 'allocation', tenant_id: org.aurora, project_id: project.aurora } }
const sent = (token: string, method: string, path: string, body?: unknown, base = live.url) =>
  live.call(null, method, path, { headers: { authorization: `Bearer ${token}` }, ...(body === undefined ? {} : { body }) }, base)
/** What the token opens: the decision on what its account may do, or how it was refused. */
const opens = async (token: string, base = live.url): Promise<string> => {
  const { status, body } = await sent(token, 'POST', '/api/v1/authz/decisions', creating, base)
  return status === 200 ? body.decision : `${status} ${body.code}${body.details?.reason_code ? ` ${body.details.reason_code}` : ''}`
}
const onAll = (token: string) => Promise.all(all.map((base) => opens(token, base)))
const three = (said: string) => [said, said, said]
const dead = '401 token_invalid'

describe('a live token', () => {
  test('TI-15 opens what its account may do, on every process', async () => {
    const { token } = await machine.mint()
    expect(await onAll(token)).toEqual(three('allow'))
    expect((await sent(token, 'GET', `/api/v1/projects/${project.aurora}/role-bindings`)).status).toBe(200)
  })

  test('TI-15 is compared with the path before anything is looked up', async () => {
    const { token } = await machine.mint()
    for (const other of [project.borealis, newId('project')]) {
      const { status, body } = await sent(token, 'GET', `/api/v1/projects/${other}/role-bindings`)
      expect([status, body.details]).toMatchObject([403, { reason_code: 'scope_mismatch' }])
    }
  })

  test('TI-15 a token without a row is 401', async () => {
    expect(await opens((await machine.mint({ is_recorded: false })).token)).toBe(dead)
  })

  test.each([
    ['sub', { sub: newId('service_account') }],
    ['another organization', { org_id: org.borealis }],
    ['another project', { project_id: project.borealis }],
    ['another jti', { jti: newId('token') }],
    ['a wider scope', { scope: 'allocation.create allocation.read project.role.read storage.write' }],
    ['a scope in another order', { scope: 'allocation.read allocation.create project.role.read' }],
    ['a scope of nothing', { scope: 'me.read' }],
  ])('TI-15 a signed token whose record says something else is 401: %s', async (_what, claims) => {
    expect(await opens((await machine.mint({ claims })).token)).toBe(dead)
  })

  test('TI-15 T6 exp − iat is held against the lifetime that was recorded', async () => {
    const iat = Math.floor(Date.now() / 1000) - 10
    for (const claims of [{ exp: iat + 7200 }, { exp: iat + 600 }, { iat, exp: iat + 3600 }])
      expect(await opens((await machine.mint({ claims })).token)).toBe(dead)
  })

  test.each([
    ['audience', { audience: `'gpuaas-node'` }],
    ['class', { actor_type: `'workload'` }],
    ['type', { typ: `'wl+jwt'` }],
    ['actor', { actor_id: `'${newId('service_account')}'` }],
    ['epoch before', { epoch: '99' }],
    ['credential', { credential_id: `'${newId('service_account_key')}'` }],
  ])('TI-15 T8 what a token is comes from its record too: another %s is 401', async (_what, row) => {
    expect(await opens((await machine.mint({ row })).token)).toBe(dead)
  })

  test('TI-15 T7 T8 an account whose id is also somebody else’s is still only what its token’s type and record say', async () => {
    const runtime = { actor_type: 'shared_runtime_operator', shared_runtime_id: machine.account_id, project_id: undefined }
    const header = { typ: typeOf.shared_runtime_operator }
    expect(await opens((await machine.mint({ claims: runtime, header })).token)).toBe(dead)
    expect(await opens((await machine.mint({ claims: { ...runtime, project_id: project.aurora }, header })).token)).toBe(dead)
    expect(await opens((await machine.mint({ claims: { shared_runtime_id: machine.account_id } })).token)).toBe(dead)
    // Also where the record agrees: nobody vouches for a class that has no actors yet.
    const row = { actor_type: `'shared_runtime_operator'`, typ: `'${header.typ}'`, project_id: 'null' }
    expect(await opens((await machine.mint({ claims: runtime, header, row })).token)).toBe(dead)
  })

  test('TI-15 T7 a person’s provider cannot speak as us, nor we as it', async () => {
    const { claims } = await machine.mint()
    const asUs = await signText(live.issuer.key, JSON.stringify(claims), { typ: 'sa+jwt' })
    expect(await opens(asUs)).toBe(dead)
    const now = Math.floor(Date.now() / 1000)
    const asThem = await machine.mint({ claims: live.issuer.claims(now, { sub: 'alice' }), header: { typ: 'at+jwt' } })
    expect(await opens(asThem.token)).toBe(dead)
  })

  test('TI-15 has one spelling: the second signature that anybody can make of the first is 401, for tokens of the issuer too', async () => {
    const { body } = await (await machineWithSecret(live)).ask()
    for (const token of [body.access_token as string, (await machine.mint()).token]) {
      const [header, payload, signature] = token.split('.') as [string, string, string]
      const second = `${header}.${payload}.${secondOf(Buffer.from(signature, 'base64url')).toString('base64url')}`
      // Also where the first was seen before.
      expect([await opens(second), await opens(token), await opens(second)]).toEqual([dead, 'allow', dead])
    }
  })

  test('TI-15 T1 without an algorithm it is refused before anything is entered, and counted once', async () => {
    const { token } = await machine.mint()
    const [header, payload, signature] = token.split('.') as [string, string, string]
    const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString())
    for (const alg of ['none', 'None', 'NONE', ''])
      for (const last of ['', signature, 'AAAA']) {
        const reheaded = Buffer.from(JSON.stringify({ alg, kid, typ: 'sa+jwt' })).toString('base64url')
        const before = rejected.length
        const { status, body, headers } = await sent(`${reheaded}.${payload}.${last}`, 'POST', '/api/v1/authz/decisions', creating)
        expect([status, body.code]).toEqual([401, 'token_invalid'])
        expect(rejected.slice(before)).toEqual(['token_invalid'])
        expect(await live.auditOf(headers.get('x-correlation-id')!)).toEqual([])
      }
  })

  test('TI-15 time is the database’s: a process whose clock is set forward or back judges no differently', async () => {
    const [good, old] = [await machine.mint(), await machine.mint({ ttl_seconds: 1, row: { issued_at: `now() - interval '1 h'` } })]
    const over = await machine.mint({
      claims: { iat: good.claims.iat - 3600, exp: good.claims.iat - 1 },
      row: { issued_at: `to_timestamp(${good.claims.iat - 3600})`, expires_at: `to_timestamp(${good.claims.iat - 1})` },
    })
    expect(await opens(old.token)).toBe(dead)
    for (const shift of [0, -86_400_000, 86_400_000]) {
      vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + shift })
      expect([await opens(good.token), await opens(over.token)]).toEqual(['allow', '401 token_expired'])
      vi.useRealTimers()
    }
  })

  test('TI-15 a token comes to its end by the clock alone, without a change anywhere', async () => {
    /** Of the lives that end soon, the first that is long enough for this machine to see it. */
    const seenAlive = async (living: (seconds: number) => Promise<string>) => {
      for (let seconds = 1; seconds < 60; seconds *= 2) {
        const token = await living(seconds)
        if ((await opens(token)) === 'allow') return token
      }
      throw new Error('nothing was seen alive')
    }
    const token = await seenAlive(async (ttl_seconds) => (await machine.mint({ ttl_seconds })).token)
    await expect.poll(() => opens(token)).toBe('401 token_expired')
    const of = await seenAlive(async (seconds) => {
      const key = await machineOn(live.sql, home)
      const minted = await key.mint()
      await live.sql('update service_account_keys set expires_at = now() + make_interval(secs => $2) where id = $1', [
        key.key_id,
        seconds / 2,
      ])
      return minted.token
    })
    await expect.poll(() => opens(of)).toBe(dead)
  })
})

const bySql = (text: string, ...values: unknown[]) => live.sql(text, values)
const revoke = async (body: object, by = 'ada') => {
  const answered = await live.ask(by, revokeTokens, { body })
  expect(answered.status, answered.text).toBe(200)
  return answered
}

describe('what ends a token', () => {
  type Its = Awaited<ReturnType<typeof machineOn>> & { jti: string }
  const who = `, revoked_by = '${user('ada')}', revoke_reason = 'test'`
  const ends: [string, (its: Its) => Promise<unknown>][] = [
    ['the token is revoked', ({ jti }) => revoke({ token_id: jti })],
    ['what was issued for its credential is', ({ key_id }) => revoke({ credential_id: key_id })],
    ['what was issued to its actor is', ({ account_id }) => revoke({ actor: { type: 'service_account', id: account_id } })],
    ['what was issued in its project is', () => revoke({ project_id: project.aurora })],
    ['what was issued in its organization is', () => revoke({ org_id: org.aurora })],
    ['whatever was issued is', () => revoke({ platform: true })],
    ['its credential is revoked', ({ key_id }) => bySql(`update service_account_keys set revoked_at = now()${who} where id = $1`, key_id)],
    ['its credential expires', ({ key_id }) => bySql(`update service_account_keys set expires_at = now() where id = $1`, key_id)],
    [
      'its account is deleted',
      ({ account_id }) =>
        bySql(
          `update service_accounts set state = 'deleted', deleted_at = now(), deleted_by = $2, delete_reason = 'x' where id = $1`,
          account_id,
          user('ada'),
        ),
    ],
    ['a restored backup is accepted', () => bySql('update installation set epoch = epoch + 1')],
  ]

  test.each(ends)('TI-16 %s: the next request on every process is 401, and after a restart', async (_what, end) => {
    const one = await machineOn(live.sql, home)
    const { token, jti } = await one.mint()
    expect(await onAll(token)).toEqual(three('allow'))
    await end({ ...one, jti })
    expect(await onAll(token)).toEqual(three(dead))
    const restarted = await live.replica()
    expect(await opens(token, restarted.url)).toBe(dead)
  })

  const through: [string, (account: string, key_id: string) => [method: string, path: string], after: string, reissued: number][] = [
    ['its key is revoked', (account, key_id) => ['DELETE', `${account}/keys/${key_id}`], dead, 401],
    ['its account is deleted', (account) => ['DELETE', account], dead, 401],
    ['its account is disabled', (account) => ['POST', `${account}/disable`], '403 insufficient_permissions actor_disabled', 401],
    ['its project is archived', () => ['POST', `/api/v1/projects/${project.aurora}/archive`], dead, 403],
  ]
  test.each(through)(
    'TI-16 DE-21 a token of the issuer ends on every process when %s, and no other is issued',
    async (_what, of, after, reissued) => {
      const one = await machineWithSecret(live)
      const issued = await one.ask()
      expect(issued.status, issued.text).toBe(200)
      const { access_token } = issued.body
      expect(await onAll(access_token)).toEqual(three('allow'))
      // A secret is no token.
      expect(await opens(one.client_secret)).toBe(dead)
      const account = `/api/v1/projects/${project.aurora}/service-accounts/${one.service_account_id}`
      const [method, path] = of(account, one.key_id)
      const ended = await live.call('ada', method, path, { body: { reason: 'test' } })
      expect(ended.status, ended.text).toBeLessThan(300)
      expect(await onAll(access_token)).toEqual(three(after))
      for (const base of all) expect((await one.ask({}, {}, base)).status).toBe(reissued)
      if (reissued === 403) await live.ask('ada', restoreProject, { params: { project_id: project.aurora }, body: { reason: 'test' } })
    },
  )

  test('TI-13 its key is revoked: the next request on every process is 401', async () => {
    const { token, kid } = await machine.mint()
    expect(await onAll(token)).toEqual(three('allow'))
    await bySql(
      `update signing_keys set state = 'revoked', ended_at = now(), ended_by = $2, end_reason = 'x' where kid = $1`,
      kid,
      user('ada'),
    )
    expect(await onAll(token)).toEqual(three(dead))
    await bySql(`update signing_keys set state = 'active', ended_at = null, ended_by = null, end_reason = null where kid = $1`, kid)
    expect(await onAll(token)).toEqual(three('allow'))
  })

  test('TI-15 its account is disabled: 403 actor_disabled, and it is as it was when enabled again', async () => {
    const one = await machineOn(live.sql, home)
    const { token } = await one.mint()
    expect(await opens(token)).toBe('allow')
    const set = (state: string, rest: string) =>
      bySql(`update service_accounts set state = '${state}', ${rest} where id = $1`, one.account_id)
    await set('disabled', `disabled_at = now(), disabled_by = '${user('ada')}', disable_reason = 'x'`)
    const listing = () => sent(token, 'GET', `/api/v1/projects/${project.aurora}/role-bindings`)
    const { status, body } = await listing()
    expect([status, body.code, body.details]).toMatchObject([403, 'insufficient_permissions', { reason_code: 'actor_disabled' }])
    expect(await opens(token)).not.toBe('allow')
    await set('active', `disabled_at = null, disabled_by = null, disable_reason = null`)
    expect((await listing()).status).toBe(200)
  })

  test.each([
    [
      'organization',
      (act: 'down' | 'up') =>
        live.call('ada', 'POST', `/api/v1/orgs/${org.borealis}/${act === 'down' ? 'suspend' : 'resume'}`, { body: { reason: 'test' } }),
    ],
    [
      'project',
      (act: 'down' | 'up') =>
        live.call('ada', 'POST', `/api/v1/projects/${project.borealis}/${act === 'down' ? 'archive' : 'restore'}`, {
          body: { reason: 'test' },
        }),
    ],
  ] as const)('DE-21 its %s is stopped: it ends at once, and no way back revives it', async (_what, move) => {
    const other = await machineOn(live.sql, { org_id: org.borealis, project_id: project.borealis })
    const asks = async (token: string) =>
      Promise.all(
        all.map(async (base) => (await sent(token, 'GET', `/api/v1/projects/${project.borealis}/role-bindings`, undefined, base)).status),
      )
    const [before, here] = [await other.mint(), await machine.mint()]
    expect(await asks(before.token)).toEqual([200, 200, 200])
    expect((await move('down')).status).toBe(200)
    expect(await asks(before.token)).toEqual([401, 401, 401])
    // Recorded while it was down, as if its issue had begun before.
    const between = await other.mint()
    expect(await asks(between.token)).toEqual([401, 401, 401])
    expect((await move('up')).status).toBe(200)
    expect(await asks(before.token)).toEqual([401, 401, 401])
    expect(await asks(between.token)).toEqual([401, 401, 401])
    // In the next second, since a token tells its time in whole ones.
    await live.sql(`select pg_sleep(1.02 - mod(extract(epoch from clock_timestamp()), 1)::double precision)`)
    const after = await other.mint()
    expect(await asks(after.token)).toEqual([200, 200, 200])
    expect(await opens(here.token)).toBe('allow')
  })

  /** As one was that the database issued before its clock was set back: its time of issue lies ahead of every cut-off to come. */
  const ahead = async (one: Awaited<ReturnType<typeof machineOn>>, seconds = 4) => {
    const [{ iat }] = (await live.sql<{ iat: number }>('select floor(extract(epoch from clock_timestamp()))::int as iat')) as [
      { iat: number },
    ]
    const at = iat + seconds
    const row = { issued_at: `to_timestamp(${at})`, expires_at: `to_timestamp(${at + 3600})` }
    return one.mint({ claims: { iat: at, exp: at + 3600 }, row })
  }

  const untilNow: [string, (its: { account_id: string; key_id: string }) => object][] = [
    ['actor', ({ account_id: id }) => ({ actor: { type: 'service_account', id } })],
    ['credential', ({ key_id }) => ({ credential_id: key_id })],
    ['project', () => ({ project_id: project.aurora })],
    ['organization', () => ({ org_id: org.aurora })],
    ['platform', () => ({ platform: true })],
  ]
  test.each(untilNow)('TI-16 a clock that is set back takes no token out of the reach of a cut-off: %s', async (_what, subject) => {
    const one = await machineOn(live.sql, home)
    const before = await ahead(one)
    expect(await onAll(before.token)).toEqual(three('allow'))
    await revoke(subject(one))
    expect(await onAll(before.token)).toEqual(three(dead))
    // What comes after it is not meant.
    const after = await ahead(one)
    expect(await onAll(after.token)).toEqual(three('allow'))
    expect(await opens(before.token)).toBe(dead)
  })

  test('TI-16 an instant that somebody chose is an instant, and reaches no token by its number', async () => {
    const one = await machineOn(live.sql, home)
    const [{ now }] = (await live.sql<{ now: Date }>(`select clock_timestamp() as now`)) as [{ now: Date }]
    const before = await ahead(one)
    await revoke({ actor: { type: 'service_account', id: one.account_id }, issued_before: now.toISOString() })
    expect(await opens(before.token)).toBe('allow')
  })

  test.each([
    ['organization', 'suspend', 'resume', () => `/api/v1/orgs/${org.borealis}`],
    ['project', 'archive', 'restore', () => `/api/v1/projects/${project.borealis}`],
  ] as const)('DE-21 a clock that is set back revives nothing of an %s that is stopped and goes on', async (_what, down, up, path) => {
    const other = await machineOn(live.sql, { org_id: org.borealis, project_id: project.borealis })
    const asks = async (token: string) => (await sent(token, 'GET', `/api/v1/projects/${project.borealis}/role-bindings`)).status
    const move = async (act: string) => {
      const moved = await live.call('ada', 'POST', `${path()}/${act}`, { body: { reason: 'test' } })
      expect(moved.status, moved.text).toBe(200)
    }
    const before = await ahead(other)
    expect(await asks(before.token)).toBe(200)
    await move(down)
    const between = await ahead(other)
    await move(up)
    expect([await asks(before.token), await asks(between.token)]).toEqual([401, 401])
    expect(await asks((await ahead(other)).token)).toBe(200)
  })

  test('TI-16 the first cut-off of all, before any token was issued, ends none to come', async () => {
    const first = await liveServer()
    try {
      expect((await first.ask('ada', revokeTokens, { body: { platform: true } })).status).toBe(200)
      const { token } = await (await machineOn(first.sql, home)).mint()
      const headers = { authorization: `Bearer ${token}` }
      expect((await first.ask(null, listProjectBindings, { params: { project_id: project.aurora }, headers })).status).toBe(200)
    } finally {
      await first.stop()
    }
  })

  test('TI-16 control: a process that believes what it read for a while lets a revoked token in', async () => {
    const a_while = 600_000
    const believing = (fresh: Fresh): Fresh => {
      const seen = new Map<string, { at: number; known: unknown }>()
      return {
        ...fresh,
        forRequest: () => {
          const reader = fresh.forRequest()
          return {
            limit_ms: reader.limit_ms,
            read: async <const W extends readonly Wanted<unknown>[]>(wanted: W) => {
              const name = wanted.map(({ id }) => id).join()
              const before = seen.get(name)
              if (before && performance.now() - before.at < a_while) return before.known as Known<W>
              const known = await reader.read(wanted)
              seen.set(name, { at: performance.now(), known })
              return known
            },
          }
        },
      }
    }
    const broken = await live.replica((parts) => ({ ...parts, fresh: believing(parts.fresh) }))
    const { token, jti } = await machine.mint()
    expect([await opens(token, broken.url), await opens(token, broken.url)]).toEqual(['allow', 'allow'])
    await revoke({ token_id: jti })
    expect([await opens(token), await opens(token, broken.url)]).toEqual([dead, 'allow'])
  })

  test('TI-16 of several cut-offs the latest counts: dead if and only if issued at or before it, by time or by number', async () => {
    const one = await machineOn(live.sql, home)
    const subjects = {
      platform: [null, null],
      organization: [org.aurora, org.aurora],
      project: [project.aurora, org.aurora],
      actor: [one.account_id, org.aurora],
      credential: [one.key_id, org.aurora],
    } as const
    const strangers = [
      ['organization', org.borealis, org.borealis],
      ['project', project.borealis, org.borealis],
      ['actor', machine.account_id, org.aurora],
      ['actor', one.account_id, org.borealis],
      ['credential', machine.key_id, org.aurora],
      ['project', one.account_id, org.aurora],
      ['actor', one.key_id, org.aurora],
    ] as const
    const names = Object.keys(subjects) as (keyof typeof subjects)[]
    const insert = ([type, id, of]: readonly [string, string | null, string | null], ms: number, issued: string, until: number | null) =>
      bySql(
        `insert into token_cutoffs (id, subject_type, subject_id, org_id, issued_before, until_number, created_at, created_by, reason)
         values (gen_random_uuid(), $1, $2, $3, $4::timestamptz + make_interval(secs => $5::double precision / 1000), $6, now(), 'test', 'test')`,
        type,
        id,
        of,
        issued,
        ms,
        until,
      )
    const kept = await live.sql<{ id: string }>('select id from token_cutoffs')
    const offsets = [-3_600_000, -1000, -1, 0, 1, 1000]
    /** From the token's own number; null: none is said, as where somebody chose an instant. */
    const reaches = [null, null, -1, -1, 0, 1]
    let seed = 20_261_115
    const draw = (below: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
      return Math.floor((seed / 2_147_483_648) * below)
    }
    const outcomes = { dead: 0, live: 0, by_number_alone: 0 }
    // Ahead of every cut-off that other tests have left behind.
    const issuing = `date_trunc('second', clock_timestamp()) + interval '3 s'`
    for (let round = 0; round < 90; round += 1) {
      const [{ issued }] = (await live.sql<{ issued: string }>(`select (${issuing})::text as issued`)) as [{ issued: string }]
      const iat = Math.floor(Date.parse(issued) / 1000)
      const { token, jti } = await one.mint({
        claims: { iat, exp: iat + 3600 },
        row: { issued_at: `'${issued}'`, expires_at: `to_timestamp(${iat + 3600})` },
      })
      const [{ number }] = (await live.sql<{ number: string }>('select number from issued_tokens where id = $1', [jti])) as [
        { number: string },
      ]
      const drawn = Array.from({ length: draw(4) }, () => {
        const reach = reaches[draw(reaches.length)]!
        return [names[draw(names.length)]!, offsets[draw(offsets.length)]!, reach] as const
      })
      const numberAt = (reach: number | null) => (reach === null ? null : Number(number) + reach)
      for (const [type, ms, reach] of drawn) await insert([type, ...subjects[type]], ms, issued, numberAt(reach))
      const stranger = strangers[draw(strangers.length)]!
      await insert(stranger, 60_000, issued, numberAt(1000))
      const isDeadByTime = drawn.some(([, ms]) => ms >= 0)
      const isDead = isDeadByTime || drawn.some(([, , reach]) => reach !== null && reach >= 0)
      if (isDead && !isDeadByTime) outcomes.by_number_alone += 1
      expect(await opens(token), JSON.stringify({ drawn, stranger })).toBe(isDead ? dead : 'allow')
      outcomes[isDead ? 'dead' : 'live'] += 1
      await bySql(
        'delete from token_cutoffs where not id = any ($1)',
        kept.map(({ id }) => id),
      )
    }
    expect(Math.min(outcomes.dead, outcomes.live, 2 * outcomes.by_number_alone)).toBeGreaterThan(10)
  })
})
