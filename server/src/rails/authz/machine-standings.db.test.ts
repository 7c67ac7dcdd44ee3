import { expect, test } from 'vitest'
import { openDatabase } from '#ground/db/database.ts'
import { fixedId, newId } from '#ground/kernel/ids.ts'
import { seedDevelopment } from '#process/seed-development.ts'
import { fixture } from '../../../../test/fixture.ts'
import { databaseFixture } from '../../../../test/postgres.ts'
import { asSuperuser } from '../../../../test/superuser.ts'
import { unhurried } from '../../../../test/unhurried.ts'
import { permissionsOf } from './catalogue.ts'
import { readStandingsOf } from './read-standings.ts'
import { heldAt } from './standing.ts'

const clone = databaseFixture(async (clone) => {
  await seedDevelopment({ databaseUrl: clone.appUrl, issuer: 'http://127.0.0.1:8091', keys: `first:${'k'.repeat(43)}` })
})
const database = fixture(
  () => openDatabase({ url: clone.appUrl, max_connections: 2, ...unhurried.database }),
  (opened) => opened.close(),
)

/** Past every rule of the code, as the owner. */
const force = (text: string) => asSuperuser(clone.ownerUrl, (client) => client.query(text))
const [aurora, borealis] = [fixedId('org', 'aurora'), fixedId('org', 'borealis')]
const [training, inference] = [fixedId('project', 'aurora/training'), fixedId('project', 'borealis/inference')]
const ada = fixedId('user', 'ada')

type Machine = 'service_account' | 'shared_runtime_operator' | 'node_agent'
const places = [
  { tenant_id: aurora, project_id: training },
  { tenant_id: aurora, project_id: null },
  { tenant_id: borealis, project_id: inference },
  { tenant_id: null, project_id: null },
]
/** How it stands in each of the places. */
const standings = (type: Machine, actor_id: string) =>
  readStandingsOf(
    database.reader,
    type,
    places.map((place) => ({ actor_id, ...place })),
  )
const nowhere = [undefined, undefined, undefined, undefined]
const now = '2026-11-16T12:00:00.000Z'

test('TI-25 a service account is of its own project, and elsewhere a stranger; one that is deleted is unknown', async () => {
  const robot = newId('service_account')
  await force(
    `insert into service_accounts (id, org_id, project_id, name, slug, created_at)
       values ('${robot}', '${aurora}', '${training}', 'Robot', 'robot', now());
     insert into project_role_bindings (id, project_id, principal_type, principal_id, role_version_id, created_at)
       select gen_random_uuid(), '${training}', 'service_account', '${robot}', d.current_version_id, now()
         from role_definitions d where d.name = 'project_viewer'`,
  )
  const found = await standings('service_account', robot)
  const home = { tenant_id: aurora, project_id: training, actions: null }
  const stranger = { actor_id: robot, is_disabled: false, home, is_tenant_member: false, is_project_member: false, project_roles: [] }
  expect(found).toMatchObject([
    { ...stranger, tenant_state: 'active', project_state: 'active', is_project_member: true, project_roles: [{ name: 'project_viewer' }] },
    { ...stranger, tenant_state: 'active', project_state: null },
    { ...stranger, tenant_state: null },
    { ...stranger, tenant_state: null, project_state: null },
  ])
  expect(heldAt(found[0]!, now).project.allowed).toEqual(permissionsOf('project_viewer'))
  await force(`update service_accounts set state = 'disabled', disabled_at = now(), disabled_by = '${ada}', disable_reason = 'test'`)
  expect((await standings('service_account', robot)).map((each) => each?.is_disabled)).toEqual([true, true, true, true])
  await force(`update service_accounts set state = 'deleted', deleted_at = now(), deleted_by = '${ada}', delete_reason = 'test'`)
  expect(await standings('service_account', robot)).toEqual(nowhere)
})

test('MI-02 MI-03 MI-05 an operator is of its tenant, and of a project while that is attached; with a deleted runtime it is unknown', async () => {
  const runtime = newId('shared_runtime')
  await force(
    `insert into shared_app_runtimes (id, org_id, app_slug, app_version, display_name, runtime_backend, delegated_actions,
                                      eligible_project_ids, created_at, created_by, updated_at)
       values ('${runtime}', '${aurora}', 'slurm', '1', 'Slurm', 'slurm', '{detach}', '{${training},${inference}}', now(), '${ada}', now());
     insert into shared_runtime_attachments (id, shared_runtime_id, org_id, project_id, contribution_policy, created_at, created_by_type, created_by, updated_at)
       values (gen_random_uuid(), '${runtime}', '${aurora}', '${training}', 'none', now(), 'user', '${ada}', now())`,
  )
  const home = { tenant_id: aurora, project_id: null, shared_runtime_id: runtime, actions: null }
  const seen = async () =>
    (await standings('shared_runtime_operator', runtime)).map((each) => {
      const { tenant, project } = heldAt(each!, now)
      return [each!.is_disabled, each!.tenant_state, tenant.is_member, project.is_member, project.is_eligible]
    })
  const found = await standings('shared_runtime_operator', runtime)
  expect(found).toMatchObject(places.map(() => ({ actor_id: runtime, home })))
  for (const each of found) expect(heldAt(each!, now).tenant.allowed.has('shared_runtime.detach')).toBe(true)
  const stranger = [false, null, false, false, false]
  expect(await seen()).toEqual([[false, 'active', true, true, true], [false, 'active', true, false, false], stranger, stranger])
  await force(`update shared_runtime_attachments set detached_at = now(), detached_by_type = 'system', detach_reason = 'test'`)
  expect((await seen())[0]).toEqual([false, 'active', true, false, true])
  await force(`update shared_app_runtimes set state = 'disabled', disabled_at = now(), disabled_by = '${ada}', disable_reason = 'test'`)
  expect((await seen())[0]).toEqual([true, 'active', false, false, true])
  await force(`update shared_app_runtimes set state = 'deleted', deleted_at = now(), deleted_by = '${ada}', delete_reason = 'test'`)
  expect(await standings('shared_runtime_operator', runtime)).toEqual(nowhere)
})

test('SG-16 a node is a stranger everywhere until it is retired; then it is unknown', async () => {
  const node = newId('node')
  await force(`insert into nodes (id, name, region, sku, gpus, created_at) values ('${node}', 'node-7', 'eu', 'h100', 8, now())`)
  const stranger = { actor_id: node, is_disabled: false, is_tenant_member: false, is_project_member: false }
  for (const status of ['active', 'drained']) {
    await force(`update nodes set status = '${status}'`)
    expect(await standings('node_agent', node)).toMatchObject(places.map(() => stranger))
  }
  await force(`update nodes set status = 'retired', retired_at = now(), retired_by = '${ada}', retire_reason = 'test'`)
  expect(await standings('node_agent', node)).toEqual(nowhere)
})
