import { disableSharedRuntime } from '@gatehouse/contract/shared-runtimes'
import { describe, expect, test } from 'vitest'
import { seeded, serverFixture } from '../../../../test/live-server.ts'
import { machineWithSecret } from '../../../../test/machine-credential.ts'
import { runtimesOn, strange } from '../../../../test/runtime-scene.ts'
import { roleIdOf } from '../authz/catalogue.ts'

const { org, project } = seeded

let id: string
let operator: string
let account: string
let account_id: string
const live = serverFixture({}, async (live) => {
  id = await runtimes.made()
  operator = await runtimes.tokenOf(id)
  const machine = await machineWithSecret(live)
  account_id = machine.service_account_id
  account = (await machine.ask()).body.access_token
})
const runtimes = runtimesOn(live)

let asked = 0
/** The one row that a refusal leaves. */
const told = async (token: string, method: string, path: string, body?: object) => {
  asked += 1
  const correlation_id = `refused-${asked}`
  const headers = { authorization: `Bearer ${token}`, 'x-request-id': correlation_id }
  const { status } = await live.call(null, method, path, { ...(body ? { body } : {}), headers })
  const rows = await live.auditOf(correlation_id)
  expect([path, status, rows.length]).toEqual([path, expect.toSatisfy((code: number) => code === 403 || code === 404), 1])
  return rows[0] as Record<string, unknown>
}

describe('what an operator was refused', () => {
  test('MI-08 names what it asked about, also where it was refused before anything was judged', async () => {
    const other = await runtimes.made()
    const { body: attached } = await runtimes.attach(id, project.aurora)
    const at = { actor_id: id, tenant_id: org.aurora, metadata: { shared_runtime_id: id } }
    // By its class.
    expect(await told(operator, 'DELETE', runtimes.one(id), { reason: 'because' })).toMatchObject({
      ...{ ...at, resource_type: 'shared_runtime', resource_id: id, reason_code: 'permission_denied', project_id: null },
    })
    const path = runtimes.one(id, `/attachments/${attached.id}`)
    expect(await told(operator, 'PATCH', path, { contribution_policy: 'all', reason: 'because' })).toMatchObject({
      ...{ ...at, resource_type: 'shared_runtime_attachment', resource_id: attached.id, reason_code: 'permission_denied' },
    })
    // By its token.
    expect(await told(operator, 'GET', runtimes.one(other))).toMatchObject({
      ...{ ...at, resource_type: 'shared_runtime', resource_id: other, reason_code: 'scope_mismatch' },
    })
    expect(await told(operator, 'GET', runtimes.one(id, '', org.borealis))).toMatchObject({
      ...{ ...at, resource_type: 'shared_runtime', resource_id: id, reason_code: 'scope_mismatch' },
    })
  })

  test('MI-08 AU-05 says the project where it is one of its own tenant; another’s is as one that is not there', async () => {
    const rows = []
    for (const each of [project.aurora, project.borealis, strange]) rows.push(await told(operator, 'GET', `/api/v1/projects/${each}`))
    expect(rows).toMatchObject([
      { tenant_id: org.aurora, resource_type: 'project', resource_id: project.aurora, project_id: project.aurora },
      { tenant_id: org.aurora, resource_type: 'project', resource_id: project.borealis, project_id: null },
      { tenant_id: org.aurora, resource_type: 'project', resource_id: strange, project_id: null },
    ])
  })

  test('MI-11 MI-08 says which secret it asked for, by its name', async () => {
    const deliver = (path: string, token = operator) => told(token, 'POST', path, { name: 'registry' })
    const other = await runtimes.made()
    const of_disabled = await runtimes.tokenOf(other)
    await live.ask('adam', disableSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: other }, body: { reason: 'because' } })
    const rows = [
      await deliver(runtimes.one(id, '/credential-deliveries')),
      await deliver(runtimes.one(other, '/credential-deliveries')),
      await deliver(runtimes.one(id, '/credential-deliveries'), account),
      await deliver(runtimes.one(other, '/credential-deliveries'), of_disabled),
    ]
    expect(rows.map(({ reason_code }) => reason_code)).toEqual([
      'runtime_credential_not_found',
      'scope_mismatch',
      'permission_denied',
      'actor_disabled',
    ])
    for (const row of rows) expect(row).toMatchObject({ tenant_id: org.aurora, metadata: { asked_name: 'registry' } })
  })
})

describe('what a service account was refused', () => {
  test('AU-01 MI-09 within its own tenant is told to that tenant', async () => {
    const second = await runtimes.project()
    const asks: [string, string, object][] = [
      ['GET', runtimes.one(id), { resource_type: 'shared_runtime', resource_id: id, project_id: null }],
      ['GET', `/api/v1/orgs/${org.aurora}/members`, { resource_type: 'organization', resource_id: org.aurora, project_id: null }],
      ['GET', `/api/v1/projects/${second}`, { resource_type: 'project', resource_id: second, project_id: second }],
    ]
    for (const [method, path, row] of asks)
      expect(await told(account, method, path)).toMatchObject({ actor_id: account_id, tenant_id: org.aurora, result: 'denied', ...row })
  })

  test('AU-01 AU-05 across tenants is told to the platform, and so is what is nobody’s', async () => {
    const paths = [org.borealis, strange].flatMap((each) => [`/api/v1/orgs/${each}/members`, runtimes.one(id, '', each)])
    const projects = [project.borealis, strange].map((each) => `/api/v1/projects/${each}`)
    for (const path of [...paths, ...projects])
      expect(await told(account, 'GET', path)).toMatchObject({ actor_id: account_id, tenant_id: null, project_id: null, result: 'denied' })
  })
})

describe('what a person was refused', () => {
  const toldOf = async (who: string, method: string, path: string, body?: object) => {
    asked += 1
    const correlation_id = `refused-${asked}`
    await live.call(who, method, path, { ...(body ? { body } : {}), headers: { 'x-request-id': correlation_id } })
    const rows = await live.auditOf(correlation_id)
    expect([path, rows.length]).toEqual([path, 1])
    return rows[0] as Record<string, unknown>
  }
  const inProject = { tenant_id: org.aurora, project_id: project.aurora, result: 'denied' }

  test('AU-08 access grant create: refused → the row names allocation, grantee and key as asked', async () => {
    const allocation_id = await runtimes.allocation()
    const row = await toldOf('axel', 'POST', `/api/v1/allocations/${allocation_id}/access-grants`, {
      grantee_user_id: seeded.user('alice'),
      ssh_key_id: strange,
    })
    expect(row).toMatchObject({
      ...{ ...inProject, action: 'allocation.access_grant.create', resource_type: 'allocation', resource_id: allocation_id },
      metadata: { asked_allocation_id: allocation_id, asked_grantee_user_id: seeded.user('alice'), asked_ssh_key_id: strange },
    })
  })

  test('AU-08 allocation list and create: the project stood in query or body → the row names it as asked', async () => {
    const elsewhere = `/api/v1/allocations?project_id=${project.borealis}`
    expect(await toldOf('axel', 'GET', elsewhere)).toMatchObject({ tenant_id: null, metadata: { asked_project_id: project.borealis } })
    const body = { project_id: project.aurora, name: 'n', region: 'eu-1', sku: 'h100', gpus: 1, ssh_key_ids: [strange] }
    expect(await toldOf('axel', 'POST', '/api/v1/allocations', body)).toMatchObject({
      ...{ ...inProject, resource_type: 'project', resource_id: project.aurora },
      metadata: { asked_project_id: project.aurora, asked_ssh_key_ids: [strange] },
    })
  })

  test('AU-08 creation: refused → the row names the place that exists, and nothing that was never made', async () => {
    const ofProject = { ...inProject, resource_type: 'project', resource_id: project.aurora }
    const ofTenant = { tenant_id: org.aurora, project_id: null, resource_type: 'organization', resource_id: org.aurora }
    const account = { name: 'robot', slug: 'robot' }
    const role = { name: 'a-role', permissions: ['tenant.read'] }
    const rule = { key: 'a.rule', actions: ['tenant.read'], condition: { present: ['source_ip'] }, reason: 'because' }
    const runtime = { app_slug: 'slurm', app_version: '1', display_name: 'r', runtime_backend: 'slurm' }
    const asks: [string, object, object, string][] = [
      [`projects/${project.aurora}/service-accounts`, account, ofProject, 'service_account.create'],
      [`projects/${project.aurora}/roles`, { ...role, permissions: ['storage.read'] }, ofProject, 'role.create'],
      [`orgs/${org.aurora}/roles`, role, ofTenant, 'role.create'],
      [`orgs/${org.aurora}/policies/constraints`, rule, ofTenant, 'policy.constraint.create'],
      [`orgs/${org.aurora}/shared-app-runtimes`, runtime, ofTenant, 'shared_runtime.create'],
      ['admin/nodes', { name: 'n', region: 'eu-1', sku: 'h100', gpus: 1 }, { resource_type: 'platform' }, 'node.create'],
    ]
    for (const [path, body, row, action] of asks)
      expect(await toldOf('axel', 'POST', `/api/v1/${path}`, body)).toMatchObject({ ...row, action, result: 'denied' })
  })

  test('AU-08 RP-19 role binding: beyond the ceiling → the row says so, with whom and what, under the action of a success', async () => {
    const path = `/api/v1/orgs/${org.aurora}/role-bindings`
    const binding = { principal_type: 'user', principal_id: seeded.user('axel'), reason: 'because' }
    const owner = await toldOf('adam', 'POST', path, { ...binding, role_id: roleIdOf('tenant_owner') })
    expect(owner).toMatchObject({
      ...{ action: 'role_binding.create', result: 'denied', reason_code: 'permission_denied' },
      metadata: { detail: 'assignment_ceiling', asked_principal_id: seeded.user('axel'), asked_role_id: roleIdOf('tenant_owner') },
    })
    const given = await toldOf('alice', 'POST', path, { ...binding, role_id: roleIdOf('tenant_viewer') })
    expect(given).toMatchObject({ action: owner.action, result: 'success' })
  })
})
