import { listOperation, operation } from '@gatehouse/contract/operation'
import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { expect, test } from 'vitest'
import { seeded, serverFixture } from '../../../../test/live-server.ts'
import { record } from '../audit/record.ts'
import { authorize } from '../authz/authorize.ts'
import { selfKind } from '../authz/kind.ts'
import { answer, listed } from './answer.ts'

const { project } = seeded
const named = { actors: ['user'], action: 'me.read', takes_project_header: true, problems: [] } as const

/** Stands for every operation whose project may stand in the header alone. */
const put = answer(
  operation({
    ...named,
    id: 'test.put',
    method: 'POST',
    path: '/api/v1/test/put',
    summary: 'Put.',
    effect: 'change',
    body: Exactly({ name: Type.String() }),
    reply: Exactly({ project_id: Type.String() }),
    success: 201,
  }),
  async (work, { project_header }) => {
    const { id } = await authorize(work, 'me.read', selfKind, { id: work.actor.id })
    record(work, { action: 'test.put', resource_type: 'user', resource_id: id })
    return { project_id: project_header ?? 'none' }
  },
)
const list = answer(
  listOperation({
    ...named,
    id: 'test.list',
    path: '/api/v1/test/list',
    summary: 'List.',
    query: {},
    item: Exactly({ id: Type.String() }),
  }),
  async (work, { slice }) => {
    await authorize(work, 'me.read', selfKind, { id: work.actor.id })
    return listed([{ id: 'a' }, { id: 'b' }], slice, ({ id }) => id)
  },
)

const live = serverFixture({ parts: (parts) => ({ ...parts, answers: [...parts.answers, put, list] }) })

const headerOf = (project_id: string | undefined): Record<string, string> =>
  project_id === undefined ? {} : { 'x-project-id': project_id }

test('HO-04 the same key for another project is another request, also where only the header names it (C4)', async () => {
  const ask = (project_id?: string) =>
    live.call('alice', 'POST', '/api/v1/test/put', {
      body: { name: 'x' },
      headers: { 'idempotency-key': 'k-header', ...headerOf(project_id) },
    })
  const done = { status: 201, body: { project_id: project.aurora } }
  expect(await ask(project.aurora)).toMatchObject(done)
  expect(await ask(project.aurora.toUpperCase())).toMatchObject(done)
  const reused = { status: 422, body: { code: 'idempotency_key_reused' } }
  expect(await ask(project.borealis)).toMatchObject(reused)
  expect(await ask()).toMatchObject(reused)
})

test('HO-04 a cursor goes on in the project that it came from, and in no other', async () => {
  const page = (project_id?: string, cursor?: string) =>
    live.call('alice', 'GET', `/api/v1/test/list?limit=1${cursor === undefined ? '' : `&cursor=${cursor}`}`, {
      headers: headerOf(project_id),
    })
  const { next_cursor } = (await page(project.aurora)).body
  expect((await page(project.aurora, next_cursor)).status).toBe(200)
  for (const other of [project.borealis, undefined])
    expect(await page(other, next_cursor)).toMatchObject({ status: 400, body: { code: 'cursor_invalid' } })
})
