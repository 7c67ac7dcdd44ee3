import { addProjectMember, removeProjectMember } from '@gatehouse/contract/members'
import { operation } from '@gatehouse/contract/operation'
import { updateOrganization } from '@gatehouse/contract/organizations'
import { createProject } from '@gatehouse/contract/projects'
import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { expect, test } from 'vitest'
import { seeded, serverFixture } from '../../../../test/live-server.ts'
import { asSuperuser } from '../../../../test/superuser.ts'
import { record } from '../audit/record.ts'
import { authorize } from '../authz/authorize.ts'
import { selfKind } from '../authz/kind.ts'
import { answer } from './answer.ts'
import { usual_duplicate_wait_ms } from './idempotency.ts'

const { org, project, user } = seeded

let issued = 0
/** Stands for every operation that shows a secret once. */
const mint = answer(
  operation({
    id: 'test.mint',
    method: 'POST',
    path: '/api/v1/test/mint',
    summary: 'Mint.',
    actors: ['user'],
    action: 'me.read',
    effect: 'change',
    body: Exactly({ wish: Type.Integer() }),
    reply: Exactly({ secret: Type.String(), credential_session_id: Type.String() }),
    success: 201,
    is_secret_reply: true,
    problems: [],
  }),
  async (work) => {
    const { id } = await authorize(work, 'me.read', selfKind, { id: work.actor.id })
    issued += 1
    record(work, { action: 'test.mint', resource_type: 'user', resource_id: id })
    return { secret: `canary-${issued}`, credential_session_id: `session-${issued}` }
  },
)

const live = serverFixture({ parts: (parts) => ({ ...parts, answers: [...parts.answers, mint] }) })

/** One on which a duplicate does not wait long. */
const hurried = () => live.replica((parts) => ({ ...parts, duplicate_wait_ms: 100 }))

const create = (person: string, slug: string, key: string, name = slug) =>
  live.ask(person, createProject, { params: { org_id: org.aurora }, body: { name, slug }, headers: { 'idempotency-key': key } })

test('HO-04 the same key, caller and body give the same answer and one effect', async () => {
  const first = await create('alice', 'once', 'k-1')
  const again = await create('alice', 'once', 'k-1')
  expect(first.status).toBe(201)
  expect({ status: again.status, text: again.text }).toEqual({ status: first.status, text: first.text })
  expect(await live.sql("select id from projects where slug = 'once'")).toHaveLength(1)
  expect(await live.sql("select id from audit_logs where action = 'project.create' and metadata->>'slug' = 'once'")).toHaveLength(1)
})

test('HO-04 twenty at once: one effect, everybody the same answer or told to come again', async () => {
  const answers = await Promise.all(Array.from({ length: 20 }, () => create('alice', 'crowd', 'k-crowd')))
  const done = answers.filter(({ status }) => status === 201)
  expect(new Set(done.map(({ body }) => body.id)).size).toBe(1)
  for (const { status, body } of answers) if (status !== 201) expect(body.code).toBe('idempotency_in_progress')
  expect(await live.sql("select id from projects where slug = 'crowd'")).toHaveLength(1)
})

test('HO-04 a duplicate of one that hangs is told that it is in progress', async () => {
  const { promise: is_held, resolve: hold } = Promise.withResolvers<void>()
  const { promise: may_go_on, resolve: goOn } = Promise.withResolvers<void>()
  const holding = async () => {
    hold()
    await may_go_on
  }
  const held = await live.replica((parts) => ({
    ...parts,
    answers: parts.answers.map((each) =>
      each.operation.id === 'project.create' && 'verb' in each
        ? { ...each, verb: (work, input) => holding().then(() => each.verb(work, input)) }
        : each,
    ),
  }))
  const sending = { body: { name: 'Slow', slug: 'slow' }, headers: { 'idempotency-key': 'k-slow' } }
  const first = live.ask('alice', createProject, { params: { org_id: org.aurora }, ...sending, base: held.url })
  await is_held
  const duplicate = await live.ask('alice', createProject, { params: { org_id: org.aurora }, ...sending, base: (await hurried()).url })
  expect(duplicate).toMatchObject({ status: 409, body: { code: 'idempotency_in_progress' } })
  goOn()
  expect((await first).status).toBe(201)
  // The shipped wait is shorter than the longest statement, which would otherwise end it as a failure.
  expect(usual_duplicate_wait_ms).toBe(3000)
})

test('HO-04 the same key with another body or operation is refused, another caller has keys of his own', async () => {
  await create('alice', 'reused', 'k-2')
  expect(await create('alice', 'other', 'k-2')).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } })
  const rename = await live.ask('alice', updateOrganization, {
    params: { org_id: org.aurora },
    body: { name: 'A' },
    headers: { 'idempotency-key': 'k-2' },
  })
  expect(rename.status).toBe(422)
  expect(await create('anna', 'reused', 'k-2')).toMatchObject({ status: 403, body: { code: 'insufficient_permissions' } })
})

test('HO-04 a refusal is not kept: the key is free again', async () => {
  expect((await create('alice', 'once', 'k-3')).status).toBe(409)
  expect((await create('alice', 'fresh', 'k-3')).status).toBe(201)
})

test('HO-04 a key is forgotten after a day', async () => {
  await create('alice', 'aged', 'k-4')
  await live.sql("update idempotency_keys set expires_at = now() - interval '1 second' where key = 'k-4'")
  expect(await create('alice', 'aged', 'k-4')).toMatchObject({ status: 409, body: { code: 'project_already_exists' } })
})

test('HO-04 who lost the right since gets no old answer replayed', async () => {
  const add = () =>
    live.ask('aldo', addProjectMember, {
      params: { project_id: project.aurora },
      body: { user_id: user('anna'), role_name: 'project_viewer' },
      headers: { 'idempotency-key': 'k-5' },
    })
  expect((await add()).status).toBe(201)
  expect((await add()).status).toBe(201)
  expect(
    (await live.ask('amara', removeProjectMember, { params: { project_id: project.aurora, user_id: user('aldo') }, body: {} })).status,
  ).toBe(204)
  expect(await add()).toMatchObject({ status: 403, body: { details: { reason_code: 'membership_missing' } } })
})

test('HO-04 an answer without content reveals nothing and is replayed even to one who has left', async () => {
  const leave = () =>
    live.ask('asha', removeProjectMember, {
      params: { project_id: project.aurora, user_id: user('asha') },
      body: {},
      headers: { 'idempotency-key': 'k-6' },
    })
  expect((await leave()).status).toBe(204)
  expect((await leave()).status).toBe(204)
})

test('HO-04 a malformed key is refused, not ignored', async () => {
  for (const key of ['a b', '\u00e9', 'x'.repeat(129)])
    expect(await create('alice', 'malformed', key)).toMatchObject({
      status: 400,
      body: { code: 'validation_error' },
    })
  expect(await live.sql("select id from projects where slug = 'malformed'")).toEqual([])
})

test('HO-04 a secret answer is never stored or replayed: the second gets the credential session only', async () => {
  const ask = (wish: number) => live.call('alice', 'POST', '/api/v1/test/mint', { body: { wish }, headers: { 'idempotency-key': 'k-7' } })
  const before = issued
  const answers = await Promise.all(Array.from({ length: 12 }, () => ask(1)))
  const secrets = answers.filter(({ status }) => status === 201)
  expect(secrets).toHaveLength(1)
  expect(issued).toBe(before + 1)
  const { secret, credential_session_id } = secrets[0]!.body
  expect(await ask(1)).toMatchObject({ status: 409, body: { code: 'credential_already_issued', details: { credential_session_id } } })
  expect((await ask(2)).body.code).toBe('idempotency_key_reused')
  const stored = await live.sql("select to_jsonb(k)::text as row from idempotency_keys k where key = 'k-7'")
  expect(JSON.stringify(stored)).not.toContain(secret)
})

test('HO-04 another lock that is waited for long is not called a duplicate', async () => {
  const { url } = await hurried()
  await live.sql('begin')
  await live.sql('select from organizations where id = $1 for update', [org.aurora])
  const waiting = live.ask('alice', updateOrganization, {
    params: { org_id: org.aurora },
    body: { name: 'Late' },
    headers: { 'idempotency-key': 'k-late' },
    base: url,
  })
  // Three times as long as it would wait for its key.
  const late = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
                  and clock_timestamp() - query_start > interval '300 milliseconds'`
  await expect.poll(() => asSuperuser(live.clone.appUrl, async (client) => (await client.query(late)).rowCount)).toBe(1)
  await live.sql('commit')
  expect(await waiting).toMatchObject({ status: 200, body: { name: 'Late' } })
})
