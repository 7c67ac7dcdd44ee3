import type { SignedTask } from '@gatehouse/contract/node-tasks'
import { expect, test } from 'vitest'
import { keyOf } from '../../../../test/access-stage.ts'
import { sceneOn } from '../../../../test/allocation-scene.ts'
import { tendNow } from '../../../../test/allocation-tending.ts'
import { fixture } from '../../../../test/fixture.ts'
import { serverFixture } from '../../../../test/live-server.ts'

let is_failing = false
const live = serverFixture()
const scene = fixture(() =>
  sceneOn(live, 8, { fail: ({ type }) => (is_failing && type.endsWith('deprovision_user') ? 'busy' : undefined) }),
)

const tend = () => tendNow(live)
const tasksOf = async (id: string) => (await live.sql('select 1 from node_tasks where allocation_id = $1', [id])).length
const later = (id: string, seconds: number) =>
  live.sql(
    `update node_tasks set reported_at = reported_at - make_interval(secs => $2) where allocation_id = $1 and reported_at is not null`,
    [id, seconds],
  )

test('SG-11 SG-23 an account that could not be ended is asked for again by itself, less and less often, until it is', async () => {
  const own = await keyOf(live, 'asha')
  const id = await scene.active({ ssh_key_ids: [own.id] })
  is_failing = true
  await scene.release(id)
  await scene.node.step()
  expect((await scene.read(id)).state).toBe('release_failed')
  for (const pause of [60, 120, 240, 300, 300]) {
    const before = await tasksOf(id)
    await later(id, pause - 10)
    await tend()
    expect(await tasksOf(id)).toBe(before)
    await later(id, 11)
    await tend()
    expect(await tasksOf(id)).toBe(before + 1)
    await scene.node.step()
    expect(await scene.read(id)).toMatchObject({ state: 'release_failed', runtime_sync: { status: 'failed' } })
  }
  expect(scene.keysOn(id)).toEqual([own.fingerprint])
  is_failing = false
  await later(id, 301)
  await tend()
  await scene.node.settle()
  expect(await scene.read(id)).toMatchObject({ state: 'released', runtime_sync: { status: 'applied' } })
  expect(scene.node.held.get(id)).toMatchObject({ is_there: false, keys: [] })
})

test('SG-10 a node that says it has something later, and not what, is not asked all the time', async () => {
  const id = await scene.active()
  await scene.setKeys(id, [])
  const before = await tasksOf(id)
  for (let round = 0; round < 5; round += 1) {
    const tasks: SignedTask[] = (await scene.node.wait()).body.tasks
    for (const task of tasks) await scene.node.report(task, { outcome: 'superseded', generation: task.generation })
    await tend()
  }
  expect(await tasksOf(id)).toBe(before)
  await later(id, 61)
  await tend()
  expect(await tasksOf(id)).toBe(before + 1)
  await scene.node.settle()
  expect((await scene.read(id)).runtime_sync.status).toBe('applied')
})
