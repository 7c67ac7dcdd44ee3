import { createProjectConstraint, deleteProjectConstraint } from '@gatehouse/contract/constraints'
import { updateAttachment } from '@gatehouse/contract/runtime-attachments'
import {
  disableSharedRuntime,
  enableSharedRuntime,
  listRuntimeAllocations,
  listRuntimeMembers,
  readSharedRuntime,
  updateSharedRuntime,
} from '@gatehouse/contract/shared-runtimes'
import { describe, expect, test } from 'vitest'
import { alteredDatabase } from '../../../../test/altered-database.ts'
import { type Answered, noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'
import { runtimesOn, strange } from '../../../../test/runtime-scene.ts'

const { org, project } = seeded
const because = { reason: 'because' }

/** The same database, by three processes. */
let doors: readonly string[]
const live = serverFixture({ policies: noRateLimits }, async (live) => {
  doors = [live.url, (await live.replica()).url, (await live.replica()).url]
})
const runtimes = runtimesOn(live)

const refused = ({ status, body }: Answered) => [status, body?.code, body?.details?.reason_code]
const bytesOf = ({ status, text, body }: Answered) => [status, text.replace(body.correlation_id, '')]
const denied = (reason_code: string) => [403, 'insufficient_permissions', reason_code]
const idsOf = ({ body }: Answered): string[] => body.items.map(({ id }: { id: string }) => id)
const attachment = (project_id: string, contribution_policy = 'all') => ({ project_id, contribution_policy })

describe('what its tenant lets an operator do by itself', () => {
  test('MI-05 it attaches and detaches where that is delegated, only projects on the list, and is named as who did', async () => {
    const [listed, unlisted] = [await runtimes.project(), await runtimes.project()]
    const id = await runtimes.made({ eligible_project_ids: [listed], delegated_contribution_policy: 'tagged' })
    const attach = (project_id: string) => runtimes.operate(id, 'POST', '/attachments', attachment(project_id, 'tagged'))
    const delegate = async (delegated_actions: ('attach' | 'detach')[]) => {
      const { version } = (await live.ask('adam', readSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id } })).body
      const body = { delegated_actions, expected_version: version, ...because }
      expect((await live.ask('adam', updateSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id }, body })).status).toBe(
        200,
      )
    }
    // Nobody delegated it, be the project on the list or not: no token says it, and an older one that does is not heard.
    expect(refused(await attach(listed))).toEqual(denied('permission_denied'))
    expect(refused(await attach(unlisted))).toEqual(denied('permission_denied'))
    const before = await runtimes.tokenOf(id)
    await delegate(['attach'])
    // Delegated since: now it is the token that is too narrow.
    expect(refused(await runtimes.operate(id, 'POST', '/attachments', attachment(listed), { token: before }))).toEqual(
      denied('scope_mismatch'),
    )
    const older = await runtimes.tokenOf(id)
    await delegate(['detach'])
    expect(refused(await attach(listed))).toEqual(denied('permission_denied'))
    expect(refused(await runtimes.operate(id, 'POST', '/attachments', attachment(listed), { token: older }))).toEqual(
      denied('permission_denied'),
    )
    await delegate(['attach'])
    expect(refused(await attach(unlisted))).toEqual(denied('membership_missing'))
    const attached = await attach(listed)
    expect([attached.status, attached.body]).toMatchObject([
      201,
      { project_id: listed, created_by_type: 'shared_runtime_operator', created_by: id },
    ])

    const path = `/attachments/${attached.body.id}`
    expect(refused(await runtimes.operate(id, 'DELETE', path, because))).toEqual(denied('permission_denied'))
    await delegate(['attach', 'detach'])
    const ended = await runtimes.operate(id, 'DELETE', path, because)
    expect([ended.status, ended.body]).toMatchObject([200, { state: 'detached' }])
    expect(
      await live.sql('select detached_by_type, detached_by from shared_runtime_attachments where id = $1', [attached.body.id]),
    ).toEqual([{ detached_by_type: 'shared_runtime_operator', detached_by: id }])
    // Not attached any more: it has no business there, be it to end it again or to look.
    expect(refused(await runtimes.operate(id, 'DELETE', path, because))).toEqual(denied('membership_missing'))
    expect(refused(await runtimes.operate(id, 'GET', path))).toEqual(denied('membership_missing'))
    // Taken from the list it cannot come back, delegated or not.
    const { version } = (await live.ask('adam', readSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id } })).body
    await live.ask('adam', updateSharedRuntime, {
      params: { org_id: org.aurora, shared_runtime_id: id },
      body: { eligible_project_ids: [], expected_version: version, ...because },
    })
    expect(refused(await attach(listed))).toEqual(denied('membership_missing'))
  })

  test('MI-05 people’s business stays people’s: it makes, changes and ends no runtime, and no contribution of a project', async () => {
    const id = await runtimes.made({ delegated_actions: ['attach', 'detach'], eligible_project_ids: [project.aurora] })
    const { body: attached } = await runtimes.attach(id, project.aurora, 'none')
    const asked: [string, string, object?][] = [
      ['PATCH', '', { app_version: '1', expected_version: 1, ...because }],
      ['POST', '/disable', because],
      ['POST', '/enable', because],
      ['DELETE', '', because],
      ['PATCH', `/attachments/${attached.id}`, { contribution_policy: 'all', ...because }],
      ['GET', '/eligible-projects'],
    ]
    for (const [method, more, body] of asked)
      expect(refused(await runtimes.operate(id, method, more, body))).toEqual(denied('permission_denied'))
    const path = runtimes.one('', '').slice(0, -1)
    expect(refused(await runtimes.operate(id, 'GET', '', undefined, { path }))).toEqual(denied('permission_denied'))
    expect(refused(await runtimes.operate(id, 'GET', '', undefined, { path: `/api/v1/projects/${project.aurora}` }))).toEqual(
      denied('permission_denied'),
    )
  })
})

describe('what an operator reports', () => {
  test('MI-04 its status in the order in which it says it; what comes late or twice is ignored, and recorded', async () => {
    const id = await runtimes.made()
    const report = (sequence: number, state: string, message?: string) =>
      runtimes.operate(id, 'PUT', '/status', { sequence, state, ...(message ? { message } : {}) })
    const state = async () => (await live.ask('anna', readSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id } })).body
    expect((await report(5, 'provisioning')).body).toEqual({ is_taken: true, sequence: 5 })
    expect((await report(7, 'running', 'all nodes up')).body).toEqual({ is_taken: true, sequence: 7 })
    for (const late of [7, 6, 1]) expect((await report(late, 'failed')).body).toEqual({ is_taken: false, sequence: 7 })
    expect(await state()).toMatchObject({
      state: 'running',
      reported_state: 'running',
      reported_message: 'all nodes up',
      reported_sequence: 7,
      version: 1,
    })
    // Put to rest and woken it is as it last said.
    for (const verb of ['disable', 'enable'] as const) await runtimes.move(id, verb)
    expect((await state()).state).toBe('running')
    const told = await live.sql(
      `select metadata ->> 'is_taken' as taken from audit_logs where action = 'shared_runtime.status.report' and resource_id = $1 order by seq`,
      [id],
    )
    expect(told.map(({ taken }) => taken)).toEqual(['true', 'true', 'false', 'false', 'false'])
    for (const sequence of [0, -1, 1.5, '1', 2 ** 53])
      expect((await runtimes.operate(id, 'PUT', '/status', { sequence, state: 'running' })).status).toBe(400)
  })

  test('MI-04 two reports at once: the later one stands, whichever comes first', async () => {
    const id = await runtimes.made()
    for (let round = 0; round < 5; round += 1) {
      const [low, high] = [round * 2 + 1, round * 2 + 2]
      await Promise.all([
        runtimes.operate(id, 'PUT', '/status', { sequence: low, state: 'failed' }, { base: doors[1]! }),
        runtimes.operate(id, 'PUT', '/status', { sequence: high, state: 'running' }, { base: doors[2]! }),
      ])
      const { body } = await live.ask('anna', readSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id } })
      expect([body.state, body.reported_sequence]).toEqual(['running', high])
    }
  })

  test('MI-04 its members as a whole; an allocation that it may not see is like one that is not there, and the list stays as it was', async () => {
    const [id, other] = [await runtimes.made(), await runtimes.made()]
    await runtimes.attach(other, project.aurora)
    const { body: attached } = await runtimes.attach(id, project.aurora, 'tagged')
    const [tagged, plain, foreign] = [
      await runtimes.allocation(project.aurora, { shared_runtime_id: id }),
      await runtimes.allocation(),
      await runtimes.allocation(project.borealis, {}, 'birgit'),
    ]
    const member = (name: string, allocation_id: string | null = null) => ({ name, role: 'worker', state: 'ready', allocation_id })
    const report = (sequence: number, ...members: object[]) => runtimes.operate(id, 'PUT', '/members', { sequence, members })
    const read = async () =>
      (await live.ask('asha', listRuntimeMembers, { params: { org_id: org.aurora, shared_runtime_id: id } })).body.members
    expect((await report(1, member('b', tagged), member('a'))).body).toEqual({ is_taken: true, sequence: 1 })
    const first = [member('a'), member('b', tagged)]
    expect(await read()).toEqual(first)
    expect((await runtimes.operate(id, 'GET', '/members')).body.members).toEqual(first)
    const unknown = await report(2, member('c', strange))
    expect(refused(unknown)).toEqual([403, 'insufficient_permissions', 'membership_missing'])
    for (const unseen of [plain, foreign]) expect(bytesOf(await report(2, member('c', unseen)))).toEqual(bytesOf(unknown))
    expect((await report(2, member('c'), member('c'))).status).toBe(400)
    expect((await report(1, member('z'))).body).toEqual({ is_taken: false, sequence: 1 })
    expect(await read()).toEqual(first)
    // What a project takes back is not told any more.
    await runtimes.detach(id, attached.id)
    expect(await read()).toEqual([member('a'), member('b')])
    expect(bytesOf(await report(2, member('b', tagged)))).toEqual(bytesOf(unknown))
    expect((await report(2)).body).toEqual({ is_taken: true, sequence: 2 })
    expect(await read()).toEqual([])
  })
})

describe('what an operator sees of allocations', () => {
  test('MI-04 of attached projects, as far as each contributes', async () => {
    const [id, other] = [await runtimes.made(), await runtimes.made()]
    const { body: attached } = await runtimes.attach(id, project.aurora, 'all')
    await runtimes.attach(other, project.aurora, 'all')
    const own = await runtimes.allocation(project.aurora, { shared_runtime_id: id })
    const others = await runtimes.allocation(project.aurora, { shared_runtime_id: other })
    const plain = await runtimes.allocation()
    const foreign = await runtimes.allocation(project.borealis, {}, 'birgit')
    const seen = async () => {
      const found = idsOf(await runtimes.operate(id, 'GET', '/allocations?limit=200'))
      return [own, others, plain, foreign].map((each) => found.includes(each))
    }
    const contribute = (contribution_policy: 'all' | 'none' | 'tagged') =>
      live.ask('adam', updateAttachment, {
        params: { org_id: org.aurora, shared_runtime_id: id, attachment_id: attached.id },
        body: { contribution_policy, ...because },
      })
    expect(await seen()).toEqual([true, true, true, false])
    await contribute('tagged')
    expect(await seen()).toEqual([true, false, false, false])
    await contribute('none')
    expect(idsOf(await runtimes.operate(id, 'GET', '/allocations'))).toEqual([])
    // A rule of the project hides what it hides from everybody.
    await contribute('all')
    const rule = {
      key: 'hide',
      actions: ['shared_runtime.allocation.read'],
      condition: { in: { actor_type: ['shared_runtime_operator'] } },
      ...because,
    }
    const { status, body: made } = await live.ask('alice', createProjectConstraint, { params: { project_id: project.aurora }, body: rule })
    expect(status).toBe(201)
    expect(await seen()).toEqual([false, false, false, false])
    await live.ask('alice', deleteProjectConstraint, { params: { project_id: project.aurora, constraint_id: made.id }, body: because })
    expect(await seen()).toEqual([true, true, true, false])
    expect(refused(await live.ask('adam', listRuntimeAllocations, { params: { org_id: org.aurora, shared_runtime_id: id } }))).toEqual(
      denied('permission_denied'),
    )
  })

  test('MI-07 X5 a detached project is gone at once, on every process, and a cursor of before does not go on', async () => {
    const [id, other] = [await runtimes.made(), await runtimes.project()]
    const { body: attached } = await runtimes.attach(id, project.aurora, 'all')
    await runtimes.attach(id, other, 'all')
    for (let made = 0; made < 3; made += 1) await runtimes.allocation()
    const list = (more: string, base: string) => runtimes.operate(id, 'GET', more, undefined, { base })
    const path = `/attachments/${attached.id}`
    for (const base of doors) {
      expect((await list('/allocations', base)).body.items.length).toBeGreaterThanOrEqual(3)
      expect((await list(path, base)).status).toBe(200)
    }
    const page = await list('/allocations?limit=1', live.url)
    expect((await list(`/allocations?limit=1&cursor=${page.body.next_cursor}`, doors[1]!)).status).toBe(200)
    const attachments = await list('/attachments?limit=1', live.url)
    expect((await list(`/attachments?limit=1&cursor=${attachments.body.next_cursor}`, doors[2]!)).status).toBe(200)

    expect((await runtimes.detach(id, attached.id)).status).toBe(200)
    for (const base of doors) {
      expect(idsOf(await list('/allocations', base))).toEqual([])
      expect(refused(await list(path, base))).toEqual(denied('membership_missing'))
      expect((await list('/attachments', base)).body.items.map((item: { project_id: string }) => item.project_id)).toEqual([other])
      expect((await list('/attachments?state=detached', base)).body.items).toEqual([])
      expect(refused(await list(`/allocations?limit=1&cursor=${page.body.next_cursor}`, base)).slice(0, 2)).toEqual([400, 'cursor_invalid'])
      expect(refused(await list(`/attachments?limit=1&cursor=${attachments.body.next_cursor}`, base)).slice(0, 2)).toEqual([
        400,
        'cursor_invalid',
      ])
    }
  })

  test('X5 the sweep would notice a server that goes on seeing detached projects, or goes on with an old cursor', async () => {
    const deaf = await live.replica((parts) => ({
      ...parts,
      database: alteredDatabase(
        parts.database,
        { of: 'shared_runtime_attachments', text: (text) => text.replaceAll(/ and [at]\.detached_at is null/g, '') },
        { of: 'from shared_app_runtimes', rows: (rows) => rows.map((row) => ({ ...(row as object), cursor_version: 1 })) },
      ),
    }))
    const id = await runtimes.made()
    const { body: attached } = await runtimes.attach(id, project.aurora, 'all')
    for (let made = 0; made < 2; made += 1) await runtimes.allocation()
    const list = (more: string, base: string) => runtimes.operate(id, 'GET', more, undefined, { base })
    const { body: page } = await list('/allocations?limit=1', deaf.url)
    await runtimes.detach(id, attached.id)
    expect(idsOf(await list('/allocations', live.url))).toEqual([])
    expect(idsOf(await list('/allocations', deaf.url)).length).toBeGreaterThanOrEqual(2)
    expect((await list(`/attachments/${attached.id}`, deaf.url)).status).toBe(200)
    expect((await list(`/allocations?limit=1&cursor=${page.next_cursor}`, deaf.url)).status).toBe(200)
  })

  test('MI-07 TI-15 X5 a disabled runtime has no operator, on any process, until it is enabled', async () => {
    const id = await runtimes.made({ delegated_actions: ['attach'], eligible_project_ids: [project.aurora] })
    await runtimes.attach(id, project.aurora)
    const asked: [string, string, object?][] = [
      ['GET', ''],
      ['GET', '/attachments'],
      ['GET', '/members'],
      ['GET', '/allocations'],
      ['PUT', '/status', { sequence: 1, state: 'running' }],
      ['PUT', '/members', { sequence: 1, members: [] }],
    ]
    const all = async () => {
      const answered: Answered[] = []
      for (const base of doors)
        for (const [method, more, body] of asked) answered.push(await runtimes.operate(id, method, more, body, { base }))
      return answered
    }
    expect((await all()).map(({ status }) => status)).toEqual(Array(doors.length * asked.length).fill(200))
    const row = () => live.sql('select reported_sequence, members_sequence, cursor_version from shared_app_runtimes where id = $1', [id])
    await live.ask('adam', disableSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id }, body: because })
    const before = await row()
    for (const each of await all()) expect(refused(each)).toEqual(denied('actor_disabled'))
    expect(refused(await runtimes.operate(id, 'POST', '/attachments', attachment(project.aurora)))).toEqual(denied('actor_disabled'))
    expect(await row()).toEqual(before)
    await live.ask('adam', enableSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id }, body: because })
    expect((await all()).map(({ status }) => status)).toEqual(Array(doors.length * asked.length).fill(200))
  })

  test('MI-07 a report that races with disabling either came before or is refused', async () => {
    for (let round = 1; round <= 5; round += 1) {
      const id = await runtimes.made()
      const token = await runtimes.tokenOf(id)
      const [disabled, reported] = await Promise.all([
        live.ask('adam', disableSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id }, body: because }),
        runtimes.operate(id, 'PUT', '/status', { sequence: 1, state: 'running' }, { base: doors[1]!, token }),
      ])
      expect(disabled.status).toBe(200)
      const { body } = await live.ask('anna', readSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id } })
      expect([body.state, reported.status, body.reported_sequence]).toEqual([
        'disabled',
        ...(body.reported_sequence === 1 ? [200, 1] : [403, 0]),
      ])
    }
  })
})

describe('what is recorded of operators', () => {
  test('MI-08 everything: reads, reports, attachments, what was refused and what failed, with runtime, organization and project', async () => {
    const id = await runtimes.made({
      ...{ delegated_actions: ['attach'], eligible_project_ids: [project.aurora], delegated_contribution_policy: 'all' },
    })
    const unlisted = await runtimes.project()
    let asked = 0
    const told = async (method: string, more: string, body?: object, path?: string) => {
      asked += 1
      const correlation_id = `operator-${id.slice(-8)}-${asked}`
      const answered = await runtimes.operate(id, method, more, body, {
        headers: { 'x-request-id': correlation_id },
        ...(path ? { path } : {}),
      })
      const rows = await live.auditOf(correlation_id)
      expect(rows).toHaveLength(1)
      expect(rows[0]).toMatchObject({
        actor_type: 'shared_runtime_operator',
        actor_id: id,
        tenant_id: org.aurora,
        metadata: { shared_runtime_id: id },
      })
      const { action, resource_type, resource_id, project_id, result, reason_code } = rows[0]!
      return { status: answered.status, action, target: [resource_type, resource_id], project_id, result, reason_code }
    }
    const runtime = ['shared_runtime', id]
    const success = { target: runtime, project_id: null, result: 'success', reason_code: null }
    expect(await told('GET', '')).toMatchObject({ status: 200, action: 'shared_runtime.read', ...success })
    expect(await told('GET', '/attachments')).toMatchObject({ status: 200, action: 'shared_runtime.attachment.list', ...success })
    expect(await told('GET', '/allocations')).toMatchObject({ status: 200, action: 'shared_runtime.allocation.list', ...success })
    expect(await told('GET', '/members')).toMatchObject({ status: 200, action: 'shared_runtime.members.read', ...success })
    expect(await told('PUT', '/status', { sequence: 1, state: 'running' })).toMatchObject({
      action: 'shared_runtime.status.report',
      ...success,
    })
    expect(await told('PUT', '/status', { sequence: 1, state: 'running' })).toMatchObject({ status: 200, ...success })
    expect(await told('PUT', '/members', { sequence: 1, members: [] })).toMatchObject({
      action: 'shared_runtime.members.report',
      ...success,
    })
    expect(await told('POST', '/attachments', attachment(unlisted))).toMatchObject({
      status: 403,
      action: 'shared_runtime.attachment.create',
      target: runtime,
      project_id: unlisted,
      result: 'denied',
      reason_code: 'membership_missing',
    })
    const made = await told('POST', '/attachments', attachment(project.aurora))
    expect(made).toMatchObject({ status: 201, project_id: project.aurora, result: 'success' })
    const [type, attachment_id] = made.target as [string, string]
    expect(type).toBe('shared_runtime_attachment')
    expect(await told('GET', `/attachments/${attachment_id}`)).toMatchObject({
      target: made.target,
      project_id: project.aurora,
      result: 'success',
    })
    expect(await told('POST', '/attachments', attachment(project.aurora))).toMatchObject({
      status: 409,
      project_id: project.aurora,
      result: 'failed',
      reason_code: 'attachment_already_exists',
    })
    const allocation_id = await runtimes.allocation()
    const member = { name: 'a', role: 'worker', state: 'ready', allocation_id }
    expect(await told('PUT', '/members', { sequence: 2, members: [member] })).toMatchObject({ status: 200, project_id: project.aurora })
    expect(await told('DELETE', `/attachments/${attachment_id}`, because)).toMatchObject({
      status: 403,
      project_id: project.aurora,
      result: 'denied',
      reason_code: 'permission_denied',
    })
    expect(await told('DELETE', '', because)).toMatchObject({
      status: 403,
      action: 'shared_runtime.delete',
      result: 'denied',
      reason_code: 'permission_denied',
    })
    // Wherever it knocked, it is its own tenant that is told.
    const elsewhere = runtimes.one(id, '', org.borealis)
    expect(await told('GET', '', undefined, elsewhere)).toMatchObject({ status: 403, result: 'denied', reason_code: 'scope_mismatch' })
    await live.ask('adam', disableSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: id }, body: because })
    expect(await told('GET', '')).toMatchObject({ status: 403, result: 'denied', reason_code: 'actor_disabled' })
  })
})
