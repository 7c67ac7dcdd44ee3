import { listProjectAuditLogs } from '@gatehouse/contract/audit-logs'
import { operations } from '@gatehouse/contract/operations'
import { createProjectBinding, endProjectBinding } from '@gatehouse/contract/role-bindings'
import { createProjectRole } from '@gatehouse/contract/roles'
import { deleteServiceAccount, disableServiceAccount, enableServiceAccount } from '@gatehouse/contract/service-accounts'
import { listUsers } from '@gatehouse/contract/users'
import { describe, expect, test } from 'vitest'
import { actions, isAction } from '#rails/authz/actions.ts'
import { fixture } from '../../../../test/fixture.ts'
import {
  pathOf,
  rightfulCalls,
  serviceAccountOf,
  writeConstraints,
  writeRoles,
  writeServiceAccounts,
} from '../../../../test/fuzz/rightful-calls.ts'
import { noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'
import { machineOn } from '../../../../test/machine.ts'

const { org, project, user } = seeded
const home = { org_id: org.aurora, project_id: project.aurora }
const training = `/api/v1/projects/${project.aurora}`

const live = serverFixture({ policies: noRateLimits }, async (live) => {
  await writeConstraints(live.sql)
  await writeRoles(live.sql)
  await writeServiceAccounts(live.sql)
})
const machine = fixture(async () => {
  const made = await machineOn(live.sql, home)
  return { ...made, bearer: await tokenFor(made) }
})

/** With a scope as wide as anybody could ask for, and wider: what a token says gives nothing. */
const tokenFor = async (of: Pick<Awaited<ReturnType<typeof machineOn>>, 'mint'>): Promise<string> => {
  const scope = Object.keys(actions)
  const { token } = await of.mint({ claims: { scope: scope.join(' ') }, row: { scope: `'{${scope.join(',')}}'` } })
  return token
}
const ask = (method: string, path: string, body?: object, token = machine.bearer, headers: Record<string, string> = {}) =>
  live.call(null, method, path, { ...(body ? { body } : {}), headers: { authorization: `Bearer ${token}`, ...headers } })

const admitted = operations.filter(({ actors, identified_by }) => actors.includes('service_account') && identified_by === 'bearer')

/** What it may change: its own tokens, allocations, and the keys of its project's automation. */
const changes = ['allocation.create', 'allocation.release', 'auth.token.revoke', 'project.ssh_key.create', 'project.ssh_key.delete']

test('TI-25 SG-05 a service account is admitted to reads and to these few changes, and to nothing that is not fit for it', () => {
  for (const { id, effect, actions: asked } of admitted) {
    expect([id, effect === 'change']).toEqual([id, changes.includes(id)])
    const isOwn = (key: string) => isAction(key) && (actions[key].fit_for_service_accounts || ['project.read', 'me.read'].includes(key))
    expect([id, asked.some(isOwn) || id === 'auth.token.revoke']).toEqual([id, true])
  }
  const aboutItself = admitted.filter(({ actions: asked }) => asked.includes('me.read'))
  expect(aboutItself.map(({ id }) => id)).toEqual(['authz.decide', 'authz.decide_batch', 'authz.explain', 'me.permissions'])
  expect(admitted.map(({ id }) => id).filter((id) => !id.startsWith('authz.') && !id.startsWith('me.') && !id.startsWith('auth.'))).toEqual(
    [
      'allocation.create',
      'allocation.list',
      'allocation.read',
      'allocation.release',
      'audit_log.list_of_project',
      'policy.constraint.list_of_project',
      'policy.constraint.list_versions_of_project',
      'policy.constraint.read_of_project',
      'policy.value.list_of_project',
      'project.member.list',
      'project.read',
      'project.ssh_key.create',
      'project.ssh_key.delete',
      'project.ssh_key.list',
      'role.list_of_project',
      'role.read_of_project',
      'role.versions_of_project',
      'role_binding.list_of_project',
      'service_account.key.list',
      'service_account.list',
      'service_account.read',
    ],
  )
})

describe('in its own project', () => {
  const reads = rightfulCalls.filter(
    ({ operation: { actors, effect, path } }) => actors.includes('service_account') && effect !== 'change' && path.includes(':project_id'),
  )

  test.for(reads)('TI-25 it reads what its roles give: $operation.id', async ({ operation, params }) => {
    const { status, body } = await ask(operation.method, pathOf(operation.path, params))
    // Only admins read policy and the record, and no role of an admin's is for machines.
    const isAdmins = operation.actions.some((key) => ['project.policy.read', 'project.audit.read'].includes(key))
    expect([status, body.details]).toMatchObject(isAdmins ? [403, { reason_code: 'permission_denied' }] : [200, undefined])
  })

  test('RP-23 a custom role that is for service accounts lets it read policy and the record, and the record names it', async () => {
    const role = {
      name: 'auditor-machine',
      permissions: ['project.policy.read', 'project.audit.read'],
      is_assignable_to_service_accounts: true,
    }
    const { body: made } = await live.ask('amara', createProjectRole, { params: { project_id: project.aurora }, body: role })
    const binding = { principal_type: 'service_account', principal_id: machine.account_id, role_id: made.id } as const
    const { status, body: bound } = await live.ask('amara', createProjectBinding, { params: { project_id: project.aurora }, body: binding })
    expect(status).toBe(201)
    expect((await ask('GET', `${training}/policies/values`)).status).toBe(200)
    expect((await ask('GET', `${training}/audit-logs`)).status).toBe(200)
    const { body } = await live.ask('amara', listProjectAuditLogs, {
      params: { project_id: project.aurora },
      query: { actor_type: 'service_account' },
    })
    const [{ slug } = { slug: '' }] = await live.sql<{ slug: string }>('select slug from service_accounts where id = $1', [
      machine.account_id,
    ])
    expect(body.items[0]).toMatchObject({ action: 'audit_log.list_of_project', actor_name: slug, actor_id: machine.account_id })
    await live.ask('amara', endProjectBinding, { params: { project_id: project.aurora, binding_id: bound.id }, body: {} })
    expect((await ask('GET', `${training}/policies/values`)).status).toBe(403)
  })

  test('TI-25 a refusal in its own project stands in the record of its tenant', async () => {
    const refused = await ask('GET', `${training}/policies/values`, undefined, machine.bearer, { 'x-request-id': 'machine-refused' })
    expect(refused.body.details).toMatchObject({ reason_code: 'permission_denied' })
    expect(await live.auditOf('machine-refused')).toMatchObject([
      { actor_type: 'service_account', actor_id: machine.account_id, result: 'denied', tenant_id: org.aurora, project_id: project.aurora },
    ])
  })

  test('TI-25 disabled it is told so, enabled it goes on, deleted it is nobody', async () => {
    const other = await machineOn(live.sql, home)
    const token = await tokenFor(other)
    const read = async () => {
      const { status, body } = await ask('GET', training, undefined, token)
      return [status, body.code, body.details]
    }
    expect((await read())[0]).toBe(200)
    await live.ask('aldo', disableServiceAccount, {
      params: { project_id: project.aurora, service_account_id: other.account_id },
      body: { reason: 'r' },
    })
    expect(await read()).toMatchObject([403, 'insufficient_permissions', { reason_code: 'actor_disabled' }])
    await live.ask('aldo', enableServiceAccount, {
      params: { project_id: project.aurora, service_account_id: other.account_id },
      body: { reason: 'r' },
    })
    expect((await read())[0]).toBe(200)
    await live.ask('aldo', deleteServiceAccount, {
      params: { project_id: project.aurora, service_account_id: other.account_id },
      body: { reason: 'r' },
    })
    expect((await read()).slice(0, 2)).toEqual([401, 'token_invalid'])
  })

  test('TI-25 a key that is revoked, or rotated without an overlap, takes its tokens with it; one with an overlap does not', async () => {
    for (const [path, body, status] of [
      ['', { reason: 'r' }, 401],
      ['/rotate', { overlap_seconds: 0 }, 401],
      ['/rotate', { overlap_seconds: 60 }, 200],
    ] as const) {
      const other = await machineOn(live.sql, home, 'project_viewer')
      const token = await tokenFor(other)
      const key = `${training}/service-accounts/${other.account_id}/keys/${other.key_id}`
      expect((await ask('GET', training, undefined, token)).status).toBe(200)
      expect((await live.call('aldo', path === '' ? 'DELETE' : 'POST', `${key}${path}`, { body })).status).toBeLessThan(300)
      expect([path, body, (await ask('GET', training, undefined, token)).status]).toEqual([path, body, status])
    }
  })
})

describe('anywhere else', () => {
  const strange = { project_id: project.borealis, org_id: org.borealis }
  const named = rightfulCalls.filter(
    ({ operation: { actors, path, identified_by } }) =>
      actors.includes('service_account') && identified_by === 'bearer' && /:(?:project|org)_id/.test(path),
  )

  test.for(named)(
    'TI-25 RP-24 it is out of its scope, whether or not there is such a place: $operation.id',
    async ({ operation, params, body }) => {
      for (const elsewhere of [strange, { project_id: serviceAccountOf('nowhere'), org_id: serviceAccountOf('nowhere') }]) {
        const changed = { ...params, ...Object.fromEntries(Object.entries(elsewhere).filter(([name]) => name in params)) }
        const refused = await ask(operation.method, pathOf(operation.path, changed), body)
        expect([refused.status, refused.body.details]).toMatchObject([403, { reason_code: 'scope_mismatch' }])
      }
    },
  )

  const closed = rightfulCalls.filter(
    ({ operation: { actors, identified_by } }) => !actors.includes('service_account') && identified_by === 'bearer',
  )

  test('RP-24 E6 what does not admit it refuses it, whatever its token says, and changes nothing', async () => {
    expect(closed.length).toBeGreaterThan(60)
    const rows = () =>
      live.sql(`select (select md5(string_agg(b::text, '' order by b.id)) from project_role_bindings b) as bindings,
      (select count(*) from service_accounts) as accounts, (select count(*) from service_account_keys) as keys, (select count(*) from organizations) as orgs`)
    const before = await rows()
    for (const { operation, params, body } of closed) {
      const { status, body: said } = await ask(operation.method, pathOf(operation.path, params), body)
      expect([operation.id, status, said.details]).toMatchObject([operation.id, 403, { reason_code: 'permission_denied' }])
    }
    expect(await rows()).toEqual(before)
  })

  test('RP-24 it asks for decisions about itself, and there too the platform and the tenant are out of its scope', async () => {
    const decide = async (action: string, resource: object) => {
      const { status, body } = await ask('POST', '/api/v1/authz/decisions', { action, resource })
      return [status, body.decision, body.reason_code]
    }
    const here = { type: 'project', project_id: project.aurora, tenant_id: org.aurora }
    expect(await decide('storage.write', here)).toEqual([200, 'allow', null])
    expect(await decide('project.role.assign', here)).toEqual([200, 'deny', 'permission_denied'])
    expect(await decide('tenant.read', { type: 'organization', tenant_id: org.aurora })).toEqual([200, 'deny', 'scope_mismatch'])
    expect(await decide('platform.admin', { type: 'platform' })).toEqual([200, 'deny', 'scope_mismatch'])
  })

  test('RP-24 a service account with the id of a superadmin is a service account', async () => {
    const id = user('ada')
    await live.sql(
      `insert into service_accounts (id, org_id, project_id, name, slug, created_at) values ($1, $2, $3, 'Ada', 'ada', now())`,
      [id, home.org_id, home.project_id],
    )
    const key_id = serviceAccountOf('key of the twin')
    await live.sql(
      `insert into service_account_keys
       select (k).* from (select jsonb_populate_record(k, jsonb_build_object('id', $2::text, 'service_account_id', $1::text)) as k
                            from service_account_keys k where k.id = $3) as twin`,
      [id, key_id, machine.key_id],
    )
    const scope = Object.keys(actions)
    const row = { actor_id: `'${id}'`, credential_id: `'${key_id}'`, scope: `'{${scope.join(',')}}'` }
    const { token } = await machine.mint({ claims: { sub: id, scope: scope.join(' ') }, row })
    // It is a live token, and Ada may read what it is refused.
    expect((await ask('GET', training, undefined, token)).status).toBe(200)
    expect((await live.ask('ada', listUsers)).status).toBe(200)
    const refused = await ask('GET', '/api/v1/admin/users', undefined, token)
    expect([refused.status, refused.body.details]).toMatchObject([403, { reason_code: 'permission_denied' }])
    const decided = await ask('POST', '/api/v1/authz/decisions', { action: 'platform.admin', resource: { type: 'platform' } }, token)
    expect([decided.status, decided.body.decision, decided.body.reason_code]).toEqual([200, 'deny', 'scope_mismatch'])
  })
})

test('DE-19 a disabled account is told so wherever it asks about, on a process that knew it before', async () => {
  const own = await machineOn(live.sql, home)
  const token = await tokenFor(own)
  const everywhere = () =>
    Promise.all([
      ask('GET', '/api/v1/me/permissions', undefined, token),
      ask('POST', '/api/v1/authz/decisions', { action: 'me.read', resource: { type: 'service_account' } }, token),
      ask('POST', '/api/v1/authz/decisions', { action: 'storage.read', resource: { type: 'project', id: project.borealis } }, token),
    ])
  for (let times = 0; times < 2; times += 1) expect((await everywhere()).map(({ status }) => status)).toEqual([200, 200, 200])
  await live.sql(
    `update service_accounts set state = 'disabled', disabled_at = now(), disabled_by = $2, disable_reason = 'test' where id = $1`,
    [own.account_id, user('aldo')],
  )
  expect((await everywhere()).map(({ status, body }) => [status, body.details?.reason_code])).toEqual(
    Array(3).fill([403, 'actor_disabled']),
  )
})
