import { setTimeout as sleep } from 'node:timers/promises'
import type { SignedTask } from '@gatehouse/contract/node-tasks'
import { readNode, retireNode } from '@gatehouse/contract/nodes'
import pg from 'pg'
import { beforeEach, describe, expect, test } from 'vitest'
import { automationKey, keyOf } from '../../../../test/access-stage.ts'
import { sceneOn } from '../../../../test/allocation-scene.ts'
import { tendNow } from '../../../../test/allocation-tending.ts'
import { fixture } from '../../../../test/fixture.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'

const { org, project, user } = seeded

/** What the node cannot do at present. */
let failing: (task: SignedTask) => string | undefined
const live = serverFixture()
const scene = fixture(() => sceneOn(live, 64, { fail: (task) => failing(task) }))
beforeEach(() => {
  failing = () => undefined
})

const tend = () => tendNow(live)
const failingAt = (type: string) => (task: SignedTask) => (task.type === `allocation.${type}` ? 'disk_full' : undefined)
const takenOn = async (node_id: string) => (await live.ask('ada', readNode, { params: { node_id } })).body.gpus_taken
const generationsOf = (id: string) =>
  live.sql<{ type: string; generation: number; state: string }>(
    'select type, generation::float as generation, state from node_tasks where allocation_id = $1 order by generation, id',
    [id],
  )

describe('a node that cannot', () => {
  test.for(['provision_user', 'install_authorized_keys'])(
    'SG-11 SG-23 %s fails: so does the allocation, its access ends, and its place is free when it is put away',
    async (type) => {
      const [own, granted] = [await keyOf(live, 'asha'), await keyOf(live, 'axel')]
      const taken = await takenOn(scene.node.id)
      const { body } = await scene.ask({ ssh_key_ids: [own.id], gpus: 3 })
      await scene.grant(body.id, user('axel'), granted.id)
      failing = failingAt(type)
      await scene.node.step()
      if (type === 'install_authorized_keys') await scene.node.step()
      expect(await scene.read(body.id)).toMatchObject({ state: 'failed', failure: 'disk_full', ssh_key_ids: [] })
      const ends = await live.sql('select end_cause from allocation_access_grants where allocation_id = $1', [body.id])
      expect(ends).toEqual([{ end_cause: 'allocation_failed' }])
      expect(await takenOn(scene.node.id)).toBe(taken + 3)
      const again = await scene.release(body.id)
      expect([again.status, again.body.details]).toEqual([409, { state: 'failed' }])
      failing = () => undefined
      await scene.node.settle()
      expect(await takenOn(scene.node.id)).toBe(taken)
      expect((await scene.read(body.id)).state).toBe('failed')
      expect(scene.node.held.get(body.id)).toMatchObject({ is_there: false, keys: [] })
    },
  )

  test('SG-23 S11 a release that fails keeps the place until one succeeds; access is over all the while', async () => {
    const own = await keyOf(live, 'asha')
    const taken = await takenOn(scene.node.id)
    const id = await scene.active({ ssh_key_ids: [own.id], gpus: 5 })
    failing = failingAt('deprovision_user')
    await scene.release(id)
    expect(await takenOn(scene.node.id)).toBe(taken + 5)
    await scene.node.step()
    expect(await scene.read(id)).toMatchObject({
      state: 'release_failed',
      failure: 'disk_full',
      ssh_key_ids: [],
      runtime_sync: { status: 'failed' },
    })
    expect(await takenOn(scene.node.id)).toBe(taken + 5)
    failing = () => undefined
    const again = await scene.release(id)
    expect([again.status, again.body.state]).toEqual([202, 'releasing'])
    await scene.node.settle()
    expect(await scene.read(id)).toMatchObject({ state: 'released', failure: null })
    expect(await takenOn(scene.node.id)).toBe(taken)
  })

  test('SG-10 SG-20 a set that an active one’s node could not apply is said to have failed, and is asked for again until it is applied', async () => {
    const own = await keyOf(live, 'asha')
    const id = await scene.active()
    failing = failingAt('install_authorized_keys')
    await scene.setKeys(id, [own.id])
    await scene.node.step()
    expect(await scene.read(id)).toMatchObject({ state: 'active', runtime_sync: { status: 'failed', generation: 3 } })
    failing = () => undefined
    await tend()
    await scene.node.settle()
    // Not at once: a node that cannot is not asked all the time.
    expect((await scene.read(id)).runtime_sync.status).toBe('failed')
    await live.sql(`update node_tasks set reported_at = reported_at - interval '2 minutes' where allocation_id = $1 and state = 'failed'`, [
      id,
    ])
    await tend()
    await tend()
    await scene.node.settle()
    expect((await scene.read(id)).runtime_sync).toMatchObject({ status: 'applied', generation: 4 })
    expect(scene.keysOn(id)).toEqual([own.fingerprint])
  })

  test('SG-20 what the node found changed and put right is noted', async () => {
    const id = await scene.active()
    await scene.setKeys(id, [])
    const told = await scene.node.wait()
    const [task] = told.body.tasks as SignedTask[]
    const receipt = { applied_generation: task!.generation, set_hash: task!.params.set_hash as string, drift_found: true }
    await scene.node.report(task!, { outcome: 'completed', generation: task!.generation, receipt })
    const rows = await live.sql(`select severity from audit_logs where action = 'allocation.ssh_keys.restore' and resource_id = $1`, [id])
    expect(rows).toEqual([{ severity: 'warning' }])
  })
})

describe('a node that is gone', () => {
  test('SG-11 SG-20 SG-23 retired: what lies there has failed, all access is over, and nothing more is placed there', async () => {
    const own = await sceneOn(live, 8)
    const [key, granted] = [await keyOf(live, 'asha'), await keyOf(live, 'axel')]
    const id = await own.active({ ssh_key_ids: [key.id] })
    await own.grant(id, user('axel'), granted.id)
    const { body: leaving } = await own.ask()
    await own.release(leaving.id)
    expect((await live.ask('ada', retireNode, { params: { node_id: own.node.id }, body: { reason: 'fire' } })).status).toBe(200)
    const failed = await own.read(id)
    expect(failed).toMatchObject({ state: 'failed', failure: 'node_retired', ssh_key_ids: [], runtime_sync: { status: 'failed' } })
    expect((await own.read(leaving.id)).state).toBe('failed')
    expect(await live.sql('select end_cause from allocation_access_grants where allocation_id = $1', [id])).toEqual([
      { end_cause: 'node_retired' },
    ])
    expect(await takenOn(own.node.id)).toBe(0)
    expect((await own.ask()).body.state).toBe('requested')
    const [row] = await live.sql(`select severity, tenant_id from audit_logs where action = 'allocation.fail' and resource_id = $1`, [id])
    expect(row).toEqual({ severity: 'high', tenant_id: org.aurora })
    // Nothing is asked of it any more.
    await tend()
    expect((await generationsOf(id)).filter(({ state }) => state === 'queued')).toEqual([])
  })

  test('SG-20 retired: nothing is said to be in force there, although the node had confirmed it; what it had put away stays so', async () => {
    const own = await sceneOn(live, 8)
    const id = await own.active()
    const gone = await own.active()
    await own.release(gone)
    await own.node.settle()
    expect((await own.read(id)).runtime_sync.status).toBe('applied')
    expect((await live.ask('ada', retireNode, { params: { node_id: own.node.id }, body: { reason: 'sold' } })).status).toBe(200)
    expect(await own.read(id)).toMatchObject({ state: 'failed', failure: 'node_retired', runtime_sync: { status: 'failed' } })
    expect(await own.read(gone)).toMatchObject({ state: 'released', runtime_sync: { status: 'applied' } })
  })

  test('SG-23 asked for while a node is being retired: nothing comes to lie on it', async () => {
    const own = await sceneOn(live, 8)
    const holder = new pg.Client({ connectionString: live.clone.ownerUrl })
    await holder.connect()
    // Retiring has looked at what lies there, and waits for the node itself.
    await holder.query('begin')
    await holder.query('select id from nodes where id = $1 for share', [own.node.id])
    const retiring = live.ask('ada', retireNode, { params: { node_id: own.node.id }, body: { reason: 'race' } })
    const isWaiting = async () =>
      (
        await live.sql(
          `select 1 from pg_locks l join pg_stat_activity s using (pid) where not l.granted and s.datname = current_database()`,
        )
      ).length > 0
    while (!(await isWaiting())) await sleep(10)
    const asking = own.ask()
    await sleep(300)
    await holder.query('rollback')
    await holder.end()
    expect((await retiring).status).toBe(200)
    // Who waits for a lock too long gives back what they hold and tries again: then it came first, and ended with the node.
    const { state, node_id } = await own.read((await asking).body.id)
    expect([
      ['requested', null],
      ['failed', own.node.id],
    ]).toContainEqual([state, node_id])
  })
})

describe('an organization or a project that rests', () => {
  test.for([
    ['organization', 'ada', `/api/v1/orgs/${org.aurora}/suspend`, `/api/v1/orgs/${org.aurora}/resume`],
    ['project', 'alice', `/api/v1/projects/${project.aurora}/archive`, `/api/v1/projects/${project.aurora}/restore`],
  ] as const)('SG-06 nobody enters while the %s rests, and afterwards those do who still may', async ([, who, down, up]) => {
    const [own, robot, granted] = [await keyOf(live, 'asha'), await automationKey(live), await keyOf(live, 'axel')]
    const id = await scene.active({ ssh_key_ids: [own.id, robot.id] })
    await scene.grant(id, user('axel'), granted.id)
    await scene.node.settle()
    const all = [own, robot, granted].map(({ fingerprint }) => fingerprint).sort()
    expect(scene.keysOn(id)).toEqual(all)
    const { body: young } = await scene.ask({ ssh_key_ids: [own.id] })
    expect((await live.call(who, 'POST', down, { body: { reason: 'test' } })).status).toBe(200)
    await scene.node.settle()
    expect(scene.keysOn(id)).toEqual([])
    // Also what was not there yet: its first set is empty.
    expect(scene.node.held.get(young.id)).toMatchObject({ is_there: true, keys: [] })
    expect((await live.call(who, 'POST', up, { body: { reason: 'test' } })).status).toBe(200)
    await scene.node.settle()
    expect(scene.keysOn(id)).toEqual(all)
    expect(scene.keysOn(young.id)).toEqual([own.fingerprint])
  })
})

describe('what is asked again', () => {
  test('SG-10 a task that was over before it was done is followed by the next generation', async () => {
    const { body } = await scene.ask()
    await live.sql(`update node_tasks set state = 'expired' where allocation_id = $1`, [body.id])
    await tend()
    await tend()
    expect(await generationsOf(body.id)).toEqual([
      { type: 'allocation.provision_user', generation: 1, state: 'expired' },
      { type: 'allocation.provision_user', generation: 2, state: 'queued' },
    ])
    await scene.node.settle()
    expect((await scene.read(body.id)).state).toBe('active')
    await scene.release(body.id)
    await live.sql(`update node_tasks set state = 'expired' where allocation_id = $1 and state = 'queued'`, [body.id])
    await tend()
    await scene.node.settle()
    expect((await scene.read(body.id)).state).toBe('released')
    const [row] = await live.sql<{ n: number; who: string }>(
      `select count(*)::int as n, min(actor_id) as who from audit_logs where action = 'allocation.ask_again' and resource_id = $1`,
      [body.id],
    )
    expect(row).toEqual({ n: 2, who: 'allocation_tending' })
  })

  test('SG-10 after a restore generations go on far beyond what a node has seen, and no key of the time before comes back', async () => {
    const own = await keyOf(live, 'asha')
    const id = await scene.active({ ssh_key_ids: [own.id] })
    const { body: young } = await scene.ask({ ssh_key_ids: [own.id] })
    // The node has seen much that this database knows nothing of.
    scene.node.held.set(id, { ...scene.node.held.get(id)!, generation: 700 })
    await live.sql('update installation set epoch = epoch + 1')
    await live.tasking.tendSigners()
    // Whatever is sent first has no key of the time before in it, also if nobody has tidied up yet.
    const granted = await keyOf(live, 'axel')
    expect((await scene.grant(id, user('axel'), granted.id)).status).toBe(201)
    const [sent] = await live.sql<{ keys: string }>(
      `select jsonb_path_query_array(params, '$.keys[*].fingerprint') as keys from node_tasks where allocation_id = $1 order by generation desc limit 1`,
      [id],
    )
    expect(sent!.keys).toEqual([granted.fingerprint])
    await tend()
    await live.tasking.tendTasks()
    expect((await generationsOf(id)).at(-1)).toMatchObject({ type: 'allocation.install_authorized_keys', generation: 1_000_000_004 })
    expect((await generationsOf(young.id)).at(-1)).toMatchObject({ type: 'allocation.provision_user', generation: 1_000_000_002 })
    expect((await scene.read(id)).ssh_key_ids).toEqual([])
    const ends = await live.sql('select end_cause from allocation_ssh_public_keys where allocation_id = $1', [id])
    expect(ends).toEqual([{ end_cause: 'backup_restored' }])
    expect((await scene.setKeys(id, [own.id])).body.runtime_sync.generation).toBe(1_000_000_005)
    await tend()
    expect((await generationsOf(id)).at(-1)).toMatchObject({ generation: 1_000_000_005 })
  })
})
