import { listProjectBindings } from '@gatehouse/contract/role-bindings'
import { revokeTokens } from '@gatehouse/contract/tokens'
import { describe, expect, test } from 'vitest'
import { newId } from '#ground/kernel/ids.ts'
import { fixture } from '../../../../test/fixture.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'
import { machineOn } from '../../../../test/machine.ts'

const { org, project } = seeded
const home = { org_id: org.aurora, project_id: project.aurora }
const live = serverFixture()
const machine = fixture(() => machineOn(live.sql, home))

const revoke = (by: string | null, body: object, headers = {}) => live.ask(by, revokeTokens, { body, headers })
const isLive = async (token: string) =>
  (await live.ask(null, listProjectBindings, { params: { project_id: project.aurora }, headers: { authorization: `Bearer ${token}` } }))
    .status === 200
const list = (by: string, path = '') => live.call(by, 'GET', `/api/v1/projects/${project.aurora}/tokens${path}`)

describe('revoking', () => {
  test.each(['amara', 'aldo', 'ada'])(
    'TI-16 TI-23 %s, who manages the credential, ends a token, and the record says so once',
    async (by) => {
      const { token, jti } = await machine.mint()
      expect(await isLive(token)).toBe(true)
      const answered = await revoke(by, { token_id: jti, reason: 'lost' })
      expect(answered.status).toBe(200)
      expect(answered.body).toEqual({ subject_type: 'token', subject_id: jti, issued_before: null, revoked_at: expect.any(String) })
      expect(await isLive(token)).toBe(false)
      const rows = await live.auditOf(answered.headers.get('x-correlation-id')!)
      expect(rows).toHaveLength(1)
      expect(rows[0]).toMatchObject({
        action: 'auth.token.revoke',
        result: 'success',
        severity: 'high',
        resource_type: 'token',
        resource_id: jti,
        tenant_id: org.aurora,
        project_id: project.aurora,
        metadata: { subject_type: 'token', subject_id: jti, issued_before: null, reason: 'lost' },
      })
      expect(JSON.stringify(rows)).not.toContain(token)
    },
  )

  test('TI-16 a token that is revoked twice stays revoked since the first time, by the first', async () => {
    const { jti } = await machine.mint()
    const first = await revoke('amara', { token_id: jti, reason: 'first' })
    const second = await revoke('ada', { token_id: jti, reason: 'second' })
    expect(second.body).toEqual(first.body)
    const [row] = await live.sql('select revoked_by, revoke_reason from issued_tokens where id = $1', [jti])
    expect(row).toEqual({ revoked_by: seeded.user('amara'), revoke_reason: 'first' })
  })

  test('TI-16 what was issued before an instant ends, and what was issued after it does not', async () => {
    const one = await machineOn(live.sql, home)
    const early = await one.mint()
    await new Promise((resolve) => setTimeout(resolve, 20))
    const [{ between }] = (await live.sql<{ between: string }>(
      `select to_char(now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as between`,
    )) as [{ between: string }]
    await new Promise((resolve) => setTimeout(resolve, 20))
    const late = await one.mint()
    const answered = await revoke('amara', { actor: { type: 'service_account', id: one.account_id }, issued_before: between })
    expect(answered.body).toMatchObject({ subject_type: 'actor', issued_before: between })
    expect([await isLive(early.token), await isLive(late.token)]).toEqual([false, true])
    // An earlier cut-off takes nothing back.
    await revoke('amara', { actor: { type: 'service_account', id: one.account_id } })
    await revoke('amara', { actor: { type: 'service_account', id: one.account_id }, issued_before: '2020-01-01T00:00:00.000Z' })
    expect(await isLive(late.token)).toBe(false)
    expect(await isLive((await one.mint()).token)).toBe(true)
  })

  test('TI-16 X1 to strangers what exists and what does not answer alike, byte for byte', async () => {
    const { jti } = await machine.mint()
    const none = newId('token')
    const pairs: [object, object][] = [
      [{ token_id: jti }, { token_id: none }],
      [{ credential_id: machine.key_id }, { credential_id: none }],
      [{ actor: { type: 'service_account', id: machine.account_id } }, { actor: { type: 'service_account', id: none } }],
      [{ project_id: project.aurora }, { project_id: none }],
      [{ org_id: org.aurora }, { org_id: none }],
    ]
    const bare = ({ status, body }: Awaited<ReturnType<typeof revoke>>) => [status, { ...body, correlation_id: '' }]
    for (const [there, gone] of pairs)
      for (const by of ['bella', 'berta']) {
        const [one, other] = [bare(await revoke(by, there)), bare(await revoke(by, gone))]
        expect(one, JSON.stringify(there)).toEqual(other)
        expect(one[0]).toBeGreaterThanOrEqual(403)
      }
    expect((await revoke('bella', { token_id: jti })).body.code).toBe('token_not_found')
    const [row] = await live.sql<{ revoked_at: unknown }>('select revoked_at from issued_tokens where id = $1', [jti])
    expect(row!.revoked_at).toBe(null)
  })

  test('TI-16 members who do not manage service accounts may not, nor tenant owners by that alone', async () => {
    const { jti, token } = await machine.mint()
    for (const by of ['asha', 'axel', 'alice', 'adam'])
      for (const subject of [
        { token_id: jti },
        { credential_id: machine.key_id },
        { actor: { type: 'service_account', id: machine.account_id } },
        { project_id: project.aurora },
      ]) {
        const { status } = await revoke(by, subject)
        expect([403, 404], `${by} ${JSON.stringify(subject)}`).toContain(status)
      }
    expect(await isLive(token)).toBe(true)
  })

  test('TI-16 organizations and the whole platform are the platform’s', async () => {
    for (const by of ['amara', 'alice', 'otto', 'bella'])
      for (const subject of [{ org_id: org.aurora }, { platform: true }]) expect((await revoke(by, subject)).status).toBe(403)
    const { token } = await machine.mint()
    expect((await revoke('ada', { org_id: org.borealis })).status).toBe(200)
    expect(await isLive(token)).toBe(true)
    const answered = await revoke('ada', { platform: true })
    expect(answered.body).toMatchObject({ subject_type: 'platform', subject_id: null })
    expect(await isLive(token)).toBe(false)
    const [row] = await live.auditOf(answered.headers.get('x-correlation-id')!)
    expect(row).toMatchObject({ tenant_id: null, project_id: null, resource_type: 'platform', severity: 'high' })
  })

  test('TI-16 a machine cannot revoke, not even itself', async () => {
    const { token, jti } = await machine.mint()
    expect((await revoke(null, { token_id: jti }, { authorization: `Bearer ${token}` })).status).toBe(403)
  })

  test.each([
    ['nothing', {}],
    ['two things', { token_id: newId('token'), platform: true }],
    ['only a reason', { reason: 'r' }],
    ['the platform, but not quite', { platform: false }],
    ['a single token until an instant', { token_id: newId('token'), issued_before: '2026-01-01T00:00:00.000Z' }],
    ['an instant to come', { project_id: project.aurora, issued_before: '2999-01-01T00:00:00.000Z' }],
    ['an actor without its type', { actor: { id: newId('actor') } }],
    ['something unknown', { project_id: project.aurora, all: true }],
  ])('TI-16 a request that names %s is 400 and ends nothing', async (_what, body) => {
    const before = await live.sql('select count(*) from token_cutoffs')
    expect((await revoke('ada', body)).status).toBe(400)
    expect(await live.sql('select count(*) from token_cutoffs')).toEqual(before)
  })

  test('TI-16 no class but service accounts has actors yet: 404', async () => {
    expect((await revoke('ada', { actor: { type: 'workload', id: machine.account_id } })).body.code).toBe('token_not_found')
  })
})

describe('the list', () => {
  test('TI-23 shows every token of the project with its state, the newest first, and never a token', async () => {
    const one = await machineOn(live.sql, home)
    const good = await one.mint()
    const revoked = await one.mint()
    await revoke('amara', { token_id: revoked.jti, reason: 'lost' })
    const iat = good.claims.iat - 3600
    const expired = await one.mint({
      claims: { iat, exp: iat + 60 },
      row: { issued_at: `to_timestamp(${iat})`, expires_at: `to_timestamp(${iat + 60})` },
    })
    const { status, body, text } = await list('amara')
    expect(status).toBe(200)
    const shown = new Map(body.items.map((item: { id: string }) => [item.id, item]))
    expect(shown.get(good.jti)).toEqual({
      id: good.jti,
      actor_type: 'service_account',
      actor_id: one.account_id,
      credential_id: one.key_id,
      parent_id: null,
      acting_id: null,
      project_id: project.aurora,
      audience: 'gpuaas-api',
      scope: good.claims.scope,
      issued_at: expect.any(String),
      expires_at: new Date((good.claims.exp as number) * 1000).toISOString(),
      state: 'live',
      revoked_at: null,
      revoke_reason: null,
    })
    expect(shown.get(revoked.jti)).toMatchObject({ state: 'ended', revoke_reason: 'lost' })
    expect(shown.get(expired.jti)).toMatchObject({ state: 'expired' })
    const ids = body.items.map(({ id }: { id: string }) => id)
    expect(ids).toEqual([...ids].sort().reverse())
    for (const { token } of [good, revoked, expired]) expect(text).not.toContain(token.split('.')[2])
  })

  test('TI-23 what a token’s state says is what the validator says', async () => {
    const one = await machineOn(live.sql, home)
    const { token, jti } = await one.mint()
    const stateOf = async () => (await list('amara')).body.items.find(({ id }: { id: string }) => id === jti).state
    expect([await stateOf(), await isLive(token)]).toEqual(['live', true])
    for (const [end, back] of [
      [
        'update service_account_keys set expires_at = now() where id = $1',
        'update service_account_keys set expires_at = null where id = $1',
      ],
    ] as const) {
      await live.sql(end, [one.key_id])
      expect([await stateOf(), await isLive(token)]).toEqual(['ended', false])
      await live.sql(back, [one.key_id])
    }
    await live.sql('update installation set epoch = epoch + 1')
    expect([await stateOf(), await isLive(token)]).toEqual(['ended', false])
    await live.sql('update installation set epoch = epoch - 1')
    await live.sql(`update signing_keys set state = 'grace', grace_until = now() where state = 'active'`)
    expect([await stateOf(), await isLive(token)]).toEqual(['ended', false])
    await live.sql(`update signing_keys set grace_until = now() + interval '1 h' where state = 'grace'`)
    expect([await stateOf(), await isLive(token)]).toEqual(['live', true])
    await live.sql(`update signing_keys set state = 'active', grace_until = null where state = 'grace'`)
    await revoke('amara', { credential_id: one.key_id })
    expect([await stateOf(), await isLive(token)]).toEqual(['ended', false])
  })

  test('TI-23 comes in pages, each token once, and holds no other project’s', async () => {
    const stranger = await (await machineOn(live.sql, { org_id: org.borealis, project_id: project.borealis })).mint()
    for (let n = 0; n < 3; n += 1) await machine.mint()
    const [{ n }] = (await live.sql<{ n: number }>('select count(*)::int as n from issued_tokens where project_id = $1', [
      project.aurora,
    ])) as [{ n: number }]
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { body } = await list('amara', `?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`)
      seen.push(...body.items.map(({ id }: { id: string }) => id))
      cursor = body.next_cursor
    }
    expect([seen.length, new Set(seen).size]).toEqual([n, n])
    expect(seen).not.toContain(stranger.jti)
  })

  test.each([
    ['aldo', 'info'],
    ['ada', 'high'],
  ])('AU-01 that %s has read it is recorded', async (by, severity) => {
    const answered = await list(by, '?limit=1')
    expect(await live.auditOf(answered.headers.get('x-correlation-id')!)).toMatchObject([
      {
        ...{ action: 'auth.token.list_of_project', result: 'success', severity, actor_id: seeded.user(by) },
        ...{ resource_type: 'project', resource_id: project.aurora, tenant_id: org.aurora, project_id: project.aurora },
        metadata: { rows: answered.body.items.length },
      },
    ])
  })

  test('TI-23 is for those who manage service accounts there', async () => {
    for (const [by, status] of [
      ['aldo', 200],
      ['ada', 200],
      ['asha', 403],
      ['axel', 403],
      ['bella', 404],
      ['berta', 404],
    ] as const)
      expect([by, (await list(by)).status]).toEqual([by, status])
  })
})
