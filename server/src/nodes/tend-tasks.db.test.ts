import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type EnrolledNode, enrolledNode, registeredNode } from '../../../test/enrolled-node.ts'
import { type LiveServer, liveServer, seeded } from '../../../test/live-server.ts'
import { modelNode } from '../../../test/model-node.ts'
import { placedAllocation, probed, queued } from '../../../test/task-world.ts'

let live: LiveServer
let node: EnrolledNode
beforeAll(async () => {
  live = await liveServer()
  node = await enrolledNode(live)
})
afterAll(async () => {
  node.stop()
  await live.stop()
})

const { org } = seeded
const age = (id: string, interval: string) =>
  live.sql(`update node_tasks set created_at = created_at - $2::interval, expires_at = expires_at - $2::interval where id = $1`, [
    id,
    interval,
  ])
const tasksOf = (column: 'allocation_id' | 'node_id', id: string) =>
  live.sql<{ id: string; state: string; generation: number; type: string }>(
    `select id, state, generation::int, type from node_tasks where ${column} = $1 order by id`,
    [id],
  )

test('SG-10 a task whose time is over is never given out, and is queued anew with the same content; on several processes once', async () => {
  const other = await live.replica()
  const allocation = await placedAllocation(live, node.id)
  const { id } = await queued(live.database, node.id, 'allocation.install_authorized_keys', 4, allocation)
  await age(id, '2 hours')
  const model = modelNode(live, node)
  expect(await model.step()).toEqual([])
  await Promise.all([live.tasking.tendTasks(), other.tasking.tendTasks(), live.tasking.tendTasks()])
  const rows = await tasksOf('allocation_id', allocation.id)
  expect(rows).toMatchObject([
    { id, state: 'expired', generation: 4 },
    { state: 'queued', generation: 4 },
  ])
  expect((await model.step()).map(({ task_id }) => task_id)).toEqual([rows[1]!.id])
  expect(model.refused).toEqual([])
  expect(model.held.get(allocation.id)).toMatchObject({ generation: 4 })
  const recorded = await live.sql(`select tenant_id, metadata from audit_logs where action = 'node.task.renew' and resource_id = $1`, [id])
  expect(recorded).toMatchObject([{ tenant_id: org.aurora, metadata: { next_task_id: rows[1]!.id, was_expired: true } }])
})

test('SG-10 what a node says of a task that has expired meanwhile is heard', async () => {
  const allocation = await placedAllocation(live, node.id)
  const { id } = await queued(live.database, node.id, 'allocation.install_authorized_keys', 6, allocation)
  const run = randomUUID()
  await node.call('GET', `/internal/v1/nodes/${node.id}/tasks/wait?wait_seconds=0&run=${run}`)
  await age(id, '2 hours')
  await live.tasking.tendTasks()
  const answered = await node.call('POST', `/internal/v1/nodes/${node.id}/tasks/${id}/result`, { outcome: 'completed', generation: 6 })
  expect(answered).toMatchObject({ status: 200, body: { state: 'expired' } })
  const [row] = await live.sql('select confirmed_generation::int as confirmed from allocations where id = $1', [allocation.id])
  expect(row).toEqual({ confirmed: 6 })
})

test('SG-22 nothing is queued anew for a node that is retired, and a sign of life is wanted now or not at all', async () => {
  const mine = await enrolledNode(live)
  const probe = await probed(live.database, mine.id)
  await age(probe.id, '2 hours')
  await live.tasking.tendTasks()
  expect(await tasksOf('node_id', mine.id)).toMatchObject([{ id: probe.id, state: 'expired' }])
  const allocation = await placedAllocation(live, mine.id)
  await queued(live.database, mine.id, 'allocation.install_authorized_keys', 4, allocation)
  expect((await live.call('ada', 'POST', `/api/v1/admin/nodes/${mine.id}/retire`, { body: { reason: 'broken' } })).status).toBe(200)
  await live.tasking.tendTasks()
  const open = (await tasksOf('node_id', mine.id)).filter(({ state }) => state === 'queued' || state === 'dispatched')
  expect(open).toEqual([])
  mine.stop()
})

test('a task that no node has answered after a minute is recorded once, high, and counted', async () => {
  const allocation = await placedAllocation(live, node.id)
  const { id } = await queued(live.database, node.id, 'allocation.install_authorized_keys', 5, allocation)
  await live.tasking.tendTasks()
  const recorded = () =>
    live.sql(`select severity, tenant_id, metadata from audit_logs where action = 'node.task.overdue' and resource_id = $1`, [id])
  expect(await recorded()).toEqual([])
  await age(id, '61 seconds')
  const { overdue } = await live.tasking.tendTasks()
  expect(overdue).toBeGreaterThan(0)
  await Promise.all([live.tasking.tendTasks(), live.tasking.tendTasks()])
  await live.tasking.tendTasks()
  expect(await recorded()).toMatchObject([
    { severity: 'high', tenant_id: org.aurora, metadata: { generation: 5, state: 'queued', node_id: node.id } },
  ])
})

test('SG-16 a probe is a task of the node’s, its answer is found in the list, and the keys of others are not', async () => {
  const mine = await enrolledNode(live)
  const allocation = await placedAllocation(live, mine.id)
  await queued(live.database, mine.id, 'allocation.install_authorized_keys', 4, allocation, { set_hash: 'canary-of-a-set' })
  const asked = await live.call('ada', 'POST', `/api/v1/admin/nodes/${mine.id}/probe`, { headers: { 'x-request-id': 'probing' } })
  expect(asked).toMatchObject({ status: 202, body: { type: 'diag.health_probe', state: 'queued', allocation_id: null } })
  await modelNode(live, mine).settle()
  const first = await live.call('ada', 'GET', `/api/v1/admin/nodes/${mine.id}/tasks?limit=1`)
  expect(first.body.items).toMatchObject([{ id: asked.body.id, state: 'completed', result: { receipt: { facts: { kernel: 'model' } } } }])
  const rest = await live.call('ada', 'GET', `/api/v1/admin/nodes/${mine.id}/tasks?limit=1&cursor=${first.body.next_cursor}`)
  expect(rest.body.items).toMatchObject([{ type: 'allocation.install_authorized_keys' }])
  expect(rest.text).not.toContain(allocation.username)
  expect(rest.body.items[0]).not.toHaveProperty('params')
  expect(await live.auditOf('probing')).toMatchObject([
    { action: 'node.probe', resource_id: mine.id, metadata: { task_id: asked.body.id } },
  ])
  mine.stop()
})

test('SG-16 who may not, what there is not, and what is no more', async () => {
  const path = `/api/v1/admin/nodes/${node.id}`
  expect((await live.call('alice', 'POST', `${path}/probe`)).status).toBe(403)
  expect((await live.call('alice', 'GET', `${path}/tasks`)).status).toBe(403)
  const nowhere = `/api/v1/admin/nodes/${randomUUID()}`
  expect(await live.call('ada', 'POST', `${nowhere}/probe`)).toMatchObject({ status: 404, body: { code: 'node_not_found' } })
  expect((await live.call('ada', 'GET', `${nowhere}/tasks`)).status).toBe(404)
  const { id } = await registeredNode(live)
  const unenrolled = await live.call('ada', 'POST', `/api/v1/admin/nodes/${id}/probe`)
  expect(unenrolled).toMatchObject({ status: 409, body: { details: { state: 'not_enrolled' } } })
  await live.call('ada', 'POST', `/api/v1/admin/nodes/${id}/retire`, { body: { reason: 'never came' } })
  expect(await live.call('ada', 'POST', `/api/v1/admin/nodes/${id}/probe`)).toMatchObject({
    status: 409,
    body: { details: { state: 'retired' } },
  })
})
