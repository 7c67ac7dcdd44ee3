import { randomUUID } from 'node:crypto'
import { readAllocation, releaseAllocation, replaceAllocationSshKeys } from '@gatehouse/contract/allocations'
import { type NodeEvent, reportNodeEvents } from '@gatehouse/contract/node-events'
import { describe, expect, test } from 'vitest'
import { stageFixture } from '../../../../test/access-stage.ts'
import { tendNow } from '../../../../test/allocation-tending.ts'
import { serverFixture } from '../../../../test/live-server.ts'

/** Why the node cannot put keys in force; nothing while it can. */
let failure: string | undefined
const live = serverFixture()
const stage = stageFixture(live, { fail: ({ type }) => (type === 'allocation.install_authorized_keys' ? failure : undefined) })

const told = async (allocation_id: string, kind: NodeEvent['kind'], more: Partial<NodeEvent>) => {
  const generation = stage.model.held.get(allocation_id)?.generation ?? 0
  const event = { event_id: randomUUID(), kind, at: new Date().toISOString(), allocation_id, generation, ...more }
  const { status, text } = await stage.node.ask(reportNodeEvents, { params: { node_id: stage.node.id }, body: { events: [event] } })
  expect([status, text]).toEqual([200, expect.stringContaining('accepted')])
}
const found = (id: string, why: string) => told(id, 'drift_found', { failure: why })
const asked = async (id: string) => (await stage.tasksOf(id)).map(({ type }) => type.replace('allocation.', ''))
const syncOf = async (id: string) => (await live.ask('asha', readAllocation, { params: { allocation_id: id } })).body.runtime_sync.status
const later = (id: string, seconds: number) =>
  live.sql(
    'update node_tasks set reported_at = reported_at - make_interval(secs => $2) where allocation_id = $1 and reported_at is not null',
    [id, seconds],
  )
const tend = () => tendNow(live)

const peopled = async () => {
  const [hers, his] = [await stage.key('asha'), await stage.key('axel')]
  const { id } = await stage.allocation('asha', [hers])
  const grant = await stage.granted('asha', id, 'axel', his)
  await stage.model.settle()
  const both = async () => [await syncOf(id), (await stage.seen(id, grant.id)).runtime_sync.status]
  expect(await both()).toEqual(['applied', 'applied'])
  return { id, both }
}

describe('what a node says is not as it should be', () => {
  test('SG-20 I7 is said to be applied no longer, and again when the node has confirmed it anew', async () => {
    const { id, both } = await peopled()
    await found(id, 'sshd_config_broken')
    expect(await both()).toEqual(['pending', 'pending'])
    expect(await stage.recordOf('allocation.ask_again', id)).toMatchObject([
      { actor_type: 'node_agent', metadata: { because: 'drift_found', node_id: stage.node.id, generation: expect.any(Number) } },
    ])
    failure = 'sshd_config_broken'
    await stage.model.settle()
    expect(await both()).toEqual(['failed', 'failed'])
    // It says so again, and it is owed already.
    const before = await asked(id)
    await found(id, 'sshd_reads_other_keys')
    expect(await asked(id)).toEqual(before)
    failure = undefined
    await later(id, 61)
    await tend()
    await stage.model.settle()
    expect(await both()).toEqual(['applied', 'applied'])
    expect(await asked(id)).toEqual([...before, 'install_authorized_keys'])
  })

  test('SG-20 what it has put right by itself is not asked for again, nor is what is released', async () => {
    const { id } = await peopled()
    const before = await asked(id)
    await told(id, 'drift_restored', { found: 'changed' })
    expect([await asked(id), await syncOf(id)]).toEqual([before, 'applied'])
    await live.ask('asha', releaseAllocation, { params: { allocation_id: id }, body: {} })
    await stage.model.settle()
    await found(id, 'unexpected')
    await told(id, 'drift_restored', { found: 'account_left', generation: 0 })
    expect([await asked(id), await syncOf(id)]).toEqual([[...before, 'deprovision_user'], 'applied'])
  })

  test.each([
    ['drift_found', { failure: 'no_such_account' }],
    // By an agent whose book had forgotten it.
    ['drift_restored', { found: 'account_left', generation: 0 }],
  ] as const)('SG-20 S15 an account that is gone is made again, and nothing is said to be applied before: %s', async (kind, more) => {
    const { id, both } = await peopled()
    const before = await asked(id)
    await told(id, kind, more)
    expect(await both()).toEqual(['pending', 'pending'])
    expect(await asked(id)).toEqual([...before, 'provision_user', 'install_authorized_keys'])
    await stage.model.settle()
    expect(await both()).toEqual(['applied', 'applied'])
  })

  test('SG-10 a set that found no account is not asked for alone again', async () => {
    const { id } = await peopled()
    failure = 'no_such_account'
    await live.ask('asha', replaceAllocationSshKeys, { params: { allocation_id: id }, body: { ssh_key_ids: [] } })
    await stage.model.settle()
    failure = undefined
    const before = await asked(id)
    await later(id, 61)
    await tend()
    expect(await asked(id)).toEqual([...before, 'provision_user', 'install_authorized_keys'])
    await stage.model.settle()
    expect(await syncOf(id)).toBe('applied')
    // And once is enough.
    await found(id, 'sshd_config_broken')
    expect((await asked(id)).slice(before.length + 2)).toEqual(['install_authorized_keys'])
    await stage.model.settle()
  })
})
