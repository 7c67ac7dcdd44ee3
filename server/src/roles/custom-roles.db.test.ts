import { describe, expect, test } from 'vitest'
import { seeded, serverFixture } from '../../../test/live-server.ts'

const live = serverFixture()

const { org, project, user } = seeded
const scopes = {
  tenant: {
    path: `/api/v1/orgs/${org.aurora}`,
    owner: 'alice',
    admin: 'adam',
    stranger: 'bella',
    keys: ['tenant.read', 'tenant.policy.read'],
    more: 'tenant.audit.read',
    member: 'arne',
  },
  project: {
    path: `/api/v1/projects/${project.aurora}`,
    owner: 'amara',
    admin: 'aldo',
    stranger: 'bella',
    keys: ['allocation.read', 'storage.read'],
    more: 'storage.write',
    member: 'axel',
  },
} as const
const because = { reason: 'because' }
let names = 0
const fresh = () => {
  names += 1
  return `role-${names}`
}
const make = async (tier: keyof typeof scopes, permissions: readonly unknown[] = scopes[tier].keys, more = {}) =>
  live.call(scopes[tier].owner, 'POST', `${scopes[tier].path}/roles`, { body: { name: fresh(), permissions, ...more } })
const decided = async (person: string, tier: keyof typeof scopes, action: string) => {
  const resource = tier === 'tenant' ? { type: 'organization', tenant_id: org.aurora } : { type: 'project', project_id: project.aurora }
  const { body } = await live.call(person, 'POST', '/api/v1/authz/decisions', { body: { action, resource } })
  return body.reason_code ?? body.decision
}

describe.for(['tenant', 'project'] as const)('a custom role of a %s', (tier) => {
  const { path, owner, admin, stranger, keys, more, member } = scopes[tier]
  const bind = (role_id: string, version?: number) =>
    live.call(owner, 'POST', `${path}/role-bindings`, {
      body: { principal_type: 'user', principal_id: user(member), role_id, ...(version ? { version } : {}) },
    })

  test('RP-11 begins with version 1 and grows by one', async () => {
    const made = await make(tier, [keys[0], { key: keys[1], effect: 'allow' }], { description: 'A role' })
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({
      scope_type: tier,
      is_builtin: false,
      state: 'active',
      version: 1,
      permissions: [...keys].sort(),
      description: 'A role',
    })
    const role = `${path}/roles/${made.body.id}`
    const updated = await live.call(owner, 'PATCH', role, { body: { permissions: [...keys, more], expected_version: 1, ...because } })
    expect(updated.body).toMatchObject({ version: 2, permissions: [...keys, more].sort(), bindings_on_older_versions: 0 })
    expect((await live.call(owner, 'PATCH', role, { body: { permissions: keys, expected_version: 1, ...because } })).body).toMatchObject({
      code: 'version_conflict',
      details: { version: 2 },
    })
    const versions = (await live.call(owner, 'GET', `${role}/versions`)).body.items
    expect(versions.map(({ version, permissions }: { version: number; permissions: string[] }) => [version, permissions])).toEqual([
      [1, [...keys].sort()],
      [2, [...keys, more].sort()],
    ])
    expect((await live.call(owner, 'GET', role)).body.version).toBe(2)
  })

  test('RP-17 an update changes no binding, and its answer says how many stay behind', async () => {
    const { body: role } = await make(tier)
    expect((await bind(role.id)).status).toBe(201)
    const updated = await live.call(owner, 'PATCH', `${path}/roles/${role.id}`, {
      body: { permissions: [keys[1]], expected_version: 1, ...because },
    })
    expect(updated.body.bindings_on_older_versions).toBe(1)
    const { body } = await live.call(owner, 'GET', `${path}/role-bindings`)
    expect(body.items.find(({ role_id }: { role_id: string }) => role_id === role.id)).toMatchObject({ version: 1 })
    // RP-22: the other version takes the place of the older one.
    expect((await bind(role.id)).body).toMatchObject({ version: 2 })
    expect((await bind(role.id)).body.code).toBe('binding_already_exists')
    const now = await live.call(owner, 'GET', `${path}/role-bindings`)
    expect(now.body.items.filter(({ role_id }: { role_id: string }) => role_id === role.id)).toHaveLength(1)
  })

  test('RP-09 is defined by the owner and by override, by nobody else', async () => {
    const body = { name: fresh(), permissions: keys }
    expect((await live.call(admin, 'POST', `${path}/roles`, { body })).body.details.reason_code).toBe('permission_denied')
    expect((await live.call(stranger, 'POST', `${path}/roles`, { body })).status).toBe(404)
    const made = await live.call('ada', 'POST', `${path}/roles`, { body })
    expect(made.status).toBe(201)
    expect((await live.sql('select severity from audit_logs where resource_id = $1', [made.body.id]))[0]).toEqual({ severity: 'high' })
  })

  test('RP-10 holds only what can be given at its tier; the refusal names the key', async () => {
    const foreign = tier === 'tenant' ? 'allocation.read' : 'tenant.read'
    for (const key of [
      foreign,
      `${tier}.role.assign_any`,
      `${tier}.role.define`,
      'platform.admin',
      'authorization.override.all',
      'me.read',
      '*',
      'tenant.',
      '__proto__',
      'Tenant.Read',
      'tenant.fly',
    ]) {
      const { status, body } = await make(tier, [keys[0], key])
      expect([status, body.code], key).toEqual([400, 'validation_error'])
      expect(JSON.stringify(body.details)).toContain('permissions/1')
    }
    expect((await make(tier, [{ key: keys[0], effect: 'deny' }])).status).toBe(400)
    expect((await make(tier, [keys[0], keys[0]])).status).toBe(400)
    expect((await make(tier, [])).status).toBe(400)
    expect(
      (
        await make(
          tier,
          Array.from({ length: 10_000 }, (_, n) => `a.b${n}`),
        )
      ).status,
    ).toBe(400)
  })

  test('E5 no other member of its row can be written', async () => {
    for (const extra of ['is_builtin', 'scope_id', 'id', 'state', 'current_version_id', 'created_by', 'deleted_at', 'org_id', 'version'])
      expect((await make(tier, keys, { [extra]: 1 })).status, extra).toBe(400)
  })

  test('a name is taken once, and no built-in name is for the taking', async () => {
    const { body: role } = await make(tier)
    const again = { name: role.name, permissions: keys }
    expect((await live.call(owner, 'POST', `${path}/roles`, { body: again })).body.code).toBe('role_already_exists')
    expect((await live.call(owner, 'POST', `${path}/roles`, { body: { ...again, name: 'tenant_owner' } })).body.code).toBe(
      'role_already_exists',
    )
    await live.call(owner, 'DELETE', `${path}/roles/${role.id}`, { body: because })
    expect((await live.call(owner, 'POST', `${path}/roles`, { body: again })).status).toBe(201)
  })

  test('RP-12 deleted, it gives nothing, takes no binding and is kept as a row', async () => {
    const { body: role } = await make(tier, [more])
    await bind(role.id)
    expect(await decided(member, tier, more)).toBe('allow')
    expect((await live.call(owner, 'DELETE', `${path}/roles/${role.id}`, { body: because })).status).toBe(204)
    expect(await decided(member, tier, more)).not.toBe('allow')
    expect((await bind(role.id)).body.code).toBe('role_not_found')
    expect(await live.sql('select delete_reason, deleted_by_user_id from role_definitions where id = $1', [role.id])).toEqual([
      { delete_reason: 'because', deleted_by_user_id: user(owner) },
    ])
    expect((await live.call(owner, 'DELETE', `${path}/roles/${role.id}`, { body: because })).status).toBe(404)
  })

  test('RP-13 block_all_now: no new binding, and the old ones stop at once', async () => {
    const { body: role } = await make(tier, [more])
    await bind(role.id)
    const disabled = await live.call(owner, 'POST', `${path}/roles/${role.id}/disable`, { body: { mode: 'block_all_now', ...because } })
    expect(disabled.body).toMatchObject({ state: 'disabled', disable_mode: 'block_all_now', grace_until: null })
    expect(await decided(member, tier, more)).toBe('role_disabled')
    expect(
      (
        await live.call(owner, 'POST', `${path}/role-bindings`, {
          body: { principal_type: 'user', principal_id: user(owner), role_id: role.id },
        })
      ).body.code,
    ).toBe('role_not_assignable')
    expect(
      (await live.call(owner, 'POST', `${path}/roles/${role.id}/disable`, { body: { mode: 'block_all_now', ...because } })).body.code,
    ).toBe('state_conflict')
    expect((await live.call(owner, 'POST', `${path}/roles/${role.id}/enable`, { body: {} })).status).toBe(400)
    expect((await live.call(owner, 'POST', `${path}/roles/${role.id}/enable`, { body: because })).body).toMatchObject({
      state: 'active',
      disable_mode: null,
    })
    expect(await decided(member, tier, more)).toBe('allow')
    await live.call(owner, 'DELETE', `${path}/roles/${role.id}`, { body: because })
  })

  test('RP-15 block_new_only is refused while nobody has said how long the grace is', async () => {
    const { body: role } = await make(tier, [more])
    for (const body of [because, { mode: 'block_new_only', ...because }]) {
      const refused = await live.call(owner, 'POST', `${path}/roles/${role.id}/disable`, { body })
      expect([refused.status, refused.body.code]).toEqual([400, 'invalid_request'])
    }
    expect((await live.call(owner, 'GET', `${path}/roles/${role.id}`)).body.state).toBe('active')
  })

  test('RP-14 block_new_only leaves bindings valid until the grace is over', async () => {
    const set = await live.call('ada', 'PUT', '/api/v1/admin/policies/values/authorization.role_disable_grace_window_seconds', {
      body: { value: 3600 },
    })
    expect(set.status).toBe(200)
    const { body: role } = await make(tier, [more])
    await bind(role.id)
    const disabled = await live.call(owner, 'POST', `${path}/roles/${role.id}/disable`, { body: because })
    expect(disabled.body).toMatchObject({ state: 'disabled', disable_mode: 'block_new_only' })
    expect(Date.parse(disabled.body.grace_until) - Date.parse(disabled.body.disabled_at)).toBe(3_600_000)
    expect(await decided(member, tier, more)).toBe('allow')
    expect(
      (
        await live.call(owner, 'POST', `${path}/role-bindings`, {
          body: { principal_type: 'user', principal_id: user(owner), role_id: role.id },
        })
      ).body.code,
    ).toBe('role_not_assignable')
    await live.sql(`update role_definitions set grace_until = now() where id = $1`, [role.id])
    expect(await decided(member, tier, more)).toBe('role_disabled')
    // RP-16: a second disable can only tighten.
    expect((await live.call(owner, 'POST', `${path}/roles/${role.id}/disable`, { body: because })).body.code).toBe('state_conflict')
    expect(
      (await live.call(owner, 'POST', `${path}/roles/${role.id}/disable`, { body: { mode: 'block_all_now', ...because } })).status,
    ).toBe(200)
    await live.call('ada', 'DELETE', '/api/v1/admin/policies/values/authorization.role_disable_grace_window_seconds', { body: {} })
  })

  test('RP-16 what the platform disabled, the platform alone enables', async () => {
    const { body: role } = await make(tier, [more])
    expect(
      (await live.call('ada', 'POST', `${path}/roles/${role.id}/disable`, { body: { mode: 'block_all_now', ...because } })).status,
    ).toBe(200)
    const refused = await live.call(owner, 'POST', `${path}/roles/${role.id}/enable`, { body: because })
    expect([refused.status, refused.body.details.detail]).toEqual([403, 'disabled_by_platform'])
    expect((await live.call('ada', 'POST', `${path}/roles/${role.id}/enable`, { body: because })).status).toBe(200)
    // What somebody else disabled, the platform may take over, once.
    const disable = (person: string) =>
      live.call(person, 'POST', `${path}/roles/${role.id}/disable`, { body: { mode: 'block_all_now', ...because } })
    expect((await disable(owner)).status).toBe(200)
    expect((await disable('ada')).status).toBe(200)
    expect((await disable('ada')).body.code).toBe('state_conflict')
    expect((await live.call(owner, 'POST', `${path}/roles/${role.id}/enable`, { body: because })).status).toBe(403)
  })

  test('RP-08 the built-in roles of the tier are listed with the own ones, and changed by nobody', async () => {
    const { body } = await live.call(owner, 'GET', `${path}/roles?limit=200`)
    const builtin = body.items.filter(({ is_builtin }: { is_builtin: boolean }) => is_builtin)
    expect(builtin).toHaveLength(tier === 'tenant' ? 6 : 4)
    for (const person of [owner, 'ada'])
      for (const { id } of builtin) {
        const role = `${path}/roles/${id}`
        expect((await live.call(person, 'PATCH', role, { body: { permissions: keys, expected_version: 1, ...because } })).body.code).toBe(
          'role_immutable',
        )
        expect((await live.call(person, 'DELETE', role, { body: because })).body.code).toBe('role_immutable')
        expect((await live.call(person, 'POST', `${role}/disable`, { body: { mode: 'block_all_now', ...because } })).body.code).toBe(
          'role_immutable',
        )
      }
  })
})

test('RP-08 a built-in role is disabled and enabled by the platform; the superadmin never', async () => {
  const ids = Object.fromEntries(
    (await live.sql<{ name: string; id: string }>('select name, id from role_definitions where is_builtin')).map(({ name, id }) => [
      name,
      id,
    ]),
  )
  const path = `/api/v1/admin/roles/${ids.project_viewer}`
  expect((await live.call('alice', 'POST', `${path}/disable`, { body: { mode: 'block_all_now', ...because } })).status).toBe(403)
  expect((await live.call('ada', 'POST', `${path}/disable`, { body: { mode: 'block_all_now', ...because } })).status).toBe(200)
  expect(await decided('axel', 'project', 'project.role.read')).toBe('role_disabled')
  const added = await live.call('amara', 'POST', `/api/v1/projects/${project.aurora}/members`, {
    body: { user_id: user('anna'), role_name: 'project_viewer' },
  })
  expect([added.status, added.body.code]).toEqual([409, 'role_not_assignable'])
  // Who includes it keeps its permissions.
  expect(await decided('asha', 'project', 'project.role.read')).toBe('allow')
  expect((await live.call('ada', 'POST', `${path}/enable`, { body: because })).status).toBe(200)
  expect(await decided('axel', 'project', 'project.role.read')).toBe('allow')
  expect(
    (
      await live.call('ada', 'POST', `/api/v1/admin/roles/${ids.platform_superadmin}/disable`, {
        body: { mode: 'block_all_now', ...because },
      })
    ).body.code,
  ).toBe('last_owner')
})

test('RP-23 a role for service accounts holds only what is fit for them, and is of a project', async () => {
  expect((await make('tenant', ['tenant.read'], { assignable_to_service_accounts: true })).status).toBe(400)
  expect((await make('project', ['project.member.invite'], { assignable_to_service_accounts: true })).body.details[0].message).toContain(
    'project.member.invite',
  )
  const { body: role } = await make('project', ['allocation.read', 'project.member.invite'])
  const path = `/api/v1/projects/${project.aurora}/roles/${role.id}`
  expect(
    (await live.call('amara', 'PATCH', path, { body: { assignable_to_service_accounts: true, expected_version: 1, ...because } })).status,
  ).toBe(400)
  const fit = await live.call('amara', 'PATCH', path, {
    body: { assignable_to_service_accounts: true, permissions: ['allocation.read'], expected_version: 1, ...because },
  })
  expect(fit.body).toMatchObject({ is_assignable_to_service_accounts: true, version: 2 })
})
