import {
  createOrganizationConstraint,
  listOrganizationConstraints,
  listOrganizationConstraintVersions,
  readOrganizationConstraint,
  readProjectConstraint,
} from '@gatehouse/contract/constraints'
import { archiveProject, createProject } from '@gatehouse/contract/projects'
import { describe, expect, test } from 'vitest'
import { newId } from '#ground/kernel/ids.ts'
import { type Answered, noRateLimits, seeded, serverFixture } from '../../../../test/live-server.ts'

const live = serverFixture({ policies: noRateLimits })

const { org, project, user } = seeded
const platform = '/api/v1/admin/policies/constraints'
const aurora = `/api/v1/orgs/${org.aurora}/policies/constraints`
const training = `/api/v1/projects/${project.aurora}/policies/constraints`
const borealis = `/api/v1/orgs/${org.borealis}/policies/constraints`
const inference = `/api/v1/projects/${project.borealis}/policies/constraints`
const nobody = '01890000-0000-7000-8000-000000000000'
const places = [
  [platform, 'ada', 'global', null, null],
  [aurora, 'alice', 'tenant', org.aurora, null],
  [training, 'alice', 'project', null, project.aurora],
] as const

let keys = 0
const draft = (changed: object = {}) => ({
  key: `rule-${++keys}`,
  actions: ['allocation.create'],
  condition: { not_in: { region: ['eu-north'] } },
  ...changed,
})
const named = (request?: string) => (request ? { headers: { 'x-request-id': request } } : {})
const create = (person: string, place: string, body: object = draft(), request?: string) =>
  live.call(person, 'POST', place, { body, ...named(request) })
const made = async (person: string, place: string, changed: object = {}) => {
  const { status, text, body } = await create(person, place, draft(changed))
  expect([status, text]).toEqual([201, expect.any(String)])
  return body
}
const update = (person: string, place: string, id: string, body: object, request?: string) =>
  live.call(person, 'PATCH', `${place}/${id}`, { body: { reason: 'changed', ...body }, ...named(request) })
const end = (person: string, place: string, id: string, request?: string) =>
  live.call(person, 'DELETE', `${place}/${id}`, { body: { reason: 'no longer' }, ...named(request) })

describe('writing', () => {
  test.for(places)(
    'AU-01 at %s a constraint is written, read, changed and ended',
    async ([place, person, scope_type, tenant_id, project_id]) => {
      const condition = {
        any: [{ between: { minute_of_day: [1320, 360] } }, { not: { within: { source_ip: ['10.0.0.0/8', '2001:db8::/32'] } } }],
        present: ['sku'],
        in: { sku: ['h100'], weekday: [6, 7] },
        at_least: { gpus: 8 },
        has_none: { flags: ['approved'] },
      }
      const body = draft({ condition, time_zone: 'Europe/Berlin', description: 'Not at night.', reason: 'quiet' })
      const request = newId('correlation')
      const first = await create(person, place, body, request)
      const { reason, ...document } = body as typeof body & { reason: string }
      const expected = {
        ...document,
        id: first.body.id,
        version: 1,
        ...{ scope_type, tenant_id, project_id },
        effect: 'deny',
        is_locked: scope_type === 'global',
        state: 'active',
        created_at: first.body.created_at,
        created_by: user(person),
        reason,
      }
      expect([first.status, first.body]).toEqual([201, expected])
      const { id } = first.body
      expect((await live.call(person, 'GET', `${place}/${id}`)).body).toEqual(expected)
      expect((await live.call(person, 'GET', `${place}?limit=200`)).body.items).toContainEqual(expected)

      const second = await update(person, place, id, { state: 'disabled', description: null, expected_version: 1 }, `${request}-2`)
      expect([second.status, second.body]).toEqual([
        200,
        { ...expected, version: 2, state: 'disabled', description: null, reason: 'changed', created_at: second.body.created_at },
      ])
      expect((await end(person, place, id, `${request}-3`)).status).toBe(204)
      expect(await live.call(person, 'GET', `${place}/${id}`)).toMatchObject({ status: 404, body: { code: 'constraint_not_found' } })
      expect((await live.call(person, 'GET', `${place}?limit=200`)).body.items.map((each: { id: string }) => each.id)).not.toContain(id)

      const versions = await live.call(person, 'GET', `${place}/${id}/versions`)
      expect(versions.body.items).toEqual([
        { ...second.body, replaced_at: expect.any(String), replaced_by: user(person), delete_reason: 'no longer' },
        { ...expected, replaced_at: second.body.created_at, replaced_by: user(person), delete_reason: null },
      ])
      const page = await live.call(person, 'GET', `${place}/${id}/versions?limit=1`)
      const next = await live.call(person, 'GET', `${place}/${id}/versions?limit=1&cursor=${page.body.next_cursor}`)
      expect([...page.body.items, ...next.body.items]).toEqual(versions.body.items)
      expect(next.body.next_cursor).toBeNull()

      const recorded = [...(await live.auditOf(request)), ...(await live.auditOf(`${request}-2`)), ...(await live.auditOf(`${request}-3`))]
      const row = (action: string, metadata: object) => ({
        action: `policy.constraint.${action}`,
        result: 'success',
        severity: scope_type === 'global' ? 'high' : 'info',
        resource_type: 'policy_constraint',
        resource_id: id,
        tenant_id: scope_type === 'global' ? null : org.aurora,
        project_id,
        metadata,
      })
      const whole = {
        ...document,
        version: 1,
        effect: 'deny',
        is_locked: scope_type === 'global',
        state: 'active',
        scope: scope_type,
        reason,
      }
      expect(recorded).toMatchObject([
        row('create', whole),
        row('update', { ...whole, version: 2, state: 'disabled', description: null, reason: 'changed' }),
        row('delete', { key: document.key, scope: scope_type, version: 2, reason: 'no longer' }),
      ])
      for (const { metadata } of recorded.slice(0, 2)) expect(metadata).toHaveProperty('condition', condition)
    },
  )

  test('DE-11 what a global constraint leaves unsaid is locked; others are locked only if they say so', async () => {
    for (const [place, person, scope_type] of places) {
      expect((await made(person, place)).is_locked).toBe(scope_type === 'global')
      for (const is_locked of [true, false]) expect((await made(person, place, { is_locked })).is_locked).toBe(is_locked)
    }
  })

  test('DE-11 one key stands once at each scope, and again after it ended', async () => {
    const body = draft()
    const ids = []
    for (const [place, person] of places) {
      const first = await create(person, place, body)
      ids.push(first.body.id)
      expect(first.status).toBe(201)
      expect(await create(person, place, body)).toMatchObject({ status: 409, body: { code: 'constraint_already_exists' } })
    }
    expect(new Set(ids).size).toBe(3)
    expect((await create('bella', borealis, body)).status).toBe(201)
    expect((await end('alice', aurora, ids[1])).status).toBe(204)
    expect((await create('alice', aurora, body)).status).toBe(201)
  })

  test('DE-11 an exemption is a disabled one at a narrower scope, and its owner writes it', async () => {
    const wide = await made('alice', aurora)
    const exempt = await create('alice', training, { ...draft(), key: wide.key, state: 'disabled' })
    expect(exempt).toMatchObject({ status: 201, body: { state: 'disabled', scope_type: 'project' } })
  })

  test('AU-01 what the platform writes in a tenant stands out in that tenant', async () => {
    await create('ada', aurora, draft(), 'by-override')
    expect(await live.auditOf('by-override')).toMatchObject([{ severity: 'high', tenant_id: org.aurora, actor_id: user('ada') }])
  })

  test('HO-04 a list goes on where it stopped', async () => {
    const whole = (await live.ask('alice', listOrganizationConstraints, { params: { org_id: org.aurora }, query: { limit: 200 } })).body
      .items
    const seen: unknown[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await live.call('adam', 'GET', `${aurora}?limit=2${cursor && `&cursor=${cursor}`}`)
      seen.push(...page.body.items)
      cursor = page.body.next_cursor
    }
    expect(whole.length).toBeGreaterThan(4)
    expect(seen).toEqual(whole)
  })
})

describe('who may', () => {
  const people = ['ada', 'otto', 'alice', 'adam', 'anna', 'amara', 'aldo', 'asha', 'bella'] as const
  const table = async (ask: (person: string, place: string) => Promise<Answered>) => {
    const rows: Record<string, number[]> = {}
    for (const person of people) {
      rows[person] = []
      for (const place of [platform, aurora, training]) rows[person].push((await ask(person, place)).status)
    }
    return rows
  }

  test('AU-05 read: operators, tenant admins, project admins', async () => {
    const rules = new Map<string, string>()
    for (const [place, person] of places) rules.set(place, (await made(person, place)).id)
    const expected = {
      ada: [200, 200, 200],
      otto: [200, 403, 403],
      alice: [403, 200, 200],
      adam: [403, 200, 200],
      anna: [403, 403, 403],
      amara: [403, 403, 200],
      aldo: [403, 403, 200],
      asha: [403, 403, 403],
      bella: [403, 404, 404],
    }
    expect(await table((person, place) => live.call(person, 'GET', place))).toEqual(expected)
    expect(await table((person, place) => live.call(person, 'GET', `${place}/${rules.get(place)}`))).toEqual(expected)
    expect(await table((person, place) => live.call(person, 'GET', `${place}/${rules.get(place)}/versions`))).toEqual(expected)
  })

  test('AU-05 write: superadmins anywhere, the owner in his tenant and its projects', async () => {
    const written = (status: number) => ({
      ada: [status, status, status],
      otto: [403, 403, 403],
      alice: [403, status, status],
      adam: [403, 403, 403],
      anna: [403, 403, 403],
      amara: [403, 403, 403],
      aldo: [403, 403, 403],
      asha: [403, 403, 403],
      bella: [403, 404, 404],
    })
    expect(await table((person, place) => create(person, place))).toEqual(written(201))
    const fresh = async (place: string) => (await made('ada', place)).id
    expect(await table(async (person, place) => update(person, place, await fresh(place), { expected_version: 1 }))).toEqual(written(200))
    expect(await table(async (person, place) => end(person, place, await fresh(place)))).toEqual(written(204))
  })

  test('AU-05 one of another scope and one that is not there answer alike, whoever asks and whatever he asks', async () => {
    const own = await made('alice', aurora)
    const elsewhere = [
      await made('ada', platform),
      await made('alice', training),
      await made('bella', borealis),
      await made('bella', inference),
    ]
    const asks: ((id: string) => Promise<Answered>)[] = [
      (id) => live.ask('alice', readOrganizationConstraint, { params: { org_id: org.aurora, constraint_id: id }, ...named('same') }),
      (id) =>
        live.ask('alice', listOrganizationConstraintVersions, { params: { org_id: org.aurora, constraint_id: id }, ...named('same') }),
      (id) => update('alice', aurora, id, { expected_version: 1 }, 'same'),
      (id) => end('alice', aurora, id, 'same'),
      (id) => live.ask('ada', readOrganizationConstraint, { params: { org_id: org.aurora, constraint_id: id }, ...named('same') }),
    ]
    for (const ask of asks) {
      const unknown = await ask(nobody)
      expect(unknown).toMatchObject({ status: 404, body: { code: 'constraint_not_found' } })
      for (const { id } of elsewhere) expect((await ask(id)).text).toBe(unknown.text)
    }
    for (const [foreign, missing] of [
      [borealis, `/api/v1/orgs/${nobody}/policies/constraints`],
      [inference, `/api/v1/projects/${nobody}/policies/constraints`],
    ] as const)
      for (const id of [own.id, elsewhere[2].id, nobody]) {
        const read = (place: string) => live.call('alice', 'GET', `${place}/${id}`, named('same'))
        expect((await read(foreign)).text).toBe((await read(missing)).text)
        expect((await read(foreign)).status).toBe(404)
      }
    for (const { id } of elsewhere)
      expect(await live.sql('select version from policy_constraints where constraint_id = $1', [id])).toEqual([{ version: 1 }])
  })

  test('DE-21 in an archived project constraints are read and not written', async () => {
    const { body } = await live.ask('alice', createProject, { params: { org_id: org.aurora }, body: { name: 'Old', slug: 'old-rules' } })
    const place = `/api/v1/projects/${body.id}/policies/constraints`
    const rule = await made('alice', place)
    await live.ask('alice', archiveProject, { params: { project_id: body.id }, body: { reason: 'done' } })
    const frozen = { status: 403, body: { details: { reason_code: 'policy_constraint_denied' } } }
    expect(await create('alice', place)).toMatchObject(frozen)
    expect(await update('alice', place, rule.id, { state: 'disabled', expected_version: 1 })).toMatchObject(frozen)
    expect(await end('alice', place, rule.id)).toMatchObject(frozen)
    expect((await live.ask('alice', readProjectConstraint, { params: { project_id: body.id, constraint_id: rule.id } })).status).toBe(200)
  })
})

describe('refused', () => {
  const invalid = (...fields: string[]) => ({
    status: 400,
    body: { code: 'validation_error', details: { fields: fields.map((field) => ({ in: 'body', field })) } },
  })
  const refused: [what: string, changed: object, ...fields: string[]][] = [
    ['a test of nothing', { condition: { in: {} } }, 'condition/in'],
    ['no test of nothing', { condition: { any: [{ not_in: {} }] } }, 'condition/any/0/not_in'],
    ['an action that there is not', { actions: ['no.such'] }, 'actions/0'],
    ['no action', { actions: [] }, 'actions'],
    ['every action', { actions: ['*'] }, 'actions/0'],
    ['a key in other letters', { actions: ['аllocation.create'] }, 'actions/0'],
    ['a group of nothing', { actions: ['nothing.*'] }, 'actions/0'],
    ['two groups', { actions: ['allocation.*', 'terminal.*'] }, 'actions'],
    ['what belongs to the person', { actions: ['tenant.user.leave'], condition: {} }, 'actions/0'],
    ['actions of the platform', { actions: ['platform.*'], condition: {} }, 'actions/0'],
    ['an attribute that the action lacks', { actions: ['project.read'] }, 'condition/not_in/region'],
    ['a range that is none', { condition: { within: { source_ip: ['10.0.0.0/40'] } } }, 'condition/within/source_ip/0'],
    ['a zone that is none', { time_zone: 'Mars/Phobos' }, 'time_zone'],
    ['an offset for a zone', { time_zone: '+01:00' }, 'time_zone'],
    ['an operator that there is not', { condition: { like: { region: ['e'] } } }, 'condition/like'],
    ['an attribute that there is not', { condition: { in: { colour: ['red'] } } }, 'condition/in/colour'],
    ['a group too deep', { condition: { not: { not: { not: {} } } } }, 'condition/not/not/not'],
    ['another effect', { effect: 'allow' }, 'effect'],
    ['its only effect, which is not asked', { effect: 'deny' }, 'effect'],
    ['a key with a capital', { key: 'Rule' }, 'key'],
    ['a key that looks like another', { key: 'r\u0443le' }, 'key'],
    ['a key too long', { key: 'k'.repeat(101) }, 'key'],
    ['an unknown state', { state: 'paused' }, 'state'],
    ['a scope in the body', { scope_type: 'global', tenant_id: null }, 'scope_type', 'tenant_id'],
    ['a text of control characters', { description: 'a\u0007' }, 'description'],
  ]

  test.for(refused)('HO-04 %s', async ([, changed, ...fields]) => {
    const before = await live.sql('select count(*) from policy_constraints')
    for (const [place, person] of places.slice(1)) expect(await create(person, place, draft(changed))).toMatchObject(invalid(...fields))
    expect(await live.sql('select count(*) from policy_constraints')).toEqual(before)
    const rule = await made('alice', aurora)
    if ('key' in changed || 'scope_type' in changed) return
    expect(await update('alice', aurora, rule.id, { ...changed, expected_version: 1 })).toMatchObject(invalid(...fields))
  })

  test('HO-04 the whole of a changed constraint is judged, not the changed part alone', async () => {
    const rule = await made('alice', aurora)
    const elsewhere = await update('alice', aurora, rule.id, { actions: ['project.read'], expected_version: 1 })
    expect(elsewhere).toMatchObject(invalid('condition/not_in/region'))
    const both = { actions: ['project.read'], condition: { in: { weekday: [7] } }, expected_version: 1 }
    expect(await update('alice', aurora, rule.id, both)).toMatchObject({ status: 200, body: { version: 2 } })
  })

  test('DE-10 a constraint on an action that is gone from the registry can still be switched off and ended', async () => {
    const rule = await made('alice', aurora)
    await live.sql(`update policy_constraints set actions = '{allocation.gone}' where constraint_id = $1`, [rule.id])
    expect((await update('alice', aurora, rule.id, { state: 'disabled', expected_version: 1 })).status).toBe(200)
    expect((await update('alice', aurora, rule.id, { time_zone: 'UTC', expected_version: 2 })).status).toBe(400)
    expect((await end('alice', aurora, rule.id)).status).toBe(204)
  })

  test('HO-04 a change says which version it has seen, and why', async () => {
    const rule = await made('alice', aurora)
    const send = (body: object) => live.call('alice', 'PATCH', `/api/v1/orgs/${org.aurora}/policies/constraints/${rule.id}`, { body })
    expect(await send({ reason: 'why' })).toMatchObject(invalid('expected_version'))
    expect(await send({ expected_version: 1 })).toMatchObject(invalid('reason'))
    expect(await send({ expected_version: 2, reason: 'why' })).toMatchObject({
      status: 409,
      body: { code: 'version_conflict', details: { version: 1 } },
    })
    expect(await live.call('alice', 'DELETE', `/api/v1/orgs/${org.aurora}/policies/constraints/${rule.id}`)).toMatchObject(
      invalid('reason'),
    )
  })

  test('HO-04 hostile bodies are refused whole', async () => {
    const send = (raw: string) => live.call('alice', 'POST', aurora, { raw })
    const text = JSON.stringify(draft())
    for (const poison of ['"__proto__":{"x":1}', '"condition":{"in":{"__proto__":["a"]}}', '"constructor":{}'])
      expect(await send(`{${poison},${text.slice(1)}`)).toMatchObject({ status: 400, body: { code: 'invalid_request' } })
    expect(await send(JSON.stringify(draft({ description: 'x'.repeat(1_000_000) })))).toMatchObject({ status: 413 })
    const words = Array.from({ length: 100 }, (_, at) => `${at}`.padEnd(100, 'x'))
    const long = { any: Array.from({ length: 20 }, () => ({ in: { region: words } })) }
    expect(await create('alice', aurora, draft({ condition: long }))).toMatchObject(invalid('condition'))
    expect(await create('alice', aurora, draft({ actions: Array.from({ length: 201 }, () => 'allocation.create') }))).toMatchObject(
      invalid('actions'),
    )
  })
})

describe('two at once', () => {
  test('DE-11 of two who saw the same version one is told that it changed', async () => {
    for (const [place, person] of places)
      for (let round = 0; round < 5; round += 1) {
        const { id } = await made(person, place)
        const both = await Promise.all(['active', 'disabled'].map((state) => update(person, place, id, { state, expected_version: 1 })))
        expect(both.map(({ status }) => status).sort()).toEqual([200, 409])
        expect(both.find(({ status }) => status === 409)!.body.code).toBe('version_conflict')
        expect(await live.sql('select version from policy_constraints where constraint_id = $1 order by version', [id])).toEqual([
          { version: 1 },
          { version: 2 },
        ])
      }
  })

  test('DE-11 a key is taken once, and a constraint is ended once', async () => {
    for (const [place, person] of places) {
      const body = draft()
      const four = await Promise.all([1, 2, 3, 4].map(() => create(person, place, body)))
      expect(four.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409])
      const { id } = four.find(({ status }) => status === 201)!.body
      const ended = await Promise.all([1, 2, 3].map(() => end(person, place, id)))
      expect(ended.map(({ status }) => status).sort()).toEqual([204, 404, 404])
    }
  })

  test('DE-11 who ends and who changes do not both win', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { id } = await made('alice', aurora)
      const [changed, ended] = await Promise.all([
        update('alice', aurora, id, { state: 'disabled', expected_version: 1 }),
        end('alice', aurora, id),
      ])
      expect([200, 404]).toContain(changed.status)
      expect(ended.status).toBe(204)
      expect((await live.ask('alice', readOrganizationConstraint, { params: { org_id: org.aurora, constraint_id: id } })).status).toBe(404)
    }
  })
})

test('D10 a scope has at most 200 constraints at a time', async () => {
  const { org } = seeded
  const before = (
    await live.sql<{ n: number }>(`select count(*)::int as n from policy_constraints where tenant_id = $1 and replaced_at is null`, [
      org.borealis,
    ])
  )[0]!.n
  await live.sql(
    `insert into policy_constraints (constraint_id, version, key, scope_type, tenant_id, actions, condition, time_zone, is_locked, state, created_at)
     select gen_random_uuid(), 1, 'many-' || n, 'tenant', $1, '{tenant.billing.read}', '{}', 'UTC', false, 'disabled', now() from generate_series(1, $2) n`,
    [org.borealis, 200 - before],
  )
  const body = { key: 'one-more', actions: ['tenant.billing.read'], condition: {}, state: 'disabled' as const }
  const refused = await live.ask('bella', createOrganizationConstraint, { params: { org_id: org.borealis }, body })
  expect([refused.status, refused.body.code, refused.body.details]).toEqual([409, 'state_conflict', { limit: 200 }])
  await live.sql(`delete from policy_constraints where key = 'many-1'`)
  expect((await live.ask('bella', createOrganizationConstraint, { params: { org_id: org.borealis }, body })).status).toBe(201)
})
