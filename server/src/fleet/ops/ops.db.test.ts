import { existsSync } from 'node:fs'
import { operations } from '@gatehouse/contract/operations'
import { listRunbooks, readOpsOverview } from '@gatehouse/contract/ops'
import { archiveProject } from '@gatehouse/contract/projects'
import { disableBuiltinRole, enableBuiltinRole } from '@gatehouse/contract/roles'
import { disableUser, enableUser } from '@gatehouse/contract/users'
import { expect, test } from 'vitest'
import { roleIdOf } from '#rails/authz/catalogue.ts'
import { accessStage } from '../../../../test/access-stage.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'
import { runbooks } from './runbooks.ts'

const { project, user } = seeded
const live = serverFixture()
const because = { reason: 'because' }
const overview = async (person = 'otto') => (await live.ask(person, readOpsOverview)).body

test('RP-01 GET admin/ops/overview: asked by operations → counts of what there is, and nothing that needs attention', async () => {
  const [found] = await live.sql('select count(*)::int as users from users')
  expect(await overview()).toMatchObject({
    organizations: { active: 2, suspended: 0 },
    projects: { active: 2, archived: 0 },
    users: { active: found!.users, disabled: 0 },
    nodes: { active: 0, unavailable: 0, drained: 0 },
    allocations: { active: 0 },
    attention: [],
  })
  expect(await overview('ada')).toMatchObject({ attention: [] })
})

test('SG-23 GET admin/ops/overview: nodes and allocations come and fail → they are counted, with the runbook for each', async () => {
  const stage = await accessStage(live)
  const { id } = await stage.allocation()
  expect(await overview()).toMatchObject({ nodes: { active: 1, unavailable: 0 }, allocations: { active: 1 }, attention: [] })
  await live.sql("update nodes set last_seen_at = now() - interval '1 hour'")
  await live.sql("update allocations set state = 'release_failed', failure = 'x' where id = $1", [id])
  const seen = await overview()
  expect(seen).toMatchObject({ nodes: { active: 0, unavailable: 1 }, allocations: { active: 0, release_failed: 1 } })
  expect(seen.attention).toEqual([
    { what: 'nodes-unavailable', count: 1, runbook_id: 'node-unavailable' },
    { what: 'releases-failed', count: 1, runbook_id: 'release-failed' },
  ])
  stage.stop()
  await live.sql('update nodes set last_seen_at = now()')
  await live.sql("update allocations set state = 'active', failure = null where id = $1", [id])
})

test('RP-13 RP-31 GET admin/ops/overview: an owner or a role is disabled → counted, and no longer when that is over', async () => {
  await live.ask('ada', disableUser, { params: { user_id: user('berta') }, body: because })
  const params = { role_id: roleIdOf('tenant_viewer') }
  await live.ask('ada', disableBuiltinRole, { params, body: { mode: 'block_all_now', ...because } })
  expect(await overview()).toMatchObject({
    users: { disabled: 1 },
    attention: [
      { what: 'projects-without-owner', count: 1, runbook_id: 'project-without-owner' },
      { what: 'builtin-roles-disabled', count: 1, runbook_id: 'builtin-role-disabled' },
    ],
  })
  await live.ask('ada', enableUser, { params: { user_id: user('berta') }, body: because })
  await live.ask('ada', enableBuiltinRole, { params, body: because })
  await live.ask('boris', archiveProject, { params: { project_id: project.borealis }, body: because })
  expect(await overview()).toMatchObject({ projects: { active: 1, archived: 1 }, users: { disabled: 0 }, attention: [] })
})

test('AU-05 GET admin/ops/overview and runbooks: asked by anybody else → 403; the answer names no tenant', async () => {
  for (const person of ['alice', 'amara', 'bella'])
    expect([(await live.ask(person, readOpsOverview)).status, (await live.ask(person, listRunbooks, {})).status]).toEqual([403, 403])
  const { text } = await live.ask('otto', readOpsOverview)
  for (const word of ['Aurora', 'borealis', ...Object.values(seeded.org), ...Object.values(project)]) expect(text).not.toContain(word)
})

test('RP-01 GET admin/ops/runbooks: asked by operations → each names operations and a guide that exist, in the order of their ids', async () => {
  const { body } = await live.ask('otto', listRunbooks, {})
  expect(body.items).toEqual(runbooks)
  expect(body.items.map(({ id }) => id)).toEqual(runbooks.map(({ id }) => id).toSorted())
  const known = new Set(operations.map(({ id }) => id))
  for (const { id, operations: used, guide } of body.items) {
    expect([id, used.filter((each) => !known.has(each))]).toEqual([id, []])
    expect([id, existsSync(new URL(`../../../../${guide}`, import.meta.url))]).toEqual([id, true])
  }
  const first = await live.ask('otto', listRunbooks, { query: { limit: 4 } })
  const rest = await live.ask('otto', listRunbooks, { query: { limit: 4, cursor: first.body.next_cursor! } })
  expect([...first.body.items, ...rest.body.items]).toEqual(body.items)
})
