import { decide } from '@gatehouse/contract/decisions'
import { listUsers } from '@gatehouse/contract/users'
import { beforeEach, describe, expect, test } from 'vitest'
import { newId } from '#ground/kernel/ids.ts'
import { roleIdOf } from '#rails/authz/catalogue.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'

const { user } = seeded
const key = 'authorization.platform_role_source'
const live = serverFixture()

/** As it was seeded: ada and grace in both places, otto bound to operations, everybody else nothing. */
beforeEach(async () => {
  await live.sql(`delete from platform_role_bindings where principal_id <> all($1)`, [['ada', 'grace', 'otto'].map(user)])
  await live.sql(`update platform_role_bindings set deleted_at = null, deleted_by = null, delete_reason = null`)
  await live.sql(`update users set role = case when username in ('ada', 'grace') then 'admin' else 'user' end, disabled_at = null, disabled_by = null,
                    disable_reason = null where is_seeded`)
  await live.sql(`delete from policy_values where key = $1 and version > 1`, [key])
  await live.sql(`update policy_values set value = '"bindings"', replaced_at = null, replaced_by = null where key = $1`, [key])
})

const sources = ['users_role', 'transition', 'bindings'] as const
const setSource = (source: unknown) => live.setPolicy(key, source)
const setColumn = (name: string, role: 'admin' | 'user') => live.sql('update users set role = $2 where id = $1', [user(name), role])
const bound = (name: string, role: 'platform_superadmin' | 'platform_ops', isEnded = false) =>
  live.sql(
    `insert into platform_role_bindings (id, principal_type, principal_id, role_definition_id, created_at, deleted_at, delete_reason)
     values ($1, 'user', $2, $3, now(), case when $4 then now() end, case when $4 then 'test' end)`,
    [newId('binding'), user(name), roleIdOf(role), isEnded],
  )
const endAll = (name: string) =>
  live.sql(`update platform_role_bindings set deleted_at = now(), delete_reason = 'test' where principal_id = $1`, [user(name)])

let asked = 0
/** Asks, and tells the status with what the record kept of it. */
const ask = async (person: string, method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
  asked += 1
  const id = `source-${asked}`
  const answer = await live.call(person, method, path, { ...(body ? { body } : {}), headers: { ...headers, 'x-request-id': id } })
  const rows = await live.auditOf(id)
  return { ...answer, rows, warned: rows.filter(({ action }) => String(action).startsWith('platform_role.')) }
}
const people = (person: string) => ask(person, 'GET', '/api/v1/admin/users')
const decided = async (person: string) =>
  (await live.ask(person, decide, { body: { action: 'platform.admin', resource: { type: 'platform' } } })).body

const states = {
  revoked: () => bound('anna', 'platform_superadmin', true),
  'never bound': async () => {},
  'bound to platform_ops': () => bound('anna', 'platform_ops'),
}

describe('RP-25 E7 users.role is admin, and no binding says so', () => {
  const table = [
    ['revoked', { users_role: true, transition: false, bindings: false }],
    ['never bound', { users_role: true, transition: true, bindings: false }],
    ['bound to platform_ops', { users_role: true, transition: false, bindings: false }],
  ] as const

  test.each(table)('%s', async (state, outcomes) => {
    await setColumn('anna', 'admin')
    await states[state]()
    for (const source of sources) {
      await setSource(source)
      const isSuperadmin = outcomes[source]
      const { status, rows, warned } = await people('anna')
      expect([source, status]).toEqual([source, isSuperadmin ? 200 : 403])
      expect((await decided('anna')).decision).toBe(isSuperadmin ? 'allow' : 'deny')
      const isOps = state === 'bound to platform_ops' && source !== 'users_role'
      const platform_role = isSuperadmin ? 'platform_superadmin' : isOps ? 'platform_ops' : 'platform_user'
      expect(warned).toEqual([
        expect.objectContaining({
          action: 'platform_role.mismatch',
          severity: 'warning',
          actor_id: user('anna'),
          tenant_id: null,
          platform_role,
          metadata: { source, users_role: 'admin', bound_roles: state === 'bound to platform_ops' ? ['platform_ops'] : [] },
        }),
      ])
      expect(rows.map(({ action }) => action)).toEqual(isSuperadmin ? ['platform_role.mismatch'] : ['user.list', 'platform_role.mismatch'])
    }
  })
})

describe('RP-25 where platform roles come from', () => {
  test('RP-01 the other way round: a superadmin by binding alone is one only where bindings are heard', async () => {
    await bound('anna', 'platform_superadmin')
    for (const source of sources) {
      await setSource(source)
      const { status, warned } = await people('anna')
      expect([source, status]).toEqual([source, source === 'users_role' ? 403 : 200])
      expect(warned).toMatchObject([{ metadata: { source, users_role: 'user', bound_roles: ['platform_superadmin'] } }])
    }
  })

  test('RP-01 operations come from a binding and never from the column', async () => {
    for (const source of sources) {
      await setSource(source)
      const { status } = await ask('otto', 'GET', '/api/v1/admin/policies/values')
      expect([source, status]).toEqual([source, source === 'users_role' ? 403 : 200])
    }
    await endAll('otto')
    await setColumn('otto', 'admin')
    await setSource('users_role')
    expect((await decided('otto')).decided_by.bindings).toMatchObject([{ role_name: 'platform_superadmin', binding_id: null }])
  })

  test('a superadmin by the column alone is named in no binding, and a disabled one is nobody', async () => {
    await setColumn('anna', 'admin')
    await setSource('transition')
    expect(await decided('anna')).toMatchObject({ decision: 'allow', applied_scope: 'global' })
    await live.sql(`update users set disabled_at = now(), disabled_by = id, disable_reason = 'test' where id = $1`, [user('anna')])
    expect((await people('anna')).body.details).toMatchObject({ reason_code: 'actor_disabled' })
  })

  test('who has the same in both places, or nothing in either, is not warned of', async () => {
    for (const source of sources) {
      await setSource(source)
      expect((await people('ada')).warned).toEqual([])
      expect((await people('alice')).rows.map(({ action }) => action)).toEqual(['user.list'])
      expect((await people('otto')).warned).toEqual([])
    }
  })
})

describe('RP-25 one warning for each request that asks an action of the platform', () => {
  beforeEach(async () => {
    await setColumn('anna', 'admin')
    await setSource('transition')
  })

  test('none for other actions', async () => {
    expect((await ask('anna', 'GET', '/api/v1/me')).warned).toEqual([])
    expect((await ask('anna', 'GET', `/api/v1/orgs/${seeded.org.aurora}`)).warned).toEqual([])
  })

  test('with a change, in its transaction; with its answer given again, by itself', async () => {
    const disable = () =>
      ask('anna', 'POST', `/api/v1/admin/users/${user('arne')}/disable`, { reason: 'test' }, { 'idempotency-key': 'warned-once' })
    const first = await disable()
    expect(first.status).toBe(200)
    expect(first.rows.map(({ action }) => action)).toEqual(['user.disable', 'platform_role.mismatch'])
    const again = await disable()
    expect(again.status).toBe(200)
    expect(again.rows.map(({ action }) => action)).toEqual(['platform_role.mismatch'])
  })

  test('with a conflict, of which nothing else is recorded', async () => {
    const { status, rows } = await ask('anna', 'POST', `/api/v1/admin/users/${user('arne')}/enable`, { reason: 'test' })
    expect(status).toBe(409)
    expect(rows.map(({ action }) => action)).toEqual(['platform_role.mismatch'])
  })

  test('with something that is not there', async () => {
    const { status, rows } = await ask('anna', 'GET', `/api/v1/admin/users/${newId('user')}`)
    expect(status).toBe(404)
    expect(rows.map(({ action }) => action)).toEqual(['user.read', 'platform_role.mismatch'])
  })

  test('with a question about somebody else that needs the key of the platform', async () => {
    const body = { actor: { type: 'user', id: user('alice') }, action: 'platform.admin', resource: { type: 'platform' } }
    const { status, warned } = await ask('anna', 'POST', '/api/v1/authz/decisions', body)
    expect(status).toBe(200)
    expect(warned).toHaveLength(1)
  })
})

describe('RP-25 a source that cannot be read', () => {
  test.each([
    ['another word', '"both"'],
    ['a number', '1'],
    ['a list', '["bindings"]'],
    ['null', 'null'],
  ])('%s: no platform role counts, and the record says why', async (_, value) => {
    await live.sql('update policy_values set value = $2 where key = $1', [key, value])
    const { status, rows } = await people('ada')
    expect(status).toBe(403)
    expect(rows).toMatchObject([
      { action: 'user.list', result: 'denied', platform_role: 'platform_user' },
      { action: 'platform_role.source_unreadable', severity: 'high', metadata: { source: null, users_role: 'admin' } },
    ])
    expect((await people('alice')).warned).toEqual([])
    expect((await decided('grace')).decision).toBe('deny')
  })

  test('one that is missing', async () => {
    await live.sql('update policy_values set replaced_at = now() where key = $1', [key])
    expect((await people('ada')).status).toBe(403)
    await live.sql('update policy_values set replaced_at = null where key = $1', [key])
    expect((await people('ada')).status).toBe(200)
  })
})

describe('RP-20 the last superadmin stays, by whatever source', () => {
  const bindingOf = async (name: string) =>
    (
      await live.sql<{ id: string }>('select id from platform_role_bindings where principal_id = $1 and deleted_at is null', [user(name)])
    )[0]!.id
  const disable = (by: string, whom: string) => ask(by, 'POST', `/api/v1/admin/users/${user(whom)}/disable`, { reason: 'test' })
  const end = async (by: string, whom: string) =>
    ask(by, 'DELETE', `/api/v1/admin/platform-roles/bindings/${await bindingOf(whom)}`, { reason: 'test' })

  test('users_role: a binding that is not heard does not count as another one', async () => {
    await setColumn('grace', 'user')
    await setSource('users_role')
    expect((await disable('ada', 'ada')).body.code).toBe('last_owner')
    expect((await end('ada', 'ada')).body.code).toBe('last_owner')
    expect((await disable('ada', 'grace')).status).toBe(200)
    await setColumn('anna', 'admin')
    expect((await end('ada', 'ada')).status).toBe(204)
    expect((await people('ada')).status).toBe(403)
  })

  test('bindings: a column that is not heard does not count as another one', async () => {
    await setColumn('anna', 'admin')
    expect((await end('ada', 'grace')).status).toBe(204)
    expect((await end('ada', 'ada')).body.code).toBe('last_owner')
    expect((await disable('ada', 'ada')).body.code).toBe('last_owner')
  })

  test('transition: who was never bound counts, and loses it by a first binding, unless he is the last', async () => {
    await setSource('transition')
    for (const name of ['ada', 'grace']) await endAll(name)
    await setColumn('anna', 'admin')
    expect((await disable('anna', 'anna')).body.code).toBe('last_owner')
    const bind = (whom: string, role_name: string) =>
      ask('anna', 'POST', '/api/v1/admin/platform-roles/bindings', { principal_type: 'user', principal_id: user(whom), role_name })
    expect((await bind('anna', 'platform_ops')).body).toMatchObject({ code: 'role_not_assignable', details: { detail: 'last_superadmin' } })
    expect((await bind('arne', 'platform_superadmin')).status).toBe(201)
    expect((await bind('anna', 'platform_ops')).status).toBe(201)
    expect((await people('anna')).status).toBe(403)
    expect((await people('arne')).warned).toEqual([])
  })

  test('a source in which nobody would be left is not set', async () => {
    const set = (by: string, value: string) => ask(by, 'PUT', `/api/v1/admin/policies/values/${key}`, { value, reason: 'cutover' })
    for (const name of ['ada', 'grace']) await setColumn(name, 'user')
    expect((await set('ada', 'users_role')).body).toMatchObject({ code: 'policy_out_of_bounds', details: { detail: 'last_superadmin' } })
    expect((await set('ada', 'transition')).status).toBe(200)
    for (const name of ['ada', 'grace']) await endAll(name)
    await setColumn('anna', 'admin')
    expect((await set('anna', 'bindings')).body).toMatchObject({ code: 'policy_out_of_bounds' })
    expect((await set('anna', 'users_role')).status).toBe(200)
    expect((await set('anna', 'Bindings')).body).toMatchObject({ code: 'policy_out_of_bounds', details: { detail: 'definition' } })
  })
})

test('RP-26 binding and ending by the API keep both places in step, and work at once on every process', async () => {
  const other = await live.replica()
  const made = await ask('ada', 'POST', '/api/v1/admin/platform-roles/bindings', {
    principal_type: 'user',
    principal_id: user('anna'),
    role_name: 'platform_superadmin',
  })
  expect(made.status).toBe(201)
  for (const source of sources) {
    await setSource(source)
    expect((await live.ask('anna', listUsers, { base: other.url })).status).toBe(200)
    expect((await people('anna')).warned).toEqual([])
  }
  expect((await ask('ada', 'DELETE', `/api/v1/admin/platform-roles/bindings/${made.body.id}`, { reason: 'test' })).status).toBe(204)
  for (const source of sources) {
    await setSource(source)
    expect((await live.ask('anna', listUsers, { base: other.url })).status).toBe(403)
  }
})
