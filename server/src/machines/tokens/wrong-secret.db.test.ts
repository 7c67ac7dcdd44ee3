import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { parseKeyRing } from '#ground/custody/key-ring.ts'
import { auditKey } from '#ground/installation/own-secrets.ts'
import { verifyChains } from '#rails/audit/verify-chains.ts'
import { type Answered, noRateLimits, seeded, serverFixture, testKeys } from '../../../../test/live-server.ts'
import { auroraHome as home, machineWithSecret, tokenPath as path } from '../../../../test/machine-credential.ts'
import { newSecret } from '../service-accounts/key-secret.ts'

const live = serverFixture({
  policies: { ...noRateLimits, 'auth.wrong_secret.first_delay_milliseconds': 5, 'auth.wrong_secret.longest_delay_milliseconds': 20 },
})

const machine = (role?: string) => machineWithSecret(live, home, role)
const correlation = ({ headers }: Answered) => headers.get('x-request-id')!
const recorded = async (answered: Answered) => live.auditOf(correlation(answered))

describe('the secret', () => {
  const outcomes = async (asks: Record<string, () => Promise<Answered>>) => {
    const told: Record<string, string> = {}
    for (const [name, ask] of Object.entries(asks)) {
      const answered = await ask()
      const id = correlation(answered)
      const headers = [...answered.headers].filter(([each]) => each !== 'date').map((pair) => pair.join(': '))
      told[name] = `${answered.status}\n${headers.join('\n')}\n${answered.text}`.replaceAll(id, 'ID')
    }
    return told
  }

  test('TI-11 T14 unknown, wrong, revoked, expired, disabled and deleted are told alike, byte for byte', async () => {
    const made: Awaited<ReturnType<typeof machine>>[] = []
    while (made.length < 6) made.push(await machine())
    const [right, revoked, expired, disabled, deleted, another] = made
    const [user] = await live.sql<{ id: string }>('select id from users limit 1')
    await live.sql(`update service_account_keys set revoked_at = now(), revoked_by = $2, revoke_reason = 'x' where id = $1`, [
      revoked!.key_id,
      user!.id,
    ])
    await live.sql(`update service_account_keys set expires_at = now() - interval '1 second' where id = $1`, [expired!.key_id])
    for (const [state, { service_account_id }] of [
      ['disabled', disabled!],
      ['deleted', deleted!],
    ] as const)
      await live.sql(
        `update service_accounts set state = $2, ${state}_at = now(), ${state}_by = $3, ${state === 'deleted' ? 'delete' : 'disable'}_reason = 'x' where id = $1`,
        [service_account_id, state, user!.id],
      )
    const told = await outcomes({
      wrong: () => right!.ask({ client_secret: newSecret().reveal() }),
      'a typing error': () => right!.ask({ client_secret: 'x' }),
      'unknown account': () => right!.ask({ service_account_id: randomUUID() }),
      'unknown key': () => right!.ask({ key_id: randomUUID() }),
      'the key of another': () => right!.ask({ key_id: another!.key_id }),
      'the secret of another': () => right!.ask({ client_secret: another!.client_secret }),
      revoked: () => revoked!.ask(),
      expired: () => expired!.ask(),
      disabled: () => disabled!.ask(),
      deleted: () => deleted!.ask(),
      'wrong, and with what would be refused': () => right!.ask({ client_secret: 'x', audience: 'nowhere', org_id: seeded.org.borealis }),
    })
    expect(new Set(Object.values(told)).size, JSON.stringify(told, null, 1)).toBe(1)
    expect(told.wrong).toContain('"code":"token_invalid"')
    expect(told.wrong).toMatch(/^401/)
  })

  test('TI-11 a key that has no secret opens with none, and is told like a wrong one', async () => {
    const sa = await machine()
    await live.sql(`update service_account_keys set salt = null, secret_hash = null, alg = 'ES256', public_jwk = '{}' where id = $1`, [
      sa.key_id,
    ])
    expect(await sa.ask()).toMatchObject({ status: 401, body: { code: 'token_invalid' } })
  })

  test('TI-12 a wrong secret of a known key is recorded with why, an unknown key is not', async () => {
    const sa = await machine()
    const wrong = await sa.ask({ client_secret: newSecret().reveal(), reason: 'mine', source_workflow_id: 'wf', audience: 'x' })
    const [event, ...more] = await recorded(wrong)
    expect(more).toEqual([])
    expect(event).toMatchObject({
      action: 'auth.token.deny',
      actor_id: sa.service_account_id,
      tenant_id: home.org_id,
      result: 'denied',
      reason_code: 'token_invalid',
      severity: 'warning',
      metadata: { why: 'wrong_secret', key_id: sa.key_id, attempts: 1, credential_type: 'jwt_bearer' },
    })
    expect(JSON.stringify(event)).not.toMatch(/mine|wf/)
    expect(await recorded(await sa.ask({ key_id: randomUUID() }))).toEqual([])
    expect(await recorded(await sa.ask({ service_account_id: randomUUID() }))).toEqual([])
  })

  const slowed = async (first: number, longest: number) => {
    await live.setPolicy('auth.wrong_secret.first_delay_milliseconds', first)
    await live.setPolicy('auth.wrong_secret.longest_delay_milliseconds', longest)
  }

  test('TI-26 wrong secrets are answered ever later, those for unknown keys too', async () => {
    await slowed(200, 1500)
    try {
      const sa = await machine()
      const timed = async (body: object) => {
        const began = performance.now()
        expect((await sa.ask(body)).status).toBe(401)
        return performance.now() - began
      }
      for (const body of [{ client_secret: 'x' }, { key_id: randomUUID() }, { key_id: randomUUID(), service_account_id: randomUUID() }]) {
        expect(await timed(body)).toBeGreaterThanOrEqual(195)
        expect(await timed(body)).toBeGreaterThanOrEqual(390)
      }
    } finally {
      await slowed(5, 20)
    }
  })

  test('TI-26 while many guess, the right secret is answered at once, also from the same address', async () => {
    const underAttack = async (delay: number) => {
      await slowed(delay, delay)
      const sa = await machine()
      const order: string[] = []
      const noted = async (what: string, body: object) => {
        const { status } = await sa.ask(body)
        order.push(`${what} ${status}`)
      }
      const attack = Array.from({ length: 20 }, () => noted('wrong', { client_secret: 'x' }))
      const right = Array.from({ length: 5 }, () => noted('right', {}))
      await Promise.all([...attack, ...right])
      return { sa, order }
    }
    const atOnce = Array.from({ length: 5 }, () => 'right 200')
    try {
      // Longer for a machine that is slower than that.
      let { sa, order } = await underAttack(1500)
      for (const delay of [5000, 25_000]) if (order.slice(0, 5).join() !== atOnce.join()) ({ sa, order } = await underAttack(delay))
      // Whoever guesses waits, four of them at a time, and the others are told to come later.
      expect(order.slice(0, 5)).toEqual(atOnce)
      expect(order.filter((each) => each === 'wrong 401')).toHaveLength(4)
      expect(order.filter((each) => each === 'wrong 429')).toHaveLength(16)
      const denied = await live.sql(`select 1 from audit_logs where action = 'auth.token.deny' and metadata ->> 'key_id' = $1`, [sa.key_id])
      expect(denied.length).toBeLessThan(12)
    } finally {
      await slowed(5, 20)
    }
  })

  test('TI-26 who is told to come later is told when', async () => {
    const sa = await machine()
    await slowed(1000, 1000)
    const answered = await Promise.all(Array.from({ length: 6 }, () => sa.ask({ client_secret: 'x' })))
    await slowed(5, 20)
    const told = answered.filter(({ status }) => status === 429)
    expect(told.length).toBeGreaterThan(0)
    for (const { headers } of told) expect(headers.get('retry-after')).toBe('1')
  })

  test('TI-18 T18 in the address it is 400, and nobody is asked whose it is', async () => {
    const sa = await machine()
    const answered = await live.call(null, 'POST', `${path}?client_secret=${sa.client_secret}`, { body: sa.credential })
    expect([answered.status, answered.body.code]).toEqual([400, 'invalid_request'])
    expect(await recorded(answered)).toEqual([])
  })
})

test('TI-12 the chain is whole after all this', async () => {
  const key = await auditKey(live.database, parseKeyRing(testKeys))
  expect((await live.database.transaction('read', (tx) => verifyChains(tx, key))).faults).toEqual([])
})
