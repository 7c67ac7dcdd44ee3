import { decide } from '@gatehouse/contract/decisions'
import { addProjectMember } from '@gatehouse/contract/members'
import { removePlatformPolicyValue, setPlatformPolicyValue } from '@gatehouse/contract/policies'
import { type createOrganizationRole, disableBuiltinRole, enableBuiltinRole, updateProjectRole } from '@gatehouse/contract/roles'
import { describe, expect, test } from 'vitest'
import type { BodyOf } from '../../../../test/ask.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'
import { bindings, roles, scopedAsk } from '../../../../test/scoped-roles.ts'

const live = serverFixture()
const askIn = scopedAsk(live)

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
const make = async (
  tier: keyof typeof scopes,
  permissions: BodyOf<typeof createOrganizationRole>['permissions'] = [...scopes[tier].keys],
  more = {},
) => askIn(tier, scopes[tier].owner, roles.create, { body: { name: fresh(), permissions, ...more } })
const decided = async (person: string, tier: keyof typeof scopes, action: string) => {
  const resource = tier === 'tenant' ? { type: 'organization', tenant_id: org.aurora } : { type: 'project', project_id: project.aurora }
  const { body } = await live.ask(person, decide, { body: { action, resource } })
  return body.reason_code ?? body.decision
}

describe.for(['tenant', 'project'] as const)('a custom role of a %s', (tier) => {
  const { path, owner, admin, stranger, keys, more, member } = scopes[tier]
  const bind = (role_id: string, version?: number) =>
    askIn(tier, owner, bindings.create, {
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
    const updated = await askIn(tier, owner, roles.update, {
      params: { role_id: made.body.id },
      body: { permissions: [...keys, more], expected_version: 1, ...because },
    })
    expect(updated.body).toMatchObject({ version: 2, permissions: [...keys, more].sort(), bindings_on_older_versions: 0 })
    expect(
      (
        await askIn(tier, owner, roles.update, {
          params: { role_id: made.body.id },
          body: { permissions: [...keys], expected_version: 1, ...because },
        })
      ).body,
    ).toMatchObject({
      code: 'version_conflict',
      details: { version: 2 },
    })
    const versions = (await askIn(tier, owner, roles.versions, { params: { role_id: made.body.id } })).body.items
    expect(versions.map(({ version, permissions }: { version: number; permissions: string[] }) => [version, permissions])).toEqual([
      [1, [...keys].sort()],
      [2, [...keys, more].sort()],
    ])
    expect((await askIn(tier, owner, roles.read, { params: { role_id: made.body.id } })).body.version).toBe(2)
  })

  test('RP-17 an update changes no binding, and its answer says how many stay behind', async () => {
    const { body: role } = await make(tier)
    expect((await bind(role.id)).status).toBe(201)
    const updated = await askIn(tier, owner, roles.update, {
      params: { role_id: role.id },
      body: { permissions: [keys[1]], expected_version: 1, ...because },
    })
    expect(updated.body.bindings_on_older_versions).toBe(1)
    const { body } = await askIn(tier, owner, bindings.list)
    expect(body.items.find(({ role_id }: { role_id: string }) => role_id === role.id)).toMatchObject({ version: 1 })
    // RP-22: the other version takes the place of the older one.
    expect((await bind(role.id)).body).toMatchObject({ version: 2 })
    expect((await bind(role.id)).body.code).toBe('binding_already_exists')
    const now = await askIn(tier, owner, bindings.list)
    expect(now.body.items.filter(({ role_id }: { role_id: string }) => role_id === role.id)).toHaveLength(1)
  })

  test('RP-09 is defined by the owner and by override, by nobody else', async () => {
    const body = { name: fresh(), permissions: [...keys] }
    expect((await askIn(tier, admin, roles.create, { body })).body.details?.reason_code).toBe('permission_denied')
    expect((await askIn(tier, stranger, roles.create, { body })).status).toBe(404)
    const made = await askIn(tier, 'ada', roles.create, { body })
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
    expect((await make(tier, [{ key: keys[0], effect: 'deny' as never }])).status).toBe(400)
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
      expect((await make(tier, [...keys], { [extra]: 1 })).status, extra).toBe(400)
  })

  test('a name is taken once, and no built-in name is for the taking', async () => {
    const { body: role } = await make(tier)
    const again = { name: role.name, permissions: [...keys] }
    expect((await askIn(tier, owner, roles.create, { body: again })).body.code).toBe('role_already_exists')
    expect((await askIn(tier, owner, roles.create, { body: { ...again, name: 'tenant_owner' } })).body.code).toBe('role_already_exists')
    await askIn(tier, owner, roles.remove, { params: { role_id: role.id }, body: because })
    expect((await askIn(tier, owner, roles.create, { body: again })).status).toBe(201)
  })

  test('RP-12 deleted, it gives nothing, takes no binding and is kept as a row', async () => {
    const { body: role } = await make(tier, [more])
    await bind(role.id)
    expect(await decided(member, tier, more)).toBe('allow')
    expect((await askIn(tier, owner, roles.remove, { params: { role_id: role.id }, body: because })).status).toBe(204)
    expect(await decided(member, tier, more)).not.toBe('allow')
    expect((await bind(role.id)).body.code).toBe('role_not_found')
    expect(await live.sql('select delete_reason, deleted_by_user_id from role_definitions where id = $1', [role.id])).toEqual([
      { delete_reason: 'because', deleted_by_user_id: user(owner) },
    ])
    expect((await askIn(tier, owner, roles.remove, { params: { role_id: role.id }, body: because })).status).toBe(404)
  })

  test('RP-12 versions: the role was deleted → readable to those who may read roles, and to nobody else', async () => {
    const { body: role } = await make(tier, [more])
    const params = { role_id: role.id }
    await askIn(tier, owner, roles.update, { params, body: { permissions: [...keys], expected_version: 1, ...because } })
    await askIn(tier, owner, roles.remove, { params, body: because })
    expect((await askIn(tier, owner, roles.read, { params })).body.code).toBe('role_not_found')
    const listed = await askIn(tier, admin, roles.versions, { params })
    expect(listed.body.items.map(({ version, permissions }) => [version, permissions])).toEqual([
      [1, [more]],
      [2, [...keys].sort()],
    ])
    expect((await askIn(tier, stranger, roles.versions, { params })).status).toBe(404)
  })

  test('RP-34 create: the name imitates a built-in role → 400 on `name`, and nothing is made', async () => {
    for (const name of ['tenant-owner', 'tenant_0wner', 'superadmin', 'project-adm1n', 'org_owner']) {
      const refused = await askIn(tier, owner, roles.create, { body: { name, permissions: [...keys] } })
      expect([name, refused.status, refused.body.code, refused.body.details?.fields?.[0]?.field]).toEqual([
        name,
        400,
        'validation_error',
        'name',
      ])
    }
    expect(await live.sql("select name from role_definitions where name like '%0wner' or name = 'superadmin'")).toEqual([])
  })

  test('RP-13 block_all_now: no new binding, and the old ones stop at once', async () => {
    const { body: role } = await make(tier, [more])
    await bind(role.id)
    const disabled = await askIn(tier, owner, roles.disable, { params: { role_id: role.id }, body: { mode: 'block_all_now', ...because } })
    expect(disabled.body).toMatchObject({ state: 'disabled', disable_mode: 'block_all_now', grace_until: null })
    expect(await decided(member, tier, more)).toBe('role_disabled')
    expect(
      (await askIn(tier, owner, bindings.create, { body: { principal_type: 'user', principal_id: user(owner), role_id: role.id } })).body
        .code,
    ).toBe('role_not_assignable')
    expect(
      (await askIn(tier, owner, roles.disable, { params: { role_id: role.id }, body: { mode: 'block_all_now', ...because } })).body.code,
    ).toBe('state_conflict')
    expect((await live.call(owner, 'POST', `${path}/roles/${role.id}/enable`, { body: {} })).status).toBe(400)
    expect((await askIn(tier, owner, roles.enable, { params: { role_id: role.id }, body: because })).body).toMatchObject({
      state: 'active',
      disable_mode: null,
    })
    expect(await decided(member, tier, more)).toBe('allow')
    await askIn(tier, owner, roles.remove, { params: { role_id: role.id }, body: because })
  })

  test('RP-15 block_new_only is refused while nobody has said how long the grace is', async () => {
    const { body: role } = await make(tier, [more])
    for (const body of [because, { mode: 'block_new_only' as const, ...because }]) {
      const refused = await askIn(tier, owner, roles.disable, { params: { role_id: role.id }, body })
      expect([refused.status, refused.body.code]).toEqual([400, 'invalid_request'])
    }
    expect((await askIn(tier, owner, roles.read, { params: { role_id: role.id } })).body.state).toBe('active')
  })

  test('RP-14 block_new_only leaves bindings valid until the grace is over', async () => {
    const set = await live.ask('ada', setPlatformPolicyValue, {
      params: { key: 'authorization.role_disable_grace_window_seconds' },
      body: { value: 3600 },
    })
    expect(set.status).toBe(200)
    const { body: role } = await make(tier, [more])
    await bind(role.id)
    const disabled = await askIn(tier, owner, roles.disable, { params: { role_id: role.id }, body: because })
    expect(disabled.body).toMatchObject({ state: 'disabled', disable_mode: 'block_new_only' })
    expect(Date.parse(disabled.body.grace_until!) - Date.parse(disabled.body.disabled_at!)).toBe(3_600_000)
    expect(await decided(member, tier, more)).toBe('allow')
    expect(
      (await askIn(tier, owner, bindings.create, { body: { principal_type: 'user', principal_id: user(owner), role_id: role.id } })).body
        .code,
    ).toBe('role_not_assignable')
    await live.sql(`update role_definitions set grace_until = now() where id = $1`, [role.id])
    expect(await decided(member, tier, more)).toBe('role_disabled')
    // RP-16: a second disable can only tighten.
    expect((await askIn(tier, owner, roles.disable, { params: { role_id: role.id }, body: because })).body.code).toBe('state_conflict')
    expect(
      (await askIn(tier, owner, roles.disable, { params: { role_id: role.id }, body: { mode: 'block_all_now', ...because } })).status,
    ).toBe(200)
    await live.ask('ada', removePlatformPolicyValue, { params: { key: 'authorization.role_disable_grace_window_seconds' }, body: {} })
  })

  test('RP-16 what the platform disabled, the platform alone enables', async () => {
    const { body: role } = await make(tier, [more])
    expect(
      (await askIn(tier, 'ada', roles.disable, { params: { role_id: role.id }, body: { mode: 'block_all_now', ...because } })).status,
    ).toBe(200)
    const refused = await askIn(tier, owner, roles.enable, { params: { role_id: role.id }, body: because })
    expect([refused.status, refused.body.details?.detail]).toEqual([403, 'disabled_by_platform'])
    expect((await askIn(tier, 'ada', roles.enable, { params: { role_id: role.id }, body: because })).status).toBe(200)
    // What somebody else disabled, the platform may take over, once.
    const disable = (person: string) =>
      askIn(tier, person, roles.disable, { params: { role_id: role.id }, body: { mode: 'block_all_now', ...because } })
    expect((await disable(owner)).status).toBe(200)
    expect((await disable('ada')).status).toBe(200)
    expect((await disable('ada')).body.code).toBe('state_conflict')
    expect((await askIn(tier, owner, roles.enable, { params: { role_id: role.id }, body: because })).status).toBe(403)
  })

  test('RP-08 the built-in roles of the tier are listed with the own ones, and changed by nobody', async () => {
    const { body } = await askIn(tier, owner, roles.list, { query: { limit: 200 } })
    const builtin = body.items.filter(({ is_builtin }: { is_builtin: boolean }) => is_builtin)
    expect(builtin).toHaveLength(tier === 'tenant' ? 6 : 4)
    for (const person of [owner, 'ada'])
      for (const { id } of builtin) {
        expect(
          (
            await askIn(tier, person, roles.update, {
              params: { role_id: id },
              body: { permissions: [...keys], expected_version: 1, ...because },
            })
          ).body.code,
        ).toBe('role_immutable')
        expect((await askIn(tier, person, roles.remove, { params: { role_id: id }, body: because })).body.code).toBe('role_immutable')
        expect(
          (await askIn(tier, person, roles.disable, { params: { role_id: id }, body: { mode: 'block_all_now', ...because } })).body.code,
        ).toBe('role_immutable')
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
  expect(
    (await live.ask('alice', disableBuiltinRole, { params: { role_id: ids.project_viewer! }, body: { mode: 'block_all_now', ...because } }))
      .status,
  ).toBe(403)
  expect(
    (await live.ask('ada', disableBuiltinRole, { params: { role_id: ids.project_viewer! }, body: { mode: 'block_all_now', ...because } }))
      .status,
  ).toBe(200)
  expect(await decided('axel', 'project', 'project.role.read')).toBe('role_disabled')
  const added = await live.ask('amara', addProjectMember, {
    params: { project_id: project.aurora },
    body: { user_id: user('anna'), role_name: 'project_viewer' },
  })
  expect([added.status, added.body.code]).toEqual([409, 'role_not_assignable'])
  // Who includes it keeps its permissions.
  expect(await decided('asha', 'project', 'project.role.read')).toBe('allow')
  expect((await live.ask('ada', enableBuiltinRole, { params: { role_id: ids.project_viewer! }, body: because })).status).toBe(200)
  expect(await decided('axel', 'project', 'project.role.read')).toBe('allow')
  expect(
    (
      await live.ask('ada', disableBuiltinRole, {
        params: { role_id: ids.platform_superadmin! },
        body: { mode: 'block_all_now', ...because },
      })
    ).body.code,
  ).toBe('last_owner')
})

test('RP-23 a role for service accounts holds only what is fit for them, and is of a project', async () => {
  expect((await make('tenant', ['tenant.read'], { is_assignable_to_service_accounts: true })).status).toBe(400)
  expect(
    (await make('project', ['project.member.invite'], { is_assignable_to_service_accounts: true })).body.details?.fields?.[0]?.message,
  ).toContain('project.member.invite')
  const { body: role } = await make('project', ['allocation.read', 'project.member.invite'])
  expect(
    (
      await live.ask('amara', updateProjectRole, {
        params: { project_id: project.aurora, role_id: role.id },
        body: { is_assignable_to_service_accounts: true, expected_version: 1, ...because },
      })
    ).status,
  ).toBe(400)
  const fit = await live.ask('amara', updateProjectRole, {
    params: { project_id: project.aurora, role_id: role.id },
    body: { is_assignable_to_service_accounts: true, permissions: ['allocation.read'], expected_version: 1, ...because },
  })
  expect(fit.body).toMatchObject({ is_assignable_to_service_accounts: true, version: 2 })
})
