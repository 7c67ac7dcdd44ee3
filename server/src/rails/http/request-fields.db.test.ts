import { listOrganizationAuditLogs } from '@gatehouse/contract/audit-logs'
import { addProjectMember } from '@gatehouse/contract/members'
import { createOrganization, readOrganization, updateOrganization } from '@gatehouse/contract/organizations'
import { createProject, readProject } from '@gatehouse/contract/projects'
import { uuidPattern } from '@gatehouse/contract/shapes'
import { readMe } from '@gatehouse/contract/users'
import { describe, expect, test } from 'vitest'
import { rawExchange } from '../../../../test/fuzz/raw-exchange.ts'
import { bearerFor, pathOf, rightfulCalls, sendingOf } from '../../../../test/fuzz/rightful-calls.ts'
import { writeTargets } from '../../../../test/fuzz/write-targets.ts'
import { noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'
import { sweep } from '../../../../test/sweep.ts'

const live = serverFixture({ policies: { ...noRateLimits, 'auth.wrong_secret.first_delay_milliseconds': 0 } }, (live) =>
  writeTargets(live.sql),
)

const { org, project, user } = seeded
const nobody = '01890000-0000-7000-8000-000000000000'
const aurora = `/api/v1/orgs/${org.aurora}`
const training = `/api/v1/projects/${project.aurora}`
let slugs = 0
const slug = () => `convention-${++slugs}`

const limit = 256 * 1024
const padded = (length: number) => JSON.stringify({ name: 'Padded' }).padEnd(length)

describe('fields', () => {
  const assigned = ['is_builtin', 'id', 'state', 'created_by', 'deleted_at', 'actor_type', 'expires_at', 'type', 'disabled_at']

  for (const { operation, person, params, body } of sweep('unknown members', rightfulCalls, 40))
    test(`HO-04 ${operation.id} refuses unknown members and names them`, async () => {
      const path = pathOf(operation.path, params)
      const bearer = bearerFor(operation, person)
      const inQuery = await live.call(bearer, operation.method, `${path}?surprise=1&sort=id`, sendingOf(operation, body))
      if (operation.speaks === 'oauth') {
        const error_description = 'surprise is not known here; sort is not known here'
        expect(inQuery).toMatchObject({ status: 400, body: { error: 'invalid_request', error_description } })
        // In a form they are not looked at, as OAuth wants it.
        const inForm = await live.call(null, operation.method, path, sendingOf(operation, { ...body, surprise: 1, expires_at: 'x' }))
        expect(inForm.status).toBe(operation.success)
        return
      }
      expect(inQuery).toMatchObject({ status: 400, body: { code: 'validation_error' } })
      expect(inQuery.body.details.fields).toEqual([
        { in: 'query', field: 'surprise', message: 'is not known here' },
        { in: 'query', field: 'sort', message: 'is not known here' },
      ])
      if (!body) return
      // What one operation assigns by itself, another one may let the caller say.
      const { properties = {} } = operation.body as { properties?: object }
      for (const field of ['surprise', ...assigned.filter((each) => !Object.hasOwn(properties, each))]) {
        const refused = await live.call(person, operation.method, path, { body: { ...body, [field]: true } })
        expect(refused).toMatchObject({
          status: 400,
          body: { code: 'validation_error', details: { fields: [{ in: 'body', field, message: 'is not known here' }] } },
        })
      }
    })

  const idFields = ({ properties = {} }: { properties?: Record<string, { pattern?: string }> }) =>
    Object.entries(properties).flatMap(([name, { pattern }]) => (pattern === uuidPattern ? [name] : []))
  const noUuids = ['x', '0', `${nobody}0`, nobody.slice(1), nobody.replaceAll('-', ''), `{${nobody}}`, `${nobody} `, "1' or '1'='1", 'null']

  for (const { operation, person, params, body } of sweep('no UUIDs', rightfulCalls, 40))
    for (const [part, names] of [
      ['path', idFields(operation.params)],
      ['body', idFields(operation.body ?? {})],
    ] as const)
      for (const field of names)
        test(`HO-04 ${operation.id} refuses a ${field} in the ${part} that is no UUID`, async () => {
          for (const wrong of noUuids) {
            const changed =
              part === 'path' ? { params: { ...params, [field]: wrong }, body } : { params, body: { ...body, [field]: wrong } }
            const sending = changed.body ? { body: changed.body } : {}
            const refused = await live.call(person, operation.method, pathOf(operation.path, changed.params), sending)
            expect(refused).toMatchObject({ status: 400, body: { code: 'validation_error', details: { fields: [{ in: part, field }] } } })
          }
        })

  test('HO-04 an id in capitals is the same id, in a path and in a body, and is kept in one spelling', async () => {
    const read = await live.ask('anna', readOrganization, { params: { org_id: org.aurora.toUpperCase() } })
    expect(read).toMatchObject({ status: 200, body: { id: org.aurora } })
    const added = await live.call('amara', 'POST', `${training.toUpperCase().replace('/API/V1/PROJECTS', '/api/v1/projects')}/members`, {
      body: { user_id: user('adam').toUpperCase(), role_name: 'project_viewer' },
      headers: { 'x-request-id': 'capitals' },
    })
    expect(added).toMatchObject({ status: 201, body: { user_id: user('adam') } })
    expect(await live.auditOf('capitals')).toMatchObject([{ resource_id: user('adam'), metadata: { user_id: user('adam') } }])
    const other = { body: { name: 'x', slug: slug() }, headers: { 'x-project-id': project.aurora.toUpperCase() } }
    expect((await live.ask('alice', createProject, { params: { org_id: org.aurora }, ...other })).status).toBe(201)
  })

  test('HO-04 an id in capitals is no way round the question whether it is your own', async () => {
    const mine = { name: 'Mine', slug: slug(), owner_user_id: user('ada').toUpperCase() }
    const refused = { status: 403, body: { details: { detail: 'override_self_grant' } } }
    expect(await live.ask('ada', createOrganization, { body: mine })).toMatchObject(refused)
    const join = { user_id: user('ada').toUpperCase(), role_name: 'project_viewer' }
    expect(await live.ask('ada', addProjectMember, { params: { project_id: project.aurora }, body: join })).toMatchObject(refused)
  })

  test('HO-04 text is bounded in code points after it was brought to its NFC form', async () => {
    const rename = (name: string) => live.ask('alice', updateOrganization, { params: { org_id: org.aurora }, body: { name } })
    expect(await rename('😀'.repeat(100))).toMatchObject({ status: 200, body: { name: '😀'.repeat(100) } })
    expect((await rename('😀'.repeat(101))).status).toBe(400)
    expect(await rename('e\u0301'.repeat(100))).toMatchObject({ status: 200, body: { name: '\u00e9'.repeat(100) } })
    expect((await rename('e\u0301'.repeat(101))).status).toBe(400)
    expect((await live.ask('alice', readOrganization, { params: { org_id: org.aurora } })).body.name).toBe('\u00e9'.repeat(100))
    for (const wrong of ['', ' ', '\u3000', 'a\nb', 'a\u0007', '\u0085', 'a\u009bb']) expect((await rename(wrong)).status).toBe(400)
  })

  test('HO-04 times are answered as RFC 3339 in UTC with milliseconds, and what names no instant is refused', async () => {
    const { body } = await live.ask('alice', readOrganization, { params: { org_id: org.aurora } })
    expect(body.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    expect(new Date(body.created_at).toISOString()).toBe(body.created_at)
    const since = (from: string) => live.ask('alice', listOrganizationAuditLogs, { params: { org_id: org.aurora }, query: { from } })
    expect((await since('2024-02-29T23:59:59.999Z')).status).toBe(200)
    const wrong = ['2023-02-29T00:00:00.000Z', '2024-13-01T00:00:00.000Z', '2024-01-01T24:00:00.000Z', '0000-01-01T00:00:00.000Z']
    for (const from of [...wrong, '2024-01-01T00:00:00', '2024-01-01T00:00:00.000+24:00', '2024-01-01', 'now', '1'])
      expect(await since(from)).toMatchObject({
        status: 400,
        body: { code: 'validation_error', details: { fields: [{ in: 'query', field: 'from' }] } },
      })
  })

  test('HO-04 X-Project-ID must be a UUID and agree with the path', async () => {
    const read = (id: string) => live.ask('amara', readProject, { params: { project_id: project.aurora }, headers: { 'x-project-id': id } })
    expect((await read(project.aurora)).status).toBe(200)
    expect((await read(project.aurora.toUpperCase())).status).toBe(200)
    const refused = { status: 400, body: { code: 'validation_error', details: { fields: [{ in: 'header', field: 'x-project-id' }] } } }
    for (const wrong of [project.borealis, nobody, 'x', '', `${project.aurora},${project.aurora}`])
      expect(await read(wrong)).toMatchObject(refused)
  })
})

describe('bodies', () => {
  const send = (raw: string | Uint8Array, headers: Record<string, string> = {}) => live.call('alice', 'PATCH', aurora, { raw, headers })

  test('HO-04 a body of exactly 256 KiB is read, one byte more is not', async () => {
    expect((await send(padded(limit))).status).toBe(200)
    expect(await send(padded(limit + 1))).toMatchObject({ status: 413, body: { code: 'body_too_large' } })
    const token = await live.tokenOf('alice')
    const chunked = (length: number) =>
      rawExchange(live.url, [
        `PATCH ${aurora} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n`,
        `Transfer-Encoding: chunked\r\n\r\n${length.toString(16)}\r\n${padded(length)}\r\n0\r\n\r\n`,
      ])
    expect((await chunked(limit)).statuses).toEqual([200])
    expect((await chunked(limit + 1)).statuses).toEqual([413])
  })

  test('HO-04 only JSON in UTF-8, not compressed, is a body', async () => {
    const body = JSON.stringify({ name: 'Typed' })
    const right = [
      'application/json',
      'application/json; charset=utf-8',
      'Application/JSON;charset=UTF-8',
      'application/json; charset="utf-8"',
    ]
    for (const type of right) expect((await send(body, { 'content-type': type })).status).toBe(200)
    const wrong = [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/json; charset=utf-16',
      'application/json; charset=iso-8859-1',
      'application/jsonx',
      'application/merge-patch+json',
      'text/json',
      'application/json, text/plain',
      'json',
    ]
    for (const type of wrong)
      expect(await send(body, { 'content-type': type })).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } })
    for (const encoding of ['gzip', 'deflate', 'br', 'zstd', 'gzip, identity', 'chunked'])
      expect((await send(body, { 'content-encoding': encoding })).status).toBe(415)
    const { statuses } = await rawExchange(live.url, [
      `PATCH ${aurora} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer ${await live.tokenOf('alice')}\r\n`,
      `Content-Length: ${body.length}\r\n\r\n${body}`,
    ])
    expect(statuses).toEqual([415])
  })

  test.for(['Bearer', 'Bearer ', 'Bearer  two', 'Bearer a b', 'Bearer ü', 'Bearer\ta', 'Basic YTpi', 'Bearera.b.c', 'DPoP a"b'])(
    'T1 an authorization that is none of ours is no token: %j',
    async (authorization) => {
      const { status, body } = await live.ask(null, readMe, { headers: { authorization } })
      expect([status, body.code]).toEqual([401, 'token_invalid'])
    },
  )

  test('HO-04 who has no body to give is not asked for its type', async () => {
    expect(
      (await live.ask('alice', readOrganization, { params: { org_id: org.aurora }, headers: { 'content-type': 'text/plain' } })).status,
    ).toBe(200)
    const gone = await live.call('amara', 'DELETE', `${training}/members/${user('asha')}`)
    expect(gone.status).toBe(204)
    expect(gone.text).toBe('')
  })
})
