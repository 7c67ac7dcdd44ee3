import { randomUUID } from 'node:crypto'
import { listNodeTasks, probeNode, reportTask, retireNode, waitForTasks } from '@gatehouse/contract/nodes'
import { expect, test } from 'vitest'
import { parseKeyRing } from '#ground/custody/key-ring.ts'
import { auditKey } from '#ground/installation/own-secrets.ts'
import { appendWith } from '#rails/audit/append.ts'
import { enrolledNode, nodeFixture, registeredNode } from '../../../../test/enrolled-node.ts'
import { seeded, serverFixture, testKeys } from '../../../../test/live-server.ts'
import { modelNode, signedResult } from '../../../../test/model-node.ts'
import { placedAllocation, probed, queued } from '../../../../test/task-world.ts'
import { taskSigning } from '../task-signers/task-signing.ts'
import { tendTasks } from './tend-tasks.ts'

const live = serverFixture()
const node = nodeFixture(live)

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

test('SG-10 one that cannot be queued anew keeps no other from it, and is tried again', async () => {
  const [held_up, other] = [await placedAllocation(live, node.id), await placedAllocation(live, node.id)]
  for (const allocation of [held_up, other]) {
    const { id } = await queued(live.database, node.id, 'allocation.install_authorized_keys', 4, allocation)
    await age(id, '2 hours')
  }
  const ring = parseKeyRing(testKeys)
  const append = appendWith({ region: 'test', key: await auditKey(live.database, ring) })
  const lock = async (_work: unknown, allocation_id: string) => {
    if (allocation_id === held_up.id) throw new Error('held up')
  }
  const tending = { database: live.database, append, signing: taskSigning(ring), subscribers: { beforeTaskLocked: [lock] } }
  await expect(tendTasks(tending)).rejects.toThrow('held up')
  const statesOf = async ({ id }: { id: string }) => (await tasksOf('allocation_id', id)).map(({ state }) => state)
  expect([await statesOf(held_up), await statesOf(other)]).toEqual([['queued'], ['expired', 'queued']])
  await live.tasking.tendTasks()
  expect(await statesOf(held_up)).toEqual(['expired', 'queued'])
})

test('SG-10 what a node says of a task that has expired meanwhile is heard', async () => {
  const allocation = await placedAllocation(live, node.id)
  const { id } = await queued(live.database, node.id, 'allocation.install_authorized_keys', 6, allocation)
  const run = randomUUID()
  await node.ask(waitForTasks, { params: { node_id: node.id }, query: { wait_seconds: 0, run } })
  await age(id, '2 hours')
  await live.tasking.tendTasks()
  const result = { outcome: 'completed', generation: 6, receipt: { applied_generation: 6, set_hash: 'none' } } as const
  const answered = await node.ask(reportTask, { params: { node_id: node.id, task_id: id }, body: signedResult(node.key, id, result) })
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
  expect((await live.ask('ada', retireNode, { params: { node_id: mine.id }, body: { reason: 'broken' } })).status).toBe(200)
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

test('SG-16 a set that takes the place of another waits for as long as that one did; what the node has answered counts no more', async () => {
  const allocation = await placedAllocation(live, node.id)
  const ask = (generation: number) => queued(live.database, node.id, 'allocation.install_authorized_keys', generation, allocation)
  const noted = () =>
    live.sql<{ resource_id: string; since: string }>(
      `select resource_id, metadata ->> 'since' as since from audit_logs
        where action = 'node.task.overdue' and resource_id in (select id::text from node_tasks where allocation_id = $1) order by id`,
      [allocation.id],
    )
  // Changed every half minute, so that no task ever grows a minute old.
  const first = await ask(11)
  await age(first.id, '70 seconds')
  const second = await ask(12)
  await age(second.id, '40 seconds')
  const third = await ask(13)
  const { overdue } = await live.tasking.tendTasks()
  expect(overdue).toBeGreaterThan(0)
  const [{ created_at }] = (await live.sql<{ created_at: Date }>('select created_at from node_tasks where id = $1', [first.id])) as [
    { created_at: Date },
  ]
  expect(await noted()).toEqual([{ resource_id: third.id, since: new Date(created_at).toISOString() }])
  // It was said of this waiting.
  await ask(14)
  await live.tasking.tendTasks()
  expect(await noted()).toHaveLength(1)
  // Answered: a new waiting begins with the next change, though older ones were never answered by themselves.
  await modelNode(live, node).settle()
  const last = await ask(15)
  await live.tasking.tendTasks()
  expect(await noted()).toHaveLength(1)
  await age(last.id, '61 seconds')
  await live.tasking.tendTasks()
  expect((await noted()).map(({ resource_id }) => resource_id)).toEqual([third.id, last.id])
})

test('SG-16 a probe is a task of the node’s, its answer is found in the list, and the keys of others are not', async () => {
  const mine = await enrolledNode(live)
  const allocation = await placedAllocation(live, mine.id)
  await queued(live.database, mine.id, 'allocation.install_authorized_keys', 4, allocation, { set_hash: 'canary-of-a-set' })
  const asked = await live.ask('ada', probeNode, { params: { node_id: mine.id }, headers: { 'x-request-id': 'probing' } })
  expect(asked).toMatchObject({ status: 202, body: { type: 'diag.health_probe', state: 'queued', allocation_id: null } })
  await modelNode(live, mine).settle()
  const first = await live.ask('ada', listNodeTasks, { params: { node_id: mine.id }, query: { limit: 1 } })
  expect(first.body.items).toMatchObject([{ id: asked.body.id, state: 'completed', result: { receipt: { facts: { kernel: 'model' } } } }])
  const rest = await live.ask('ada', listNodeTasks, { params: { node_id: mine.id }, query: { limit: 1, cursor: first.body.next_cursor! } })
  expect(rest.body.items).toMatchObject([{ type: 'allocation.install_authorized_keys' }])
  expect(rest.text).not.toContain(allocation.username)
  expect(rest.body.items[0]).not.toHaveProperty('params')
  expect(await live.auditOf('probing')).toMatchObject([
    { action: 'node.probe', resource_id: mine.id, metadata: { task_id: asked.body.id } },
  ])
  mine.stop()
})

test('SG-16 who may not, what there is not, and what is no more', async () => {
  expect((await live.ask('alice', probeNode, { params: { node_id: node.id } })).status).toBe(403)
  expect((await live.ask('alice', listNodeTasks, { params: { node_id: node.id } })).status).toBe(403)
  expect(await live.ask('ada', probeNode, { params: { node_id: randomUUID() } })).toMatchObject({
    status: 404,
    body: { code: 'node_not_found' },
  })
  expect((await live.ask('ada', listNodeTasks, { params: { node_id: randomUUID() } })).status).toBe(404)
  const { id } = await registeredNode(live)
  const unenrolled = await live.ask('ada', probeNode, { params: { node_id: id } })
  expect(unenrolled).toMatchObject({ status: 409, body: { details: { state: 'not_enrolled' } } })
  await live.ask('ada', retireNode, { params: { node_id: id }, body: { reason: 'never came' } })
  expect(await live.ask('ada', probeNode, { params: { node_id: id } })).toMatchObject({
    status: 409,
    body: { details: { state: 'retired' } },
  })
})
