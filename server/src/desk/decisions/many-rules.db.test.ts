import { expect, test } from 'vitest'
import { seeded, serverFixture } from '../../../../test/live-server.ts'

const { org, project } = seeded
const live = serverFixture()

test('L4 DE-10 a tenant with as many rules as it may have is answered all the same, a hundred questions at once, and so are others meanwhile', async () => {
  // As many as a project may have, and as many tests as one may have, none of which holds.
  const any = Array.from({ length: 20 }, (_, n) => ({ any: [{ in: { actor_type: [`a${n}`] } }, { in: { resource_type: [`r${n}`] } }] }))
  await live.sql(
    `insert into policy_constraints (constraint_id, version, key, scope_type, project_id, actions, condition, time_zone, is_locked, state, created_at)
     select gen_random_uuid(), 1, 'dear-' || n, 'project', $1, '{allocation.*}', $2, 'UTC', false, 'active', now() from generate_series(1, 200) n`,
    [project.aurora, JSON.stringify({ any })],
  )
  const dear = { action: 'allocation.read', resource: { type: 'allocation', project_id: project.aurora } }
  const cheap = { action: 'tenant.read', resource: { type: 'organization', id: org.borealis } }
  const ask = (person: string, path: string, body: object) => live.call(person, 'POST', `/api/v1/authz/${path}`, { body })
  // What is kept is read first, so that nothing but judging takes long.
  expect((await ask('asha', 'decisions', dear)).body.decision).toBe('allow')
  expect((await ask('bella', 'decisions', cheap)).body.decision).toBe('allow')
  // A hundred at once were too dear for the second that a request has, before a rule was read once and for all.
  const batch = ask('asha', 'decisions/batch', { questions: Array(100).fill(dear) })
  expect((await ask('bella', 'decisions', cheap)).body.decision).toBe('allow')
  const { status, body } = await batch
  expect([status, new Set(body.decisions.map(({ decision }: { decision: string }) => decision))]).toEqual([200, new Set(['allow'])])
})
