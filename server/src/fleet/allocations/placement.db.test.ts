import { listAllocations } from '@gatehouse/contract/allocations'
import { drainNode, readNode, undrainNode } from '@gatehouse/contract/nodes'
import { expect, test } from 'vitest'
import { sceneOn } from '../../../../test/allocation-scene.ts'
import { tendNow } from '../../../../test/allocation-tending.ts'
import { registeredNode } from '../../../../test/enrolled-node.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'

/** The same product as three processes. */
let doors: readonly string[]
const live = serverFixture({}, async (live) => {
  doors = [live.url, (await live.replica()).url, (await live.replica()).url]
})

const tend = () => tendNow(live)
const takenOn = async (node_id: string) => (await live.ask('ada', readNode, { params: { node_id } })).body.gpus_taken

test('SG-23 whoever asks for the last ones at the same moment, at whichever server: they are given once, and the others wait', async () => {
  for (let round = 0; round < 6; round += 1) {
    const scene = await sceneOn(live, 3)
    // Of two organizations: those of one wait for each other anyway.
    const asked = await Promise.all(
      Array.from({ length: 9 }, (_, at) => {
        const door = doors[at % doors.length]
        return at % 2 === 0
          ? scene.ask({ gpus: 2 }, 'asha', {}, door)
          : scene.ask({ gpus: 2, project_id: seeded.project.borealis }, 'birgit', {}, door)
      }),
    )
    expect(asked.map(({ status }) => status)).toEqual(asked.map(() => 201))
    const states = asked.map(({ body }) => body.state)
    const placed = states.filter((state) => state === 'provisioning').length
    expect([placed, states.filter((state) => state === 'requested').length]).toEqual([1, 8])
    expect(await takenOn(scene.node.id)).toBe(2)
  }
})

test('SG-23 what waits is placed when there is room, the first first, and that is not before the node has confirmed that nothing is left', async () => {
  const scene = await sceneOn(live, 2)
  const id = await scene.active({ gpus: 2 })
  const waiting = [await scene.ask({ gpus: 2 }), await scene.ask({ gpus: 2 })].map(({ body }) => body)
  expect(waiting.map(({ state }) => state)).toEqual(['requested', 'requested'])
  await scene.release(id)
  await tend()
  expect([(await scene.read(waiting[0]!.id)).state, (await scene.ask({ gpus: 1 })).body.state]).toEqual(['requested', 'requested'])
  await scene.node.settle()
  // Several may look after it at the same moment.
  await Promise.all([tend(), tend(), tend()])
  await scene.node.settle()
  expect([(await scene.read(waiting[0]!.id)).state, (await scene.read(waiting[1]!.id)).state]).toEqual(['active', 'requested'])
  expect(await takenOn(scene.node.id)).toBe(2)
})

test('SG-09 SG-23 only on a node of that region and model that has enrolled and is not drained; where it fits best', async () => {
  const scene = await sceneOn(live, 8)
  const small = await sceneOn(live, 2)
  await live.sql('update nodes set region = $1 where id = $2', [scene.pool.region, small.node.id])
  await registeredNode(live, { ...scene.pool, gpus: 1 })
  expect((await scene.ask({ gpus: 1 })).body.node_id).toBe(small.node.id)
  expect((await scene.ask({ gpus: 8 })).body.node_id).toBe(scene.node.id)
  for (const wish of [{ region: 'elsewhere' }, { sku: 'a100' }, { gpus: 2 }]) expect((await scene.ask(wish)).body.state).toBe('requested')
  await live.ask('ada', drainNode, { params: { node_id: small.node.id }, body: { reason: 'test' } })
  expect((await scene.ask({ gpus: 1 })).body.state).toBe('requested')
  await live.ask('ada', undrainNode, { params: { node_id: small.node.id }, body: { reason: 'test' } })
  await tend()
  const names = await live.sql<{ username_on_node: string }>('select username_on_node from allocations where username_on_node is not null')
  expect(new Set(names.map(({ username_on_node }) => username_on_node)).size).toBe(names.length)
  expect(await takenOn(small.node.id)).toBe(2)
})

test('SG-09 allocation: none of the nodes could ever serve it → waits_for says so, until a node is registered that could', async () => {
  const scene = await sceneOn(live, 2)
  const waitsFor = async (wish: object) => (await scene.ask(wish)).body.waits_for
  expect(await waitsFor({ gpus: 2 })).toBeNull()
  expect(await waitsFor({ gpus: 2 })).toBe('free_gpus')
  expect(await waitsFor({ gpus: 3 })).toBe('suitable_node')
  expect(await waitsFor({ gpus: 1, region: 'atlantis' })).toBe('suitable_node')
  const { body } = await scene.ask({ gpus: 1, sku: 'abacus' })
  expect(body.waits_for).toBe('suitable_node')
  await registeredNode(live, { ...scene.pool, sku: 'abacus', gpus: 1 })
  expect((await scene.read(body.id)).waits_for).toBe('free_gpus')
  await live.sql(`update nodes set status = 'retired', retired_at = now(), retired_by = $1, retire_reason = 'gone' where sku = 'abacus'`, [
    seeded.user('ada'),
  ])
  expect((await scene.read(body.id)).waits_for).toBe('suitable_node')
  const { items } = (await live.ask('asha', listAllocations, { query: { project_id: seeded.project.aurora, limit: 200 } })).body
  const listed = new Set<string | null>()
  for (const { id, waits_for } of items) {
    expect(waits_for).toBe((await scene.read(id)).waits_for)
    listed.add(waits_for)
  }
  expect(listed).toEqual(new Set([null, 'free_gpus', 'suitable_node']))
})
