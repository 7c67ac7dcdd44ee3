import { userInfo } from 'node:os'
import { listUsers, readMe } from '@gatehouse/contract/users'
import { beforeEach, expect, test } from 'vitest'
import { parseKeyRing } from '#ground/custody/key-ring.ts'
import { auditKey } from '#ground/installation/own-secrets.ts'
import { type Append, appendWith } from '#rails/audit/append.ts'
import { seeded, serverFixture, testKeys } from '../../../test/live-server.ts'
import { carryOut, operatorOrders } from './operator-orders.ts'

const { user } = seeded
let append: Append
const live = serverFixture({}, async (live) => {
  append = appendWith({ region: 'test', key: await auditKey(live.database, parseKeyRing(testKeys)) })
})
const asSeeded = async () => {
  await live.sql('delete from platform_role_bindings where principal_id <> all($1)', [['ada', 'grace', 'otto'].map(user)])
  await live.sql('update platform_role_bindings set deleted_at = null, deleted_by = null, delete_reason = null')
  await live.sql(`update users set role = 'admin' where username in ('ada', 'grace')`)
}
beforeEach(asSeeded)

const words = { role: 'platform_superadmin', reason: 'test', 'correlation-id': 'CHG-1' }
const order = (name: string, given: Record<string, string>) => carryOut({ database: live.database, append }, operatorOrders[name]!, given)
/** What it says, done or refused. */
const said = (name: string, given: Record<string, string>) => order(name, given).catch((error: Error) => `refused: ${error.message}`)
const bindings = () => live.sql('select id from platform_role_bindings where deleted_at is null')
const administers = async (name: string) => (await live.ask(name, listUsers)).status === 200

test.each(['', 'with blank', 'x'.repeat(129), 'line\nbreak', "'; drop table users; --"])(
  'RP-26 an order without a well-formed correlation id is refused: %j',
  async (id) => {
    const given = { ...words, user: user('anna'), 'correlation-id': id }
    expect(await said('bind-platform-role', given)).toContain('refused: --correlation-id is required')
    expect(await bindings()).toHaveLength(3)
  },
)

test('RP-26 an order binds only whom it names for sure, and only to a role of the platform', async () => {
  await live.sql(`update users set email = 'twin@example.com' where id = $1`, [user('anna')])
  await live.sql(`update users set email = 'TWIN@example.com' where id = $1`, [user('arne')])
  await live.sql(`update users set email = 'boss@example.com', email_verified = false where id = $1`, [user('axel')])
  const refused = [
    [{ user: 'Boss@example.com' }, 'is not verified'],
    [{ user: 'twin@example.com' }, 'Several are known'],
    [{ user: 'nobody@example.com' }, 'Nobody is known'],
    [{ user: '%' }, 'Nobody is known'],
    [{ user: `${live.issuer.issuer}#nobody` }, 'Nobody is known'],
    [{ user: `https://elsewhere.example#anna` }, 'Nobody is known'],
    [{ user: '' }, '--user is required'],
    [{ user: user('anna'), role: 'tenant_owner' }, 'no such platform role'],
    [{ user: user('anna'), reason: ' ' }, '--reason is required'],
    [{ user: user('anna'), reason: 'x'.repeat(501) }, '--reason is required'],
  ] as const
  for (const [given, because] of refused) expect(await said('bind-platform-role', { ...words, ...given })).toContain(because)
  expect(await bindings()).toHaveLength(3)
  expect(await said('bind-platform-role', { ...words, user: `${live.issuer.issuer}#anna` })).toContain(`(${user('anna')}`)
  expect(await administers('anna')).toBe(true)
  expect(await said('revoke-platform-role', { ...words, user: user('anna') })).toContain('is no longer bound')
  expect(await administers('anna')).toBe(false)
})

test('RP-26 what is refused is recorded, with who ordered it', async () => {
  const given = { ...words, user: user('otto'), 'correlation-id': 'CHG-refused' }
  expect(await said('revoke-platform-role', given)).toBe('refused: The person is not bound to this role.')
  expect(await live.auditOf('CHG-refused')).toMatchObject([
    {
      action: 'role_binding.end',
      actor_type: 'system',
      actor_id: 'revoke_platform_role',
      result: 'denied',
      reason_code: 'binding_not_found',
      severity: 'high',
      metadata: { user: user('otto'), operator: userInfo().username },
    },
  ])
})

test('RP-20 two orders that end the last two at the same moment: one of them is refused', async () => {
  for (let round = 0; round < 10; round += 1) {
    await asSeeded()
    const both = await Promise.all(['ada', 'grace'].map((name) => said('revoke-platform-role', { ...words, user: user(name) })))
    expect(both.filter((text) => text.startsWith('refused: The last superadmin'))).toHaveLength(1)
    expect(await bindings()).toHaveLength(2)
  }
})

test('RP-25 a policy that cannot be read is set by an order, within its bounds', async () => {
  const key = 'authorization.platform_role_source'
  const set = (value: string, of = key) => said('set-policy-value', { key: of, value, reason: 'test', 'correlation-id': 'CHG-set' })
  await live.setPolicy(key, 'nowhere')
  expect(await administers('ada')).toBe(false)
  expect(await set('everywhere')).toContain('refused: The value lies outside the bounds')
  expect(await set('bindings', 'no.such_policy')).toBe('refused: There is no such policy.')
  expect(await administers('ada')).toBe(false)
  expect(await set('bindings')).toBe(`${key} is set (version 2).`)
  expect(await administers('ada')).toBe(true)
  // Numbers are numbers, and a limit that nobody can live with can be lifted.
  await live.sql(`update policy_values set replaced_at = now() where key = 'rate_limit.api_requests_per_minute'`)
  expect((await live.ask('ada', readMe)).status).toBe(503)
  expect(await set('600', 'rate_limit.api_requests_per_minute')).toContain('is set')
  expect((await live.ask('ada', readMe)).status).toBe(200)
})
