import { createAllocation, readAllocation, releaseAllocation } from '@gatehouse/contract/allocations'
import { retireNode } from '@gatehouse/contract/nodes'
import { expect, test } from 'vitest'
import { type AccessStage, accessStage } from '../../../../test/access-stage.ts'
import { tendingOf } from '../../../../test/allocation-tending.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'
import { tendAllocations } from '../allocations/tend-allocations.ts'
import { tendAccess } from './tend-access.ts'

const { project } = seeded
const live = serverFixture()

const tending = () => tendingOf(live)
const toldOf = async (stage: AccessStage, id: string, grant_id: string) => {
  const { state, runtime_sync } = await stage.seen(id, grant_id)
  return [state, runtime_sync.status]
}
const allocationOf = async (id: string) => (await live.ask('amara', readAllocation, { params: { allocation_id: id } })).body

test('SG-20 a node that is retired before it has said that nothing is left leaves grants that were never confirmed to be gone', async () => {
  const stage = await accessStage(live, { fail: ({ type }) => (type.endsWith('install_authorized_keys') ? 'fsync_failed' : undefined) })
  const his = await stage.key('axel')
  const { id } = await stage.allocation('asha', [], false)
  const grant = await stage.granted('asha', id, 'axel', his)
  await stage.model.step()
  await stage.model.step()
  expect(await allocationOf(id)).toMatchObject({ state: 'failed', failure: 'fsync_failed' })
  expect(await toldOf(stage, id, grant.id)).toEqual(['ending', 'pending'])
  await stage.done(live.ask('ada', retireNode, { params: { node_id: stage.node.id }, body: { reason: 'gone' } }), 200)
  expect(await toldOf(stage, id, grant.id)).toEqual(['ending', 'failed'])
  stage.stop()
})

test('SG-20 a node’s own word for what failed is no sign that the node is gone', async () => {
  const stage = await accessStage(live, {}, { region: 'eu-2' })
  const his = await stage.key('axel')
  const { id } = await stage.allocation()
  const grant = await stage.granted('asha', id, 'axel', his)
  await stage.model.settle()
  await live.ask('asha', releaseAllocation, { params: { allocation_id: id }, body: {} })
  const [task] = (await stage.model.wait()).body.tasks
  await stage.model.report(task, { outcome: 'failed', generation: task.generation, failure: 'node_retired' })
  expect(await toldOf(stage, id, grant.id)).toEqual(['ending', 'failed'])
  await live.ask('asha', releaseAllocation, { params: { allocation_id: id }, body: {} })
  await stage.model.settle()
  expect((await allocationOf(id)).state).toBe('released')
  expect(await toldOf(stage, id, grant.id)).toEqual(['revoked', 'applied'])
  stage.stop()
})

test('SG-20 after a restore nothing counts as applied until a node has been asked again, and everything can be read meanwhile', async () => {
  const stage = await accessStage(live, {}, { region: 'eu-3' })
  const his = await stage.key('axel')
  const body = { project_id: project.aurora, name: 'waits', region: 'nowhere', sku: 'h100', gpus: 1 }
  const waiting = await stage.done(live.ask('asha', createAllocation, { body }), 201)
  const early = await stage.granted('asha', waiting.id, 'axel', his)
  const { id } = await stage.allocation()
  const grant = await stage.granted('asha', id, 'axel', his)
  const former = await stage.granted('asha', id, 'axel', await stage.key('axel'))
  await stage.revoke('asha', id, former.id)
  await stage.model.settle()
  expect((await allocationOf(id)).runtime_sync.status).toBe('applied')
  expect(await toldOf(stage, id, former.id)).toEqual(['revoked', 'applied'])
  await live.sql('update installation set epoch = epoch + 1')
  // It never was on a node.
  expect(await toldOf(stage, waiting.id, early.id)).toEqual(['revoked', 'applied'])
  expect((await allocationOf(id)).runtime_sync.status).toBe('pending')
  expect(await toldOf(stage, id, grant.id)).toEqual(['ending', 'pending'])
  expect(await toldOf(stage, id, former.id)).toEqual(['ending', 'pending'])
  await live.tasking.tendSigners()
  await tendAccess(tending())
  await tendAllocations(tending())
  const [owed] = await live.sql('select epoch, (select epoch from installation) as now from allocations where id = $1', [id])
  expect(owed!.epoch).toBe(owed!.now)
  expect((await allocationOf(id)).runtime_sync.status).toBe('pending')
  stage.stop()
})

test('SG-20 of two tasks of one generation the later one says how it stands', async () => {
  let is_failing = false
  const stage = await accessStage(live, { fail: () => (is_failing ? 'disk_full' : undefined) }, { region: 'eu-4' })
  const seen = new Set<string>()
  for (let round = 0; round < 4; round += 1) {
    const { id } = await stage.allocation()
    const grant = await stage.granted('asha', id, 'axel', await stage.key('axel'))
    await stage.model.settle()
    await stage.revoke('asha', id, grant.id)
    await live.sql(
      `update node_tasks set created_at = created_at - interval '2 hours', expires_at = expires_at - interval '2 hours'
        where allocation_id = $1 and state = 'queued'`,
      [id],
    )
    // It is over, and signed anew with the same generation.
    await live.tasking.tendTasks()
    is_failing = true
    await stage.model.step()
    is_failing = false
    seen.add((await stage.seen(id, grant.id)).runtime_sync.status)
  }
  expect([...seen]).toEqual(['failed'])
  stage.stop()
})
