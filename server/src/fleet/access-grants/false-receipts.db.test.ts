import { releaseAllocation } from '@gatehouse/contract/allocations'
import type { SignedTask, TaskResult } from '@gatehouse/contract/node-tasks'
import { reportTask } from '@gatehouse/contract/nodes'
import { expect, test } from 'vitest'
import { stageFixture } from '../../../../test/access-stage.ts'
import { tendNow } from '../../../../test/allocation-tending.ts'
import { serverFixture } from '../../../../test/live-server.ts'

const live = serverFixture()
const stage = stageFixture(live)

/** A grant that is in force and has just been revoked; the node has the task that says so, and has answered nothing. */
const revoking = async () => {
  const his = await stage.key('axel')
  const { id } = await stage.allocation()
  const grant = await stage.granted('asha', id, 'axel', his)
  await stage.model.settle()
  await stage.revoke('asha', id, grant.id)
  const [task] = (await stage.model.wait()).body.tasks as SignedTask[]
  return { id, grant, his, task: task! }
}
const toldOf = async (id: string, grant_id: string) => {
  const { state, runtime_sync } = await stage.seen(id, grant_id)
  return [state, runtime_sync.status]
}
const deniedOf = (task_id: string) =>
  live.sql(`select severity from audit_logs where action = 'node.task.report' and resource_id = $1 and result = 'denied'`, [task_id])
const tend = () => tendNow(live)

test('SG-20 a node that could not do it confirms nothing by saying so, and is asked again', async () => {
  const { id, grant, his, task } = await revoking()
  const { generation } = task
  const said = await stage.model.report(task, {
    outcome: 'failed',
    generation,
    failure: 'disk_full',
    receipt: { applied_generation: generation },
  })
  expect(said?.status).toBe(200)
  expect(await toldOf(id, grant.id)).toEqual(['ending', 'failed'])
  expect(stage.onNode(id)).toEqual([his.fingerprint])
  await live.sql(`update node_tasks set reported_at = reported_at - interval '2 minutes' where id = $1`, [task.task_id])
  await tend()
  await stage.model.settle()
  expect(await toldOf(id, grant.id)).toEqual(['revoked', 'applied'])
  expect(stage.onNode(id)).toEqual([])
})

test('SG-16 SG-20 a node confirms nothing that it was never given', async () => {
  const his = await stage.key('axel')
  const { id } = await stage.allocation()
  const grant = await stage.granted('asha', id, 'axel', his)
  const [task] = (await stage.model.wait()).body.tasks as SignedTask[]
  await stage.revoke('asha', id, grant.id)
  const { generation, params } = task!
  const ahead = { applied_generation: generation + 1, set_hash: params.set_hash as string }
  for (const outcome of ['completed', 'superseded', 'failed'] as const)
    expect((await stage.model.report(task!, { outcome, generation, receipt: ahead }))?.status).toBe(403)
  expect(await deniedOf(task!.task_id)).toEqual([{ severity: 'high' }, { severity: 'high' }, { severity: 'high' }])
  expect(await toldOf(id, grant.id)).toEqual(['ending', 'pending'])
  await stage.model.settle()
  expect(await toldOf(id, grant.id)).toEqual(['revoked', 'applied'])
})

test('SG-19 SG-20 a receipt that tells of other keys or grants than those of the task is not believed', async () => {
  const { id, grant, his, task } = await revoking()
  const { generation, params } = task
  const right = { applied_generation: generation, set_hash: params.set_hash as string, fingerprints: [], grant_ids: [] }
  const wrong = [{ fingerprints: [his.fingerprint] }, { grant_ids: [grant.id] }, { set_hash: 'f'.repeat(64) }]
  const say = (receipt: object) => stage.model.report(task, { outcome: 'completed', generation, receipt } as TaskResult)
  for (const each of wrong) expect((await say({ ...right, ...each }))?.status).toBe(403)
  expect((await deniedOf(task.task_id)).length).toBe(3)
  expect(await toldOf(id, grant.id)).toEqual(['ending', 'pending'])
  expect((await say(right))?.status).toBe(200)
  expect(await toldOf(id, grant.id)).toEqual(['revoked', 'applied'])
  await live.ask('asha', releaseAllocation, { params: { allocation_id: id }, body: {} })
  const [away] = (await stage.model.wait()).body.tasks as SignedTask[]
  const left = { applied_generation: away!.generation, fingerprints: [his.fingerprint as `SHA256:${string}`] }
  expect((await stage.model.report(away!, { outcome: 'completed', generation: away!.generation, receipt: left }))?.status).toBe(403)
  await stage.model.settle()
})

test.each(['superseded', 'failed'] as const)('SG-19 SG-20 a word that was not signed confirms no other set either: %s', async (outcome) => {
  const his = await stage.key('axel')
  const { id } = await stage.allocation()
  const grant = await stage.granted('asha', id, 'axel', his)
  const [granting] = (await stage.model.wait()).body.tasks as SignedTask[]
  await stage.revoke('asha', id, grant.id)
  const [revoking] = (await stage.model.wait()).body.tasks as SignedTask[]
  // What is told of one task says that another set is in force, whose receipt was never seen.
  const [task, other] = outcome === 'superseded' ? [granting!, revoking!] : [revoking!, granting!]
  const receipt = { applied_generation: other.generation }
  const result = { outcome, generation: task.generation, receipt, ...(outcome === 'failed' ? { failure: 'disk_full' } : {}) }
  const { status } = await stage.node.ask(reportTask, { params: { node_id: stage.node.id, task_id: task.task_id }, body: result })
  expect([status, await toldOf(id, grant.id)]).toEqual([403, ['ending', 'pending']])
  const [{ confirmed }] = (await live.sql('select confirmed_generation::int as confirmed from allocations where id = $1', [id])) as [
    { confirmed: number },
  ]
  expect(confirmed).toBeLessThan(Math.min(task.generation, other.generation))
  await stage.model.report(revoking!, { outcome: 'failed', generation: revoking!.generation, failure: 'busy' })
})
