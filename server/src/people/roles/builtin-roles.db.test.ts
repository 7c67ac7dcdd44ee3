import { disableBuiltinRole, enableBuiltinRole, listBuiltinRoles } from '@gatehouse/contract/roles'
import { expect, test } from 'vitest'
import { builtinRoleNames, permissionsOf, roleIdOf, tierOf } from '#rails/authz/catalogue.ts'
import { serverFixture } from '../../../../test/live-server.ts'

const live = serverFixture()
const list = (person: string, query: { limit?: number; cursor?: string } = {}) => live.ask(person, listBuiltinRoles, { query })

test('RP-08 RP-13 GET admin/roles: asked by operations or a superadmin → every built-in role of every tier, with its state', async () => {
  for (const person of ['otto', 'ada']) {
    const { body } = await list(person)
    const found = body.items.map(({ id, name, scope_type, is_builtin, permissions }) => ({ id, name, scope_type, is_builtin, permissions }))
    const expected = builtinRoleNames.map((name) => ({
      ...{ id: roleIdOf(name), name, scope_type: tierOf(name), is_builtin: true, permissions: [...permissionsOf(name)].sort() },
    }))
    const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1)
    expect(found).toEqual(expected.toSorted(byId))
  }
  const params = { role_id: roleIdOf('tenant_viewer') }
  const stateOf = async () => (await list('otto')).body.items.find(({ id }) => id === params.role_id)
  expect((await live.ask('ada', disableBuiltinRole, { params, body: { mode: 'block_all_now', reason: 'because' } })).status).toBe(200)
  expect(await stateOf()).toMatchObject({ state: 'disabled', disable_mode: 'block_all_now' })
  await live.ask('ada', enableBuiltinRole, { params, body: { reason: 'because' } })
  expect(await stateOf()).toMatchObject({ state: 'active' })
})

test('HO-04 GET admin/roles: in pages → the same roles in the same order', async () => {
  const whole = (await list('otto')).body.items
  const paged: unknown[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const { body } = await list('otto', { limit: 5, ...(cursor && { cursor }) })
    paged.push(...body.items)
    cursor = body.next_cursor
  }
  expect(paged).toEqual(whole)
})

test('RP-24 GET admin/roles: asked by anybody else → 403', async () => {
  for (const person of ['alice', 'amara', 'bella']) expect((await list(person)).status).toBe(403)
})
