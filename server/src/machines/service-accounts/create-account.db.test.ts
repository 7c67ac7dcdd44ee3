import { removeOrganizationMember, removeProjectMember } from '@gatehouse/contract/members'
import {
  createOrganizationBinding,
  createPlatformBinding,
  createProjectBinding,
  endProjectBinding,
} from '@gatehouse/contract/role-bindings'
import { createProjectRole, updateProjectRole } from '@gatehouse/contract/roles'
import {
  createServiceAccount,
  createServiceAccountKey,
  deleteServiceAccount,
  disableServiceAccount,
  enableServiceAccount,
  listServiceAccountKeys,
  listServiceAccounts,
  readServiceAccount,
  revokeServiceAccountKey,
  rotateServiceAccountKey,
} from '@gatehouse/contract/service-accounts'
import { disableUser } from '@gatehouse/contract/users'
import { describe, expect, test } from 'vitest'
import { fixedId } from '#ground/kernel/ids.ts'
import { crowdFixture } from '../../../../test/crowd.ts'
import { noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'
import { accounts, because, ceiling, keysOf, nobody, one, serviceAccountsOn, word } from '../../../../test/service-account-scene.ts'

const live = serverFixture({ policies: noRateLimits })
const { bind, define, holding, make, makeKey } = serviceAccountsOn(live)

const people = crowdFixture(live, 4)

const { org, project, user } = seeded

describe('accounts', () => {
  test('HO-11 TI-25 service_account.create: as many as policy allows, also where many are made at once → limit_reached; a deleted one gives its place back', async () => {
    const create = () =>
      live.ask('basil', createServiceAccount, { params: { project_id: project.borealis }, body: { name: 'One of many', slug: word() } })
    await live.setPolicy('auth.max_service_accounts_per_project', 3)
    const asked = await Promise.all(Array.from({ length: 6 }, create))
    expect(asked.map(({ status }) => status).sort()).toEqual([201, 201, 201, 409, 409, 409])
    expect(asked.find(({ status }) => status === 409)!.body).toMatchObject({
      code: 'limit_reached',
      details: { policy: 'auth.max_service_accounts_per_project', limit: 3 },
    })
    const { id } = asked.find(({ status }) => status === 201)!.body
    const params = { project_id: project.borealis, service_account_id: id }
    expect((await live.ask('basil', deleteServiceAccount, { params, body: because })).status).toBe(204)
    expect([(await create()).status, (await create()).status]).toEqual([201, 409])
    await live.setPolicy('auth.max_service_accounts_per_project', 1000)
  })

  test('TI-25 one is created in its project, read and listed there, and recorded', async () => {
    const slug = word()
    const made = await live.ask('aldo', createServiceAccount, {
      params: { project_id: project.aurora },
      body: { name: 'Nightly', slug, ...because },
      headers: { 'x-request-id': slug },
    })
    expect(made.status).toBe(201)
    expect(made.body).toEqual({
      id: expect.any(String),
      ...{ org_id: org.aurora, project_id: project.aurora, name: 'Nightly', slug, state: 'active' },
      ...{ created_at: expect.any(String), created_by: user('aldo'), disabled_at: null },
    })
    expect(
      (await live.ask('asha', readServiceAccount, { params: { project_id: project.aurora, service_account_id: made.body.id } })).body,
    ).toEqual(made.body)
    const { body } = await live.ask('asha', listServiceAccounts, { params: { project_id: project.aurora }, query: { limit: 200 } })
    expect(body.items).toContainEqual(made.body)
    expect(await live.auditOf(slug)).toMatchObject([
      {
        ...{ action: 'service_account.create', actor_id: user('aldo'), resource_id: made.body.id, result: 'success', severity: 'info' },
        ...{ tenant_id: org.aurora, project_id: project.aurora, metadata: { slug, reason: 'because' } },
      },
    ])
  })

  test('TI-25 a slug is taken while its account lives, also where two ask at once', async () => {
    const body = { name: 'Twice', slug: word() }
    const asked = await Promise.all(
      Array.from({ length: 6 }, () => live.ask('aldo', createServiceAccount, { params: { project_id: project.aurora }, body })),
    )
    expect(asked.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409])
    expect(asked.find(({ status }) => status === 409)!.body.code).toBe('service_account_already_exists')
    const made = asked.find(({ status }) => status === 201)!.body
    expect(
      (await live.ask('aldo', deleteServiceAccount, { params: { project_id: project.aurora, service_account_id: made.id }, body: because }))
        .status,
    ).toBe(204)
    expect((await live.ask('aldo', createServiceAccount, { params: { project_id: project.aurora }, body })).status).toBe(201)
    expect((await live.ask('basil', createServiceAccount, { params: { project_id: project.borealis }, body })).status).toBe(201)
  })

  test('TI-25 disabled and enabled, once each, with who and why', async () => {
    const id = await make()
    const disabled = await live.ask('aldo', disableServiceAccount, {
      params: { project_id: project.aurora, service_account_id: id },
      body: { reason: 'leaked' },
      headers: { 'x-request-id': `d-${id}` },
    })
    expect([disabled.status, disabled.body.state]).toEqual([200, 'disabled'])
    expect(disabled.body.disabled_at).not.toBe(null)
    const again = await live.ask('aldo', disableServiceAccount, {
      params: { project_id: project.aurora, service_account_id: id },
      body: because,
    })
    expect([again.status, again.body.code, again.body.details]).toEqual([409, 'state_conflict', { state: 'disabled' }])
    expect(await live.sql('select disabled_by, disable_reason from service_accounts where id = $1', [id])).toEqual([
      { disabled_by: user('aldo'), disable_reason: 'leaked' },
    ])
    expect(await live.auditOf(`d-${id}`)).toMatchObject([{ action: 'service_account.disable', metadata: { reason: 'leaked' } }])
    const enabled = await live.ask('aldo', enableServiceAccount, {
      params: { project_id: project.aurora, service_account_id: id },
      body: because,
    })
    expect([enabled.status, enabled.body.state, enabled.body.disabled_at]).toEqual([200, 'active', null])
    expect(
      (await live.ask('aldo', enableServiceAccount, { params: { project_id: project.aurora, service_account_id: id }, body: because })).body
        .code,
    ).toBe('state_conflict')
    for (const verb of ['disable', 'enable']) expect((await live.call('aldo', 'POST', `${one(id)}/${verb}`, { body: {} })).status).toBe(400)
  })

  test('RP-16 TI-25 what the platform disabled, or made its own, only the platform enables', async () => {
    const turn = async (person: string, id: string, to: string) => {
      const { status, body } = await live.call(person, 'POST', `${one(id)}/${to}`, { body: because })
      return [status, body.details ?? body.state]
    }
    const refused = [403, { reason_code: 'permission_denied', detail: 'disabled_by_platform' }]
    const first = await make()
    expect(await turn('ada', first, 'disable')).toEqual([200, 'disabled'])
    expect(await turn('ada', first, 'disable')).toEqual([409, { state: 'disabled' }])
    expect(await turn('aldo', first, 'enable')).toMatchObject(refused)
    expect(await turn('amara', first, 'enable')).toMatchObject(refused)
    expect(await turn('ada', first, 'enable')).toEqual([200, 'active'])
    expect(await turn('aldo', first, 'disable')).toEqual([200, 'disabled'])
    expect(await turn('aldo', first, 'enable')).toEqual([200, 'active'])

    const second = await make()
    expect(await turn('aldo', second, 'disable')).toEqual([200, 'disabled'])
    expect(await turn('ada', second, 'disable')).toEqual([200, 'disabled'])
    expect(await turn('aldo', second, 'disable')).toEqual([409, { state: 'disabled' }])
    expect(await turn('aldo', second, 'enable')).toMatchObject(refused)
  })

  test('TI-25 one that is deleted is gone with its bindings, and stays in the table', async () => {
    const id = await make()
    expect((await bind('aldo', id, { role_name: 'project_viewer' })).status).toBe(201)
    const role_id = await define(['storage.read'])
    expect((await bind('aldo', id, { role_id })).status).toBe(201)
    expect((await live.call('aldo', 'DELETE', one(id), { body: {} })).status).toBe(400)
    const gone = await live.ask('aldo', deleteServiceAccount, {
      params: { project_id: project.aurora, service_account_id: id },
      body: { reason: 'done' },
      headers: { 'x-request-id': `x-${id}` },
    })
    expect(gone.status).toBe(204)
    for (const [method, path] of [
      ['GET', one(id)],
      ['GET', keysOf(id)],
      ['POST', keysOf(id)],
      ['POST', `${one(id)}/disable`],
      ['DELETE', one(id)],
    ] as const) {
      const body = method === 'GET' ? {} : { body: path === keysOf(id) ? {} : because }
      const { status, body: said } = await live.call('aldo', method, path, body)
      expect([method, path, status, said.code]).toEqual([method, path, 404, 'service_account_not_found'])
    }
    expect((await bind('aldo', id, { role_name: 'project_viewer' })).body.code).toBe('service_account_not_found')
    expect(await live.sql('select state, delete_reason, deleted_by from service_accounts where id = $1', [id])).toEqual([
      { state: 'deleted', delete_reason: 'done', deleted_by: user('aldo') },
    ])
    expect(
      await live.sql('select delete_reason from project_role_bindings where principal_id = $1 and deleted_at is not null', [id]),
    ).toEqual([{ delete_reason: 'done' }, { delete_reason: 'done' }])
    const [row] = await live.auditOf(`x-${id}`)
    expect(row).toMatchObject({ action: 'service_account.delete', metadata: { reason: 'done' } })
    expect((row as { metadata: { ended_bindings: string[] } }).metadata.ended_bindings).toHaveLength(2)
  })

  test('TI-25 one outlives the person who made it, and so do its keys', async () => {
    const maker = await holding(people[3]!, ['project.service_account.manage', 'project.service_account.key.create'])
    const id = await make(maker)
    const { body: key } = await makeKey(maker, id)
    expect(
      (await live.ask('aldo', removeProjectMember, { params: { project_id: project.aurora, user_id: people[3]!.id }, body: {} })).status,
    ).toBe(204)
    expect((await live.ask('ada', disableUser, { params: { user_id: people[3]!.id }, body: because })).status).toBe(200)
    expect(
      (await live.ask('alice', removeOrganizationMember, { params: { org_id: org.aurora, user_id: people[3]!.id }, body: {} })).status,
    ).toBe(204)
    expect(
      (await live.ask('aldo', readServiceAccount, { params: { project_id: project.aurora, service_account_id: id } })).body,
    ).toMatchObject({ state: 'active', created_by: people[3]!.id })
    expect(
      (await live.ask('aldo', listServiceAccountKeys, { params: { project_id: project.aurora, service_account_id: id } })).body.items,
    ).toMatchObject([{ key_id: key.key_id, state: 'active' }])
  })

  test('TI-25 whoever may only look looks; whoever may not even that, and a stranger, is told as everywhere', async () => {
    const id = await make()
    const { body: key } = await makeKey('aldo', id)
    const looking = [one(id), accounts, keysOf(id)]
    const changing: [string, string, object][] = [
      ['POST', accounts, { name: 'X', slug: 'x' }],
      ['POST', `${one(id)}/disable`, because],
      ['POST', `${one(id)}/enable`, because],
      ['DELETE', one(id), because],
      ['POST', keysOf(id), {}],
      ['POST', `${keysOf(id)}/${key.key_id}/rotate`, {}],
      ['DELETE', `${keysOf(id)}/${key.key_id}`, because],
    ]
    for (const path of looking) {
      expect((await live.call('asha', 'GET', path)).status).toBe(200)
      expect((await live.call('axel', 'GET', path)).body.details).toMatchObject({ reason_code: 'permission_denied' })
      expect((await live.call('bella', 'GET', path)).body.code).toBe('project_not_found')
      expect((await live.call('anna', 'GET', path)).body.details).toMatchObject({ reason_code: 'membership_missing' })
    }
    for (const [method, path, body] of changing) {
      expect((await live.call('asha', method, path, { body })).body.details).toMatchObject({ reason_code: 'permission_denied' })
      expect((await live.call('bella', method, path, { body })).body.code).toBe('project_not_found')
    }
    const absent = (await live.ask('bella', listServiceAccounts, { params: { project_id: nobody } })).body
    const foreign = (await live.ask('bella', listServiceAccounts, { params: { project_id: project.aurora } })).body
    expect({ ...absent, correlation_id: null }).toEqual({ ...foreign, correlation_id: null })
  })

  test('TI-25 in another project it is not found, nor is its key under another account', async () => {
    const [id, other] = [await make(), await make()]
    const { body: key } = await makeKey('aldo', id)
    expect(
      (await live.ask('basil', readServiceAccount, { params: { project_id: project.borealis, service_account_id: id } })).body.code,
    ).toBe('service_account_not_found')
    expect(
      (await live.ask('basil', createServiceAccountKey, { params: { project_id: project.borealis, service_account_id: id }, body: {} }))
        .body.code,
    ).toBe('service_account_not_found')
    expect(
      (
        await live.ask('aldo', revokeServiceAccountKey, {
          params: { project_id: project.aurora, service_account_id: other, key_id: key.key_id },
          body: because,
        })
      ).body.code,
    ).toBe('service_account_key_not_found')
    expect(
      (
        await live.ask('aldo', rotateServiceAccountKey, {
          params: { project_id: project.aurora, service_account_id: other, key_id: key.key_id },
          body: {},
        })
      ).body.code,
    ).toBe('service_account_key_not_found')
  })

  test('E5 what a body does not name is refused, never ignored', async () => {
    for (const [name, value] of Object.entries({
      id: nobody,
      state: 'active',
      org_id: org.borealis,
      created_by: nobody,
      project_id: nobody,
    })) {
      const { status } = await live.ask('aldo', createServiceAccount, {
        params: { project_id: project.aurora },
        body: { name: 'X', slug: word(), [name]: value },
      })
      expect([name, status]).toEqual([name, 400])
    }
    const id = await make()
    for (const name of ['client_secret', 'key_id', 'service_account_id', 'last_used_at'])
      expect([name, (await makeKey('aldo', id, { [name]: 'x' })).status]).toEqual([name, 400])
  })
})

describe('roles of service accounts', () => {
  test('RP-23 either key binds and unbinds them, within the ceiling; people are not bound by the second', async () => {
    const id = await make()
    // aldo manages accounts and does not assign roles; amara does both.
    for (const person of ['aldo', 'amara']) {
      const { status, body } = await bind(person, id, { role_name: 'project_member' })
      expect([status, body.principal_type, body.role_name]).toEqual([201, 'service_account', 'project_member'])
      expect(
        (await live.ask(person, endProjectBinding, { params: { project_id: project.aurora, binding_id: body.id }, body: because })).status,
      ).toBe(204)
    }
    const person = { principal_type: 'user', principal_id: user('axel'), role_name: 'project_member' } as const
    expect(
      (await live.ask('aldo', createProjectBinding, { params: { project_id: project.aurora }, body: person })).body.details,
    ).toMatchObject({
      reason_code: 'permission_denied',
    })
    const { body: bound } = await live.ask('amara', createProjectBinding, { params: { project_id: project.aurora }, body: person })
    expect(
      (await live.ask('aldo', endProjectBinding, { params: { project_id: project.aurora, binding_id: bound.id }, body: because })).body
        .details,
    ).toMatchObject({
      reason_code: 'permission_denied',
    })
    expect(
      (await live.ask('amara', endProjectBinding, { params: { project_id: project.aurora, binding_id: bound.id }, body: because })).status,
    ).toBe(204)
    expect((await bind('asha', id, { role_name: 'project_viewer' })).body.details).toMatchObject({ reason_code: 'permission_denied' })

    const partly = await holding(people[0]!, ['project.service_account.manage', 'storage.read'])
    expect((await bind(partly, id, { role_id: await define(['storage.read']) })).status).toBe(201)
    const beyond = await bind(partly, id, { role_id: await define(['storage.write']) })
    expect([beyond.status, beyond.body.details]).toMatchObject([403, ceiling])
  })

  test('RP-23 E6 a role that is not for service accounts is not bound to one: by nobody, and not past the code either', async () => {
    const id = await make()
    const plain = await define(['storage.read'], {})
    const unfit: object[] = [{ role_name: 'project_owner' }, { role_name: 'project_admin' }, { role_id: plain }]
    for (const role of unfit)
      for (const person of ['amara', 'ada']) {
        const { status, body } = await bind(person, id, role)
        expect([role, person, status, body.code]).toEqual([role, person, 409, 'role_not_assignable'])
      }
    for (const name of ['platform_superadmin', 'tenant_owner', 'tenant_viewer'])
      expect((await bind('amara', id, { role_name: name })).body.code).toBe('role_not_found')
    const inTenant = { principal_type: 'service_account', principal_id: id, role_name: 'tenant_viewer' } as const
    const tenant = await live.ask('alice', createOrganizationBinding, { params: { org_id: org.aurora }, body: inTenant })
    expect([tenant.status, tenant.body.code]).toEqual([409, 'role_not_assignable'])
    const platform = await live.ask('ada', createPlatformBinding, {
      body: { principal_type: 'service_account', principal_id: id, role_name: 'platform_ops' },
    })
    expect([platform.status, platform.body.code]).toEqual([409, 'role_not_assignable'])
    for (const [table, column, scope, role] of [
      ['project_role_bindings', 'project_id', project.aurora, 'project_admin'],
      ['tenant_role_bindings', 'tenant_id', org.aurora, 'tenant_viewer'],
    ])
      await expect(
        live.sql(
          `insert into ${table} (id, ${column}, principal_type, principal_id, role_version_id, created_at)
           select gen_random_uuid(), $1, 'service_account', $2, current_version_id, now() from role_definitions where name = $3`,
          [scope, id, role],
        ),
      ).rejects.toThrow(/role is not (?:for service accounts|of this tier)|service account/)
    expect(await live.sql('select from project_role_bindings where principal_id = $1', [id])).toEqual([])
  })

  test('RP-23 an account of another project, one that is not there, and a person by the wrong name are not found', async () => {
    const elsewhere = await make('basil', `/api/v1/projects/${project.borealis}/service-accounts`)
    for (const id of [elsewhere, nobody, user('axel')]) {
      const { status, body } = await bind('amara', id, { role_name: 'project_viewer' })
      expect([status, body.code]).toEqual([404, 'service_account_not_found'])
    }
    const id = await make()
    const asPerson = { principal_type: 'user', principal_id: id, role_name: 'project_viewer' } as const
    expect((await live.ask('amara', createProjectBinding, { params: { project_id: project.aurora }, body: asPerson })).body.code).toBe(
      'not_project_member',
    )
  })

  test('RP-23 a disabled account can be given a role; a second version takes the place of the first', async () => {
    const id = await make()
    await live.ask('aldo', disableServiceAccount, { params: { project_id: project.aurora, service_account_id: id }, body: because })
    const role_id = await define(['storage.read'])
    expect((await bind('aldo', id, { role_id })).status).toBe(201)
    expect((await bind('aldo', id, { role_id })).body.code).toBe('binding_already_exists')
    const update = { permissions: ['storage.read', 'storage.write'], expected_version: 1, ...because }
    expect((await live.ask('amara', updateProjectRole, { params: { project_id: project.aurora, role_id }, body: update })).status).toBe(200)
    expect((await bind('aldo', id, { role_id })).body.version).toBe(2)
    expect(await live.sql('select from project_role_bindings where principal_id = $1 and deleted_at is null', [id])).toHaveLength(1)
  })

  test('RP-23 a role for service accounts holds only what is fit for them: on create, update and flagging, with the key named', async () => {
    const unfit = ['project.role.assign', 'project.member.invite', 'project.service_account.manage', 'project.access_grant.manage']
    for (const key of unfit) {
      const body = { name: word(), permissions: ['storage.read', key], is_assignable_to_service_accounts: true }
      const created = await live.ask('amara', createProjectRole, { params: { project_id: project.aurora }, body })
      expect([created.status, created.body.details!.fields![0]!.field]).toEqual([400, 'permissions/1'])
      expect(created.body.details!.fields![0]!.message).toContain(key)
      const flagged = await define(['storage.read'])
      const update = { permissions: ['storage.read', key], expected_version: 1, ...because }
      const updated = await live.ask('amara', updateProjectRole, { params: { project_id: project.aurora, role_id: flagged }, body: update })
      expect([updated.status, updated.body.details!.fields![0]!.message.includes(key)]).toEqual([400, true])
      const plain = await define(['storage.read', key], {})
      const flagging = { is_assignable_to_service_accounts: true, expected_version: 1, ...because }
      const refused = await live.ask('amara', updateProjectRole, { params: { project_id: project.aurora, role_id: plain }, body: flagging })
      expect([refused.status, refused.body.details!.fields![0]!.message.includes(key)]).toEqual([400, true])
    }
  })

  test('RP-23 a binding that is no account’s is told as before, and the built-in roles are found by their id too', async () => {
    const id = await make()
    expect(
      (await live.ask('aldo', endProjectBinding, { params: { project_id: project.aurora, binding_id: nobody }, body: because })).status,
    ).toBe(403)
    expect(
      (await live.ask('amara', endProjectBinding, { params: { project_id: project.aurora, binding_id: nobody }, body: because })).body.code,
    ).toBe('binding_not_found')
    expect((await bind('aldo', id, { role_id: fixedId('role', 'project_viewer') })).status).toBe(201)
  })
})
