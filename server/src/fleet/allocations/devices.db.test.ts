import { revokeAccessGrant } from '@gatehouse/contract/access-grants'
import type { NodeDescription } from '@gatehouse/contract/node-description'
import type { TaskType } from '@gatehouse/contract/node-tasks'
import { readNode, retireNode } from '@gatehouse/contract/nodes'
import { describe, expect, test } from 'vitest'
import { systemProof } from '#rails/authz/authorize.ts'
import { keyOf } from '../../../../test/access-stage.ts'
import { type Scene, sceneOn } from '../../../../test/allocation-scene.ts'
import { tendNow } from '../../../../test/allocation-tending.ts'
import { enrolledAnew } from '../../../../test/enrolled-node.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'
import { holdDevices } from './device-queries.ts'

/** The same product as three processes. */
let doors: readonly string[]
const live = serverFixture({}, async (live) => {
  doors = [live.url, (await live.replica()).url, (await live.replica()).url]
})
const tend = () => tendNow(live)

const gpu = (index: number) => ({ index, paths: [`/dev/nvidia${index}`] })
const shared = ['/dev/nvidia-uvm', '/dev/nvidiactl']
const description = (count: number, more: Partial<NodeDescription> = {}): NodeDescription => ({
  devices: Array.from({ length: count }, (_, index) => gpu(index)),
  shared_devices: shared,
  ssh_host: 'gpu-001.example',
  ssh_port: 22,
  ssh_host_keys: [`ssh-ed25519 ${'A'.repeat(68)}`],
  ...more,
})

/** A scene whose node speaks version 2 and has said which GPUs it has. */
const described = async (gpus: number, said = description(gpus)): Promise<Scene> => {
  const scene = await sceneOn(live, gpus)
  scene.node.speak(2)
  await scene.node.settle()
  const { status, text } = await scene.node.describe(said)
  if (status !== 200) throw new Error(text)
  return scene
}

const install = 'allocation.install_authorized_keys'
const provision = 'allocation.provision_user'
const membersOf = ({ node }: Scene, type: TaskType, id: string) => Object.keys(node.lastTask(type, id)?.params ?? {}).sort()
const devicesOf = ({ node }: Scene, id: string, type: TaskType = install) => node.lastTask(type, id)?.params.devices
const indexesOf = async (scene: Scene, ids: readonly string[]) => Promise.all(ids.map(async (id) => (await scene.read(id)).device_indexes))
const recorded = (action: string, id: string) =>
  live.sql<{ severity: string; metadata: Record<string, unknown> }>(
    'select severity, metadata from audit_logs where action = $1 and resource_id = $2 order by seq',
    [action, id],
  )

describe('which GPUs an allocation has', () => {
  test('SG-24 allocation.create: node has said its devices → own indexes, told to the node with the paths of these and of nothing else', async () => {
    const scene = await described(8)
    const ids = [await scene.active({ gpus: 2 }), await scene.active({ gpus: 1 })]
    expect(await indexesOf(scene, ids)).toEqual([[0, 1], [2]])
    for (const type of [provision, install] as const) {
      expect(devicesOf(scene, ids[0]!, type)).toEqual([...shared.slice(0, 1), '/dev/nvidia0', '/dev/nvidia1', ...shared.slice(1)].sort())
      expect(devicesOf(scene, ids[1]!, type)).toEqual([...shared, '/dev/nvidia2'].sort())
    }
    expect(await recorded('allocation.provision', ids[1]!)).toMatchObject([{ metadata: { device_indexes: [2] } }])
  })

  test('SG-24 allocation.release: node has not confirmed → indexes stay held; confirmed → another has them', async () => {
    const scene = await described(2)
    const first = await scene.active({ gpus: 1 })
    const second = await scene.active({ gpus: 1 })
    await scene.release(first)
    expect((await scene.ask({ gpus: 1 })).body.state).toBe('requested')
    expect(await indexesOf(scene, [first, second])).toEqual([[0], [1]])
    await scene.node.settle()
    await tend()
    await scene.node.settle()
    expect(await indexesOf(scene, [first, second])).toEqual([null, [1]])
    const held = await live.sql('select device_index from allocation_devices where node_id = $1 and released_at is null order by 1', [
      scene.node.id,
    ])
    expect(held).toEqual([{ device_index: 0 }, { device_index: 1 }])
  })

  test('SG-24 placement: nine ask at three servers at once for four GPUs → each index is given once, whoever asks', async () => {
    for (let round = 0; round < 4; round += 1) {
      const scene = await described(4)
      const asked = await Promise.all(
        Array.from({ length: 9 }, (_, at) => {
          const door = doors[at % doors.length]
          return at % 2 === 0
            ? scene.ask({ gpus: 1 }, 'asha', {}, door)
            : scene.ask({ gpus: 1, project_id: seeded.project.borealis }, 'birgit', {}, door)
        }),
      )
      const given = asked.flatMap(({ body }) => body.device_indexes ?? [])
      expect(given.toSorted()).toEqual([0, 1, 2, 3])
      expect(asked.filter(({ body }) => body.state === 'requested')).toHaveLength(5)
    }
  })

  test('SG-24 control: two that take the same index past the code at once → the table lets one of them', async () => {
    const scene = await described(2)
    const ids = [await scene.active({ gpus: 1 }), await scene.active({ gpus: 1 })]
    await live.sql('delete from allocation_devices where node_id = $1', [scene.node.id])
    // Without the lock that everybody takes who places: the second sees the same one free while the first has not committed.
    const held = Promise.withResolvers<void>()
    const go = Promise.withResolvers<void>()
    const hold = (id: string, then: () => Promise<void>) =>
      live.database.transaction('write', async (tx) => {
        await tx.many(holdDevices(systemProof('node_tending', 'allocation.create', {}), id, tx.now))
        await then()
      })
    const first = hold(ids[0]!, () => {
      held.resolve()
      return go.promise
    })
    await held.promise
    const second = hold(ids[1]!, async () => {})
    const waiting = `select from pg_locks l join pg_stat_activity a on a.pid = l.pid and a.datname = current_database() where not l.granted limit 1`
    await expect.poll(() => live.sql(waiting)).toHaveLength(1)
    go.resolve()
    const taken = await Promise.allSettled([first, second])
    const refused = taken.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
    expect(refused.map((error) => JSON.stringify(error, Object.getOwnPropertyNames(error)))).toEqual([
      expect.stringContaining('allocation_devices_held_once'),
    ])
  })

  test.for([
    ['GPUs', description(2), ['/dev/nvidia0', ...shared].sort()],
    ['that it has none', description(0), undefined],
  ] as const)(
    'SG-24 placement: node of version 2 has not described itself → sessions open no GPU; it says %s → as it says',
    async ([, said, opened]) => {
      const scene = await sceneOn(live, 2)
      scene.node.speak(2)
      await scene.node.settle()
      const id = await scene.active({ gpus: 1 })
      expect([devicesOf(scene, id, provision), devicesOf(scene, id)]).toEqual([[], []])
      await scene.node.describe(said)
      await scene.node.settle()
      expect(devicesOf(scene, id)).toEqual(opened)
    },
  )

  test('SG-24 placement: node says fewer GPUs than it was registered with → no more is placed than it says', async () => {
    const scene = await described(4, description(1))
    expect((await scene.ask({ gpus: 2 })).body.state).toBe('requested')
    expect((await scene.ask({ gpus: 1 })).body).toMatchObject({ state: 'provisioning', device_indexes: [0] })
    expect((await scene.ask({ gpus: 1 })).body.state).toBe('requested')
  })

  test('SG-24 node.retire: GPUs of what lay there are held by nobody', async () => {
    const scene = await described(2)
    const id = await scene.active({ gpus: 2 })
    const held = () => live.sql('select from allocation_devices where allocation_id = $1 and released_at is null', [id])
    expect(await held()).toHaveLength(2)
    await live.ask('ada', retireNode, { params: { node_id: scene.node.id as never }, body: { reason: 'sold' } })
    expect(await held()).toHaveLength(0)
  })
})

describe('what a node says later', () => {
  test('SG-24 node.describe: first word after a placement → those there get indexes in their order, and are sent anew', async () => {
    const scene = await sceneOn(live, 4)
    const ids = [await scene.active({ gpus: 1 }), await scene.active({ gpus: 2 })]
    expect(await indexesOf(scene, ids)).toEqual([null, null])
    scene.node.speak(2)
    await scene.node.settle()
    expect(devicesOf(scene, ids[0]!)).toEqual([])
    await scene.node.describe(description(4))
    expect((await scene.read(ids[0]!)).runtime_sync.status).toBe('pending')
    await scene.node.settle()
    expect(await indexesOf(scene, ids)).toEqual([[0], [1, 2]])
    expect(devicesOf(scene, ids[1]!)).toEqual([...shared, '/dev/nvidia1', '/dev/nvidia2'].sort())
    expect((await scene.read(ids[0]!)).runtime_sync.status).toBe('applied')
    expect(await recorded('allocation.devices.give', ids[1]!)).toMatchObject([{ severity: 'info', metadata: { device_indexes: [1, 2] } }])
  })

  test('SG-24 node.describe: fewer GPUs than are placed → the last has none, opens none, and that is recorded as high', async () => {
    const scene = await sceneOn(live, 4)
    const ids = [await scene.active({ gpus: 1 }), await scene.active({ gpus: 2 })]
    scene.node.speak(2)
    await scene.node.describe(description(2))
    await scene.node.settle()
    expect(await indexesOf(scene, ids)).toEqual([[0], null])
    expect(devicesOf(scene, ids[1]!)).toEqual([])
    expect(await recorded('allocation.devices.give', ids[1]!)).toMatchObject([
      { severity: 'high', metadata: { gpus: 2, device_indexes: [] } },
    ])
  })

  test('SG-24 node.describe: a GPU is gone, then all are → its holder keeps the index and opens no other; back → as before', async () => {
    const scene = await described(2)
    const ids = [await scene.active({ gpus: 1 }), await scene.active({ gpus: 1 })]
    await scene.node.describe({ ...description(2), devices: [gpu(1)] })
    await scene.node.settle()
    expect([devicesOf(scene, ids[0]!), devicesOf(scene, ids[1]!)]).toEqual([shared, [...shared, '/dev/nvidia1'].sort()])
    await scene.node.describe({ ...description(2), devices: [], shared_devices: [] })
    await scene.node.settle()
    expect([devicesOf(scene, ids[0]!), devicesOf(scene, ids[1]!)]).toEqual([[], []])
    await scene.node.describe(description(2))
    await scene.node.settle()
    expect(await indexesOf(scene, ids)).toEqual([[0], [1]])
    expect(devicesOf(scene, ids[0]!)).toEqual([...shared, '/dev/nvidia0'].sort())
  })

  test('SG-24 node.describe: only another address → nothing is sent anew', async () => {
    const scene = await described(2)
    const id = await scene.active({ gpus: 1 })
    const { runtime_sync } = await scene.read(id)
    await scene.node.describe(description(2, { ssh_host: 'elsewhere.example' }))
    expect((await scene.read(id)).runtime_sync).toEqual(runtime_sync)
  })
})

describe('a node of version 1', () => {
  const account = ['allocation_id', 'username']
  const asOf1 = { [provision]: account, [install]: [...account, 'keys', 'set_hash'].sort() } as const

  test('SG-24 agent of 0.1.0: it is given the members that it knows and no others, and is placed on as before', async () => {
    const scene = await sceneOn(live, 4)
    const id = await scene.active({ gpus: 2 })
    for (const type of [provision, install] as const) expect(membersOf(scene, type, id)).toEqual(asOf1[type])
    expect((await scene.read(id)).device_indexes).toBeNull()
    await scene.release(id)
    await scene.node.settle()
    expect((await scene.read(id)).state).toBe('released')
    expect((await live.ask('ada', readNode, { params: { node_id: scene.node.id as never } })).body.protocol_version).toBe(1)
  })

  test('SG-24 agent put back to 0.1.0: what was sent in the words of version 2 and waits → comes in those of version 1, at the first wait', async () => {
    const scene = await described(4)
    const id = await scene.active({ gpus: 2 })
    await scene.setKeys(id, [])
    scene.node.speak(1)
    await scene.node.settle()
    expect(scene.node.refused).toEqual([])
    expect(membersOf(scene, install, id)).toEqual(asOf1[install])
    expect((await scene.read(id)).runtime_sync.status).toBe('applied')
    // The index stays held: a later agent keeps it again.
    expect((await scene.read(id)).device_indexes).toEqual([0, 1])
    scene.node.speak(2)
    await scene.node.settle()
    expect(devicesOf(scene, id)).toEqual([...shared, '/dev/nvidia0', '/dev/nvidia1'].sort())
  })

  test('SG-24 node.enrol: another machine of version 1 in the place of one of version 2 → it is asked in its own words', async () => {
    const scene = await described(2)
    const id = await scene.active({ gpus: 1 })
    const machine = await enrolledAnew(live, scene.machine)
    const rows = await live.sql<{ params: object }>(
      `select params from node_tasks where allocation_id = $1 and state in ('queued', 'dispatched') order by generation`,
      [id],
    )
    expect(rows.map(({ params }) => Object.keys(params).sort())).toEqual([asOf1[provision], asOf1[install]])
    machine.stop()
  })
})

describe('where to log in', () => {
  test('SG-24 allocation.read: owner and people with a grant that counts → host, port and keys; others, and when it ends → null', async () => {
    const scene = await described(2)
    const id = await scene.active({ gpus: 1 })
    const ssh = { host: 'gpu-001.example', port: 22, host_keys: description(1).ssh_host_keys }
    expect((await scene.read(id)).ssh).toEqual(ssh)
    expect((await scene.read(id, 'amara')).ssh).toBeNull()
    expect((await scene.read(id, 'aldo')).ssh).toBeNull()
    const { id: ssh_key_id } = await keyOf(live, 'aldo')
    const grant = await scene.grant(id, seeded.user('aldo'), ssh_key_id)
    expect((await scene.read(id, 'aldo')).ssh).toEqual(ssh)
    await live.ask('amara', revokeAccessGrant, { params: { allocation_id: id as never, grant_id: grant.body.id }, body: {} })
    expect((await scene.read(id, 'aldo')).ssh).toBeNull()
    await scene.node.describe(description(2, { ssh_host_keys: [] }))
    expect((await scene.read(id)).ssh).toBeNull()
    await scene.node.describe(description(2))
    expect((await scene.read(id)).ssh).toEqual(ssh)
    await scene.release(id)
    expect((await scene.read(id)).ssh).toBeNull()
  })
})
