import { readAllocation, releaseAllocation } from '@gatehouse/contract/allocations'
import type { SignedTask } from '@gatehouse/contract/node-tasks'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { type AccessStage, accessStage } from '../../../../test/access-stage.ts'
import { tendNow } from '../../../../test/allocation-tending.ts'
import { type EnrolledNode, enrolledAnew } from '../../../../test/enrolled-node.ts'
import { serverFixture } from '../../../../test/live-server.ts'
import { modelNode } from '../../../../test/model-node.ts'

let stage: AccessStage
const machines: EnrolledNode[] = []
/** What the new machine cannot do at present. */
let failing: (task: SignedTask) => string | undefined
let stages = 0
const live = serverFixture()
// Each test has a node of its own: enrolling anew concerns all that lies there.
beforeEach(async () => {
  stages += 1
  failing = () => undefined
  stage = await accessStage(live, {}, { region: `eu-${stages}` })
  machines.push(stage.node)
})
afterAll(() => {
  for (const machine of machines) machine.stop()
})

const newMachine = async () => {
  const machine = await enrolledAnew(live, stage.node)
  machines.push(machine)
  return modelNode(live, machine, { fail: (task) => failing(task) })
}
const read = async (id: string) => (await live.ask('amara', readAllocation, { params: { allocation_id: id } })).body
const release = (id: string) => live.ask('asha', releaseAllocation, { params: { allocation_id: id }, body: {} })
const openTasks = async (id: string) =>
  (await stage.tasksOf(id)).filter(({ state }) => state === 'queued' || state === 'dispatched').map(({ type }) => type)
const asked = (tasks: readonly SignedTask[]) => tasks.map(({ type }) => type)

describe('a new machine in a node’s place', () => {
  test('SG-10 SG-20 gets all that it should hold, and nothing is said to be in force before it has said so itself', async () => {
    const [own, his, gone] = [await stage.key('asha'), await stage.key('axel'), await stage.key('axel')]
    const { id } = await stage.allocation('asha', [own])
    const grant = await stage.granted('asha', id, 'axel', his)
    const former = await stage.granted('asha', id, 'axel', gone)
    await stage.done(stage.revoke('asha', id, former.id), 200)
    await stage.model.settle()
    expect([(await read(id)).runtime_sync.status, (await stage.seen(id, grant.id)).runtime_sync.status]).toEqual(['applied', 'applied'])
    const before = Number((await stage.tasksOf(id)).at(-1)!.generation)

    const machine = await newMachine()
    expect(await read(id)).toMatchObject({ state: 'active', runtime_sync: { status: 'pending', generation: before + 2 } })
    expect(await stage.seen(id, grant.id)).toMatchObject({ state: 'active', runtime_sync: { status: 'pending', generation: before + 2 } })
    // Its key is on no machine: the former one confirmed that, and the new one has none.
    expect(await stage.seen(id, former.id)).toMatchObject({ state: 'revoked', runtime_sync: { status: 'applied' } })

    expect(asked(await machine.step())).toEqual(['allocation.provision_user'])
    expect([(await read(id)).runtime_sync.status, (await stage.seen(id, grant.id)).runtime_sync.status]).toEqual(['pending', 'pending'])
    expect(asked(await machine.step())).toEqual(['allocation.install_authorized_keys'])
    expect(machine.held.get(id)).toMatchObject({ is_there: true, keys: [own.fingerprint, his.fingerprint].sort() })
    expect(await read(id)).toMatchObject({ state: 'active', runtime_sync: { status: 'applied', generation: before + 2 } })
    expect(await stage.seen(id, grant.id)).toMatchObject({ runtime_sync: { status: 'applied', generation: before + 2 } })
    expect(await machine.step()).toEqual([])
    const [row, ...more] = await stage.recordOf('allocation.ask_again', id)
    expect(more).toEqual([])
    expect(row).toMatchObject({
      actor_type: 'node_agent',
      actor_id: stage.node.id,
      metadata: { because: 'node_enrolled', state: 'active' },
    })
  })

  test('SG-10 SG-23 ends what was to end, also what the former machine had under way', async () => {
    const leaving = await stage.allocation()
    expect((await release(leaving.id)).status).toBe(202)
    await stage.model.wait()
    const stuck = await stage.allocation('asha', [], false)
    expect((await release(stuck.id)).status).toBe(202)
    const { body } = await stage.model.wait()
    const ending: SignedTask = body.tasks.find(({ params }: SignedTask) => params.allocation_id === stuck.id)
    await stage.model.report(ending, { outcome: 'failed', generation: ending.generation, failure: 'busy' })
    expect((await read(stuck.id)).state).toBe('release_failed')
    const machine = await newMachine()
    for (const { id } of [leaving, stuck]) expect(await openTasks(id)).toEqual(['allocation.deprovision_user'])
    await machine.settle()
    for (const { id } of [leaving, stuck]) expect(await read(id)).toMatchObject({ state: 'released', failure: null })
  })

  test('SG-08 SG-10 makes what was being made: from the account on, with the first set once', async () => {
    const his = await stage.key('axel')
    const waiting = await stage.allocation('asha', [], false)
    const half = await stage.allocation('asha', [], false)
    const grant = await stage.granted('asha', half.id, 'axel', his)
    // The former machine has made one account and was told of its keys, and was told of the other account.
    const told = await stage.model.wait()
    const made = (told.body.tasks as SignedTask[]).find(({ params }) => params.allocation_id === half.id)!
    await stage.model.report(made, { outcome: 'completed', generation: made.generation })
    await stage.model.wait()

    const machine = await newMachine()
    expect(await openTasks(waiting.id)).toEqual(['allocation.provision_user'])
    expect(await openTasks(half.id)).toEqual(['allocation.provision_user', 'allocation.install_authorized_keys'])
    await machine.settle()
    expect([(await read(waiting.id)).state, (await read(half.id)).state]).toEqual(['active', 'active'])
    expect(machine.held.get(half.id)!.keys).toEqual([his.fingerprint])
    expect(await stage.seen(half.id, grant.id)).toMatchObject({ state: 'active', runtime_sync: { status: 'applied' } })
  })

  test('SG-10 one that cannot make the account is asked for it again, not for the keys alone', async () => {
    const own = await stage.key('asha')
    const { id } = await stage.allocation('asha', [own])
    failing = () => 'disk_full'
    const machine = await newMachine()
    await machine.settle()
    expect(await read(id)).toMatchObject({ state: 'active', runtime_sync: { status: 'failed' } })
    failing = () => undefined
    await live.sql(`update node_tasks set reported_at = reported_at - interval '2 minutes' where allocation_id = $1 and state = 'failed'`, [
      id,
    ])
    await tendNow(live)
    expect(await openTasks(id)).toEqual(['allocation.provision_user', 'allocation.install_authorized_keys'])
    await machine.settle()
    expect(machine.held.get(id)!.keys).toEqual([own.fingerprint])
    expect((await read(id)).runtime_sync.status).toBe('applied')
  })

  test('SG-11 SG-20 the word of the former machine counts for nothing any more', async () => {
    const { id } = await stage.allocation()
    await stage.granted('asha', id, 'axel', await stage.key('axel'))
    const { body } = await stage.model.wait()
    await newMachine()
    const late = await stage.model.perform(body.tasks[0])
    expect(late?.status).toBe(403)
    expect((await read(id)).runtime_sync.status).toBe('pending')
  })

  test('SG-22 many at once that enrol, release and grant come to an end, whoever is first', async () => {
    const made = await Promise.all([1, 2, 3, 4].map(() => stage.allocation('asha', [], false)))
    await stage.model.settle()
    const keys = await Promise.all(made.map(() => stage.key('axel')))
    const answers = await Promise.all([
      newMachine(),
      ...made.slice(0, 2).map(({ id }) => release(id)),
      ...made.map(({ id }, at) => stage.grant('asha', id, 'axel', keys[at]!)),
    ])
    const [machine, ...others] = answers
    expect((others as { status: number }[]).filter(({ status }) => status >= 500)).toEqual([])
    await (machine as Awaited<ReturnType<typeof newMachine>>).settle()
    for (const [at, { id }] of made.entries())
      expect(await read(id)).toMatchObject({ state: at < 2 ? 'released' : 'active', runtime_sync: { status: 'applied' } })
  })
})
