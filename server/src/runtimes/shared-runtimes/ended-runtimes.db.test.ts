import { listProjectAuditLogs } from '@gatehouse/contract/audit-logs'
import { createOperatorCredential } from '@gatehouse/contract/operator-credentials'
import { deleteSharedRuntime } from '@gatehouse/contract/shared-runtimes'
import { expect, test } from 'vitest'
import { readRecord, readState, replayFaults } from '../../../../test/faults/replay.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'
import { operatorWithSecret } from '../../../../test/operator-credential.ts'
import { runtimesOn } from '../../../../test/runtime-scene.ts'

const { org, project, user } = seeded
const because = { reason: 'it is done with' }

const live = serverFixture()
const runtimes = runtimesOn(live)

let asked = 0
const deleted = async (id: string) => {
  asked += 1
  const correlation_id = `ended-${asked}`
  const { status } = await live.ask('adam', deleteSharedRuntime, {
    params: { org_id: org.aurora, shared_runtime_id: id },
    body: because,
    headers: { 'x-request-id': correlation_id },
  })
  expect(status).toBe(204)
  const rows = await live.auditOf(correlation_id)
  return { correlation_id, of: (action: string) => rows.filter((row) => row.action === action) }
}

test('AU-01 MI-08 each project that was attached to a deleted runtime finds the end of its attachment in its own log', async () => {
  const second = await runtimes.project()
  const id = await runtimes.made()
  const attached = [(await runtimes.attach(id, project.aurora)).body.id, (await runtimes.attach(id, second)).body.id]
  const gone = (await runtimes.attach(id, await runtimes.project())).body.id
  await runtimes.detach(id, gone)
  const { correlation_id, of } = await deleted(id)
  expect(of('shared_runtime.delete')).toMatchObject([{ resource_id: id, project_id: null, metadata: { attachments_ended: 2 } }])
  expect(of('shared_runtime.attachment.delete').map(({ resource_id, project_id }) => [resource_id, project_id])).toEqual([
    [attached[0], project.aurora],
    [attached[1], second],
  ])
  const { body } = await live.ask('alice', listProjectAuditLogs, { params: { project_id: second }, query: { correlation_id } })
  expect(body.items).toMatchObject([
    {
      action: 'shared_runtime.attachment.delete',
      resource_type: 'shared_runtime_attachment',
      resource_id: attached[1],
      metadata: { shared_runtime_id: id, cause: 'runtime_deleted', reason: because.reason },
    },
  ])
})

test('AU-01 TI-22 the credentials of its operator that end with a runtime are in the record', async () => {
  const id = await runtimes.made()
  const keys = []
  for (const _ of [1, 2]) keys.push((await operatorWithSecret(live, id)).key_id)
  const { of } = await deleted(id)
  expect(of('shared_runtime.operator_credential.end')).toMatchObject([
    { resource_type: 'shared_runtime', resource_id: id, tenant_id: org.aurora, metadata: { count: 2, key_ids: keys.sort(), ...because } },
  ])
  expect((await deleted(await runtimes.made())).of('shared_runtime.operator_credential.end')).toEqual([])
})

test('AU-01 done again on paper, the record comes to what there is', async () => {
  const told = async () => (await readRecord(live.sql)).map((row) => [`${row.chain_id} ${row.seq}`, row] as const)
  const [before, known] = [await readState(live.sql), new Map(await told())]
  const id = await runtimes.made()
  await runtimes.attach(id, project.aurora)
  expect(
    (await live.ask('alice', createOperatorCredential, { params: { org_id: org.aurora, shared_runtime_id: id }, body: because })).status,
  ).toBe(201)
  const { of } = await deleted(id)
  expect(of('shared_runtime.operator_credential.end')).toHaveLength(1)
  const record = (await told()).flatMap(([place, row]) => (known.has(place) ? [] : [row]))
  expect(replayFaults(before, record, await readState(live.sql))).toEqual([])
  const untold = record.filter(({ action }) => action !== 'shared_runtime.attachment.delete')
  expect(replayFaults(before, untold, await readState(live.sql))).not.toEqual([])
})

test('AU-01 of very many attachments the first 200 have a row each; all are counted, and each attachment itself says who ended it, and why', async () => {
  const id = await runtimes.made()
  await live.sql(
    `with made as (
       insert into projects (id, org_id, name, slug, created_at)
       select gen_random_uuid(), $1, 'many', 'many-' || n, now() from generate_series(1, 203) n returning id)
     insert into shared_runtime_attachments
       (id, shared_runtime_id, org_id, project_id, contribution_policy, created_at, created_by_type, created_by, updated_at)
     select gen_random_uuid(), $2, $1, id, 'all', now(), 'user', $3, now() from made`,
    [org.aurora, id, user('adam')],
  )
  const { of } = await deleted(id)
  expect(of('shared_runtime.attachment.delete')).toHaveLength(200)
  expect(of('shared_runtime.delete')).toMatchObject([{ metadata: { attachments_ended: 203 } }])
  expect(
    await live.sql(
      `select count(*)::int as ended from shared_runtime_attachments
        where shared_runtime_id = $1 and detached_by = $2 and detach_reason = $3`,
      [id, user('adam'), because.reason],
    ),
  ).toEqual([{ ended: 203 }])
})
