import { createAllocation, listAllocations } from '@gatehouse/contract/allocations'
import { explain } from '@gatehouse/contract/decisions'
import { listProjectMembers } from '@gatehouse/contract/members'
import { operations } from '@gatehouse/contract/operations'
import { updateOrganization } from '@gatehouse/contract/organizations'
import { createOrganizationBinding, createProjectBinding } from '@gatehouse/contract/role-bindings'
import { createOrganizationRole, createProjectRole } from '@gatehouse/contract/roles'
import { disableUser, enableUser, listUsers, readMe } from '@gatehouse/contract/users'
import { describe, expect, test } from 'vitest'
import { noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'

const live = serverFixture({ policies: noRateLimits })
const { org, project, user } = seeded
const nobody = '01890000-0000-7000-8000-000000000000'

describe('refusals', () => {
  test('AU-05 any operation: permission is missing → 403 names the action and where to ask why, and the answer there agrees', async () => {
    const refused = [
      {
        told: await live.ask('anna', updateOrganization, { params: { org_id: org.aurora }, body: { name: 'Mine' } }),
        action: 'tenant.update',
        resource: { type: 'organization', id: org.aurora },
      },
      {
        told: await live.ask('alice', listProjectMembers, { params: { project_id: project.aurora } }),
        action: 'project.member.read',
        resource: { type: 'project', id: project.aurora },
      },
      { told: await live.ask('anna', listUsers), action: listUsers.actions[0], resource: { type: 'platform' } },
    ]
    for (const { told, action, resource } of refused) {
      const { reason_code, explain_path } = told.body.details!
      expect([told.status, told.body.details]).toEqual([403, { reason_code, action, explain_path: '/api/v1/authz/explain' }])
      const person = told === refused[1]!.told ? 'alice' : 'anna'
      const why = await live.call(person, explain.method, explain_path!, { body: { action, resource } })
      expect(why).toMatchObject({ status: 200, body: { decision: 'deny', reason_code } })
    }
  })

  test('RP-19 bind role: beyond the ceiling → 403 names the first permission that the grantor does not hold', async () => {
    const body = { principal_type: 'user', principal_id: user('anna'), role_name: 'tenant_owner' } as const
    const { status, body: told } = await live.ask('adam', createOrganizationBinding, { params: { org_id: org.aurora }, body })
    expect([status, told.details]).toMatchObject([403, { reason_code: 'permission_denied', detail: 'assignment_ceiling' }])
    const resource = { type: 'organization', id: org.aurora }
    const why = await live.ask('adam', explain, { body: { action: told.details!.action!, resource } })
    expect(why.body.decision).toBe('deny')
  })

  test('RP-29 a superadmin, what override does not reach: 403 → says that it is a limit of override, and to nobody else', async () => {
    const inside = { query: { project_id: project.aurora } }
    const ada = await live.ask('ada', listAllocations, inside)
    expect([ada.status, ada.body.details]).toMatchObject([403, { action: 'allocation.read', because: expect.stringContaining('override') }])
    const alice = await live.ask('alice', listAllocations, inside)
    expect([alice.status, alice.body.details?.because]).toEqual([403, undefined])
  })

  test('AU-05 a disabled person, a stranger: no place to ask why, and nothing new about what exists', async () => {
    const bella = await live.ask('bella', listProjectMembers, { params: { project_id: project.aurora } })
    expect([bella.status, bella.body.details]).toEqual([404, undefined])
    const params = { user_id: user('axel') }
    await live.ask('ada', disableUser, { params, body: { reason: 'away' } })
    const axel = await live.ask('axel', readMe)
    expect([axel.status, axel.body.details]).toEqual([403, { reason_code: 'actor_disabled', action: 'me.read' }])
    await live.ask('ada', enableUser, { params, body: { reason: 'back' } })
  })
})

describe('wrong method', () => {
  test('HO-04 any address: a method that it does not answer to → 405 with Allow, an unknown address → 404', async () => {
    const told = async (method: string, path: string) => {
      const { status, headers, text } = await live.call(null, method, path)
      return [status, headers.get('allow'), text === '' ? null : JSON.parse(text).code]
    }
    expect(await told('DELETE', '/api/v1/me')).toEqual([405, 'GET', 'method_not_allowed'])
    expect(await told('PATCH', `/api/v1/projects/${nobody}/members`)).toEqual([405, 'GET, POST', 'method_not_allowed'])
    expect(await told('PUT', `/api/v1/orgs/${nobody}?x=1`)).toEqual([405, 'GET, PATCH', 'method_not_allowed'])
    expect(await told('POST', '/healthz')).toEqual([405, 'GET', 'method_not_allowed'])
    expect(await told('OPTIONS', '/oauth2/token')).toEqual([405, 'POST', 'method_not_allowed'])
    expect(await told('HEAD', '/api/v1/me')).toEqual([405, 'GET', null])
    for (const path of ['/api/v1/nowhere', '/api/v1/me/']) expect(await told('GET', path)).toEqual([404, null, 'route_not_found'])
  })

  test('HO-04 every operation: Allow names exactly the methods that the contract declares for its path', async () => {
    const api = operations.filter(({ listener }) => listener === 'api')
    for (const [path, declared] of Map.groupBy(api, (operation) => operation.path)) {
      // Another operation may have a word where this one has an id.
      const at = path.replaceAll(/:\w+/g, nobody)
      const { status, headers } = await live.call(null, 'PROPFIND', at)
      expect([path, status, headers.get('allow')]).toEqual([
        path,
        405,
        declared
          .map(({ method }) => method as string)
          .sort()
          .join(', '),
      ])
    }
  })
})

describe('the address alone', () => {
  test('HO-04 GET /: a browser → the pages; a program → what there is, and each of it answers', async () => {
    const page = await fetch(live.url, { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' }, redirect: 'manual' })
    expect([page.status, page.headers.get('location')]).toEqual([302, '/docs'])
    const { status, body } = await live.call(null, 'GET', '/')
    expect([status, body.name, body.version]).toEqual([200, 'Gatehouse', expect.stringMatching(/^\d+\.\d+\.\d+/)])
    const { name: _n, version: _v, api, ...open } = body
    for (const path of Object.values<string>(open)) expect([path, (await live.call(null, 'GET', path)).status]).toEqual([path, 200])
    expect((await live.call(null, 'GET', api)).status).toBe(401)
  })
})

describe('what is said of a field', () => {
  const messageOf = async (answer: Promise<{ body: { details?: { fields?: { message: string }[] } } }>) =>
    (await answer).body.details?.fields?.map(({ message }) => message)
  const role = (body: object) => live.call('amara', 'POST', `/api/v1/projects/${project.aurora}/roles`, { body })

  test('HO-04 a value outside an enumeration → the values are listed', async () => {
    const path = `/api/v1/allocations?project_id=${project.aurora}&state=asleep`
    expect(await messageOf(live.call('aldo', 'GET', path))).toEqual([
      'must be one of: requested, provisioning, active, releasing, released, failed, release_failed',
    ])
  })

  test('HO-04 a text that does not fit its pattern → said in words, with no regular expression', async () => {
    const wrong = { name: 'x', region: 'EU 1', sku: '-h100', gpus: 1, project_id: project.aurora }
    expect(await messageOf(live.ask('aldo', createAllocation, { body: wrong }))).toEqual([
      'must consist of lower-case letters, digits and hyphens, with no hyphen at either end',
      'must consist of lower-case letters, digits and hyphens, with no hyphen at either end',
    ])
  })

  test('RP-10 define role: an unknown permission → called unknown; one of another tier → said so', async () => {
    const given = (key: string) => messageOf(role({ name: 'words', permissions: [key] }))
    expect(await given('storage.teleport')).toEqual(['"storage.teleport" is not a known permission'])
    expect(await given('tenant.update')).toEqual(['"tenant.update" cannot be given by a role of this tier'])
  })

  test('RP-23 define role: the flag has one name in and out, the old one is refused', async () => {
    const flagged = { name: 'flagged', permissions: ['storage.read'], is_assignable_to_service_accounts: true }
    const made = await live.ask('amara', createProjectRole, { params: { project_id: project.aurora }, body: flagged })
    expect([made.status, made.body.is_assignable_to_service_accounts]).toEqual([201, true])
    const { is_assignable_to_service_accounts: _, ...rest } = flagged
    const old = live.ask('amara', createProjectRole, {
      params: { project_id: project.aurora },
      body: { ...rest, assignable_to_service_accounts: true } as never,
    })
    expect(await messageOf(old)).toEqual(['is not known here'])
    const inTenant = live.ask('alice', createOrganizationRole, { params: { org_id: org.aurora }, body: flagged })
    expect((await inTenant).body.details?.fields).toMatchObject([{ field: 'is_assignable_to_service_accounts' }])
  })
})

describe('malformed JSON', () => {
  const told = async (raw: string) => {
    const { status, body } = await live.call('amara', 'POST', `/api/v1/projects/${project.aurora}/roles`, { raw })
    return [status, body.code, body.details]
  }

  test('HO-04 a body that is not JSON → 400 with line, column and byte', async () => {
    expect(await told('{\n  "name": "night",\n}')).toMatchObject([400, 'invalid_request', { position: { line: 3, column: 1, byte: 21 } }])
    expect(await told('{\n  "name": "night}')).toMatchObject([400, 'invalid_request', { position: { line: 2, column: 18, byte: 19 } }])
    expect(await told('')).toMatchObject([400, 'validation_error', {}])
  })

  test('HO-04 a body that is JSON, and two readers could differ about → 400 without a position', async () => {
    for (const raw of ['{"name":"a","name":"b"}', '{"__proto__":1}', '['.repeat(40) + ']'.repeat(40)])
      expect(await told(raw)).toEqual([400, 'invalid_request', { because: expect.any(String) }])
  })
})

describe('times', () => {
  test('HO-04 a time with any offset and fraction → accepted, kept and answered in UTC with milliseconds', async () => {
    const bound = async (expires_at: string) => {
      const body = { principal_type: 'user', principal_id: user('asha'), role_name: 'project_viewer', expires_at } as const
      const { status, body: made } = await live.ask('amara', createProjectBinding, { params: { project_id: project.aurora }, body })
      if (status === 201)
        await live.call('amara', 'DELETE', `/api/v1/projects/${project.aurora}/role-bindings/${made.id}`, { body: { reason: 'done' } })
      return status === 201 ? made.expires_at : [status, made.details?.fields]
    }
    expect(await bound('2096-11-18T05:41:25Z')).toBe('2096-11-18T05:41:25.000Z')
    expect(await bound('2096-11-18T06:41:25.5+01:00')).toBe('2096-11-18T05:41:25.500Z')
    expect(await bound('2096-11-17T22:11:25.123456-07:30')).toBe('2096-11-18T05:41:25.123Z')
    expect(await bound('2096-02-30T00:00:00Z')).toEqual([
      400,
      [
        {
          in: 'body',
          field: 'expires_at',
          message: 'must be a time as RFC 3339 writes it, such as 2026-11-18T05:41:25Z or 2026-11-18T06:41:25.5+01:00',
        },
      ],
    ])
  })

  test('HO-04 a time in an address: its plus sign as %2B → accepted; as it is, which means a blank → 400 says how to write it', async () => {
    const listed = (from: string) => live.call('ada', 'GET', `/api/v1/admin/audit-logs?limit=1&from=${from}`)
    expect((await listed('2026-11-18T06:41:25.5%2B01:00')).status).toBe(200)
    const { status, body } = await listed('2026-11-18T06:41:25.5+01:00')
    expect([status, body.details.fields]).toMatchObject([400, [{ in: 'query', field: 'from', message: expect.stringContaining('%2B') }]])
  })
})
