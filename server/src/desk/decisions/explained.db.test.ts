import { expect, test } from 'vitest'
import { newId } from '#ground/kernel/ids.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'

const { org, project, user } = seeded
const live = serverFixture()

const rows = () =>
  live.sql(`select action, actor_id, resource_type, resource_id, tenant_id, project_id, result, metadata from audit_logs
             where action like 'authz.%' order by seq`)
const about = (person: string | null, at: object = { type: 'project', id: project.aurora }) => ({
  ...(person && { actor: { type: 'user', id: user(person) } }),
  action: 'project.read',
  resource: at,
})
const ask = (person: string, path: string, body: object) => live.call(person, 'POST', `/api/v1/authz/${path}`, { body })

test('AU-01 explaining somebody else’s rights is recorded once, where they were looked at', async () => {
  const { status, body } = await ask('amara', 'explain', about('asha'))
  expect(status).toBe(200)
  expect(await rows()).toEqual([
    {
      ...{ action: 'authz.explain', actor_id: user('amara'), resource_type: 'user', resource_id: user('asha') },
      ...{ tenant_id: org.aurora, project_id: project.aurora, result: 'success' },
      metadata: { asked: 'project.read', decision_id: body.decision_id },
    },
  ])
})

test('AU-01 what is explained of a place that there is not is recorded with the platform', async () => {
  const before = await rows()
  expect((await ask('ada', 'explain', about('asha', { type: 'organization', id: newId('org') }))).status).toBe(200)
  expect((await rows()).slice(before.length)).toMatchObject([{ action: 'authz.explain', tenant_id: null, project_id: null }])
})

test('AU-01 one’s own are not, nor is a plain answer; a refusal to explain is', async () => {
  const before = await rows()
  expect((await ask('amara', 'explain', about(null))).status).toBe(200)
  expect((await ask('amara', 'explain', about('amara'))).status).toBe(200)
  expect((await ask('amara', 'decisions', about('asha'))).status).toBe(200)
  expect((await ask('amara', 'decisions/batch', { questions: [about('asha')] })).status).toBe(200)
  expect(await rows()).toEqual(before)
  expect((await ask('amara', 'explain', about('bella', { type: 'project', id: project.borealis }))).status).toBe(404)
  expect(await rows()).toHaveLength(before.length + 1)
})

test('AU-01 where the record cannot be written, nothing is explained', async () => {
  await live.sql(`create function refuse() returns trigger language plpgsql as $$ begin raise exception using errcode = '58030'; end $$`)
  await live.sql('create trigger refuse before insert on audit_logs for each row execute function refuse()')
  expect((await ask('amara', 'explain', about('asha'))).status).toBe(503)
  expect((await ask('amara', 'explain', about(null))).status).toBe(200)
  await live.sql('drop trigger refuse on audit_logs')
  expect((await ask('amara', 'explain', about('asha'))).status).toBe(200)
})
