import { randomUUID } from 'node:crypto'
import { describeNode, type NodeDescription, reportStuckSteps } from '@gatehouse/contract/node-description'
import { node_protocol_header } from '@gatehouse/contract/node-protocol'
import { readNode, waitForTasks } from '@gatehouse/contract/nodes'
import { describe, expect, test } from 'vitest'
import { type EnrolledNode, enrolledNode, type Told } from '../../../../test/enrolled-node.ts'
import { serverFixture } from '../../../../test/live-server.ts'
import { placedAllocation } from '../../../../test/task-world.ts'

const live = serverFixture()

const spoken = { [node_protocol_header]: '2' }
const ed25519 = `ssh-ed25519 ${'A'.repeat(67)}=`
const rsa = `ssh-rsa ${'B'.repeat(300)}`
const said: NodeDescription = {
  devices: [
    { index: 0, paths: ['/dev/nvidia0'] },
    { index: 1, paths: ['/dev/dri/card1', '/dev/nvidia1'] },
  ],
  shared_devices: ['/dev/nvidia-uvm', '/dev/nvidiactl'],
  ssh_host: 'gpu-001.example',
  ssh_port: 22,
  ssh_host_keys: [ed25519, rsa],
}
const describing = (node: EnrolledNode, body: NodeDescription, headers: Record<string, string> = spoken, as = node.id) =>
  node.ask(describeNode, { params: { node_id: as as never }, body, headers })
const sticking = (node: EnrolledNode, steps: unknown[]) =>
  node.ask(reportStuckSteps, { params: { node_id: node.id as never }, body: { steps } as never, headers: spoken })
const waiting = (node: EnrolledNode, headers: Record<string, string>) =>
  node.ask(waitForTasks, { params: { node_id: node.id as never }, query: { wait_seconds: 0, run: randomUUID() }, headers })
const shown = async ({ id }: EnrolledNode) => (await live.ask('ada', readNode, { params: { node_id: id as never } })).body
type Row = Record<string, unknown> & { metadata: { is_first: boolean; from: NodeDescription; to: NodeDescription } }
const recorded = async (told: Told) => (await live.auditOf(String(told.headers['x-correlation-id']))) as Row[]

describe('what a node says of itself', () => {
  test('SG-24 node.describe: first word → kept, shown in one order, recorded; the same again → nothing', async () => {
    const node = await enrolledNode(live)
    expect(await shown(node)).toMatchObject({ described_at: null, devices: [], ssh_host: null, ssh_port: null, ssh_host_keys: [] })
    const told = await describing(node, { ...said, devices: said.devices.toReversed(), ssh_host_keys: said.ssh_host_keys.toReversed() })
    expect(told.status).toBe(200)
    expect(await shown(node)).toMatchObject({ ...said, described_at: told.body.described_at })
    const [row] = (await recorded(told)).filter(({ action }) => action === 'node.describe')
    expect(row).toMatchObject({ severity: 'info', resource_id: node.id, metadata: { to: said, is_first: true, is_ssh_changed: false } })
    const again = await describing(node, said)
    expect([again.status, again.body]).toEqual([200, told.body])
    expect(await recorded(again)).toEqual([])
    node.stop()
  })

  test.each([
    ['another host key', { ssh_host_keys: [rsa] }, 'high'],
    ['another address', { ssh_host: '10.0.0.9' }, 'high'],
    ['another port', { ssh_port: 2222 }, 'high'],
    ['another device', { devices: said.devices.slice(1) }, 'warning'],
  ])(
    'SG-24 node.describe: %s after the first word → a row with before and after, high where it is the sshd’s',
    async (_what, changed, severity) => {
      const node = await enrolledNode(live)
      await describing(node, said)
      const told = await describing(node, { ...said, ...changed })
      expect(await recorded(told)).toMatchObject([
        { action: 'node.describe', severity, metadata: { from: said, to: { ...said, ...changed }, is_ssh_changed: severity === 'high' } },
      ])
      expect(await shown(node)).toMatchObject(changed)
      node.stop()
    },
  )

  test.each([
    ['an index twice', { devices: [said.devices[0]!, { index: 0, paths: ['/dev/nvidia7'] }] }],
    ['a path of two indexes', { devices: [said.devices[0]!, { index: 1, paths: ['/dev/nvidia0'] }] }],
    ['a path that is shared, too', { shared_devices: ['/dev/nvidia0'] }],
    ['a path outside of /dev', { shared_devices: ['/dev/../etc/shadow'] }],
    ['a host that ssh would read as an option', { ssh_host: '-oProxyCommand=x' }],
    ['a host key with options', { ssh_host_keys: [`command="x" ${ed25519}`] }],
  ])('SG-24 node.describe: %s → 400 and nothing kept', async (_what, changed) => {
    const node = await enrolledNode(live)
    const told = await describing(node, { ...said, ...changed } as NodeDescription)
    expect([told.status, (told.body as unknown as { code: string }).code]).toEqual([400, 'validation_error'])
    expect(await shown(node)).toMatchObject({ described_at: null, devices: [] })
    node.stop()
  })

  test('SG-24 node.describe: two at once say different things → one after the other, each with its row', async () => {
    const node = await enrolledNode(live)
    const hosts = ['a.example', 'b.example', 'c.example', 'd.example']
    const told = await Promise.all(hosts.map((ssh_host) => describing(node, { ...said, ssh_host })))
    expect(told.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    const rows = (await Promise.all(told.map(recorded))).flat().filter(({ action }) => action === 'node.describe')
    expect(rows.filter(({ metadata }) => metadata.is_first)).toHaveLength(1)
    // Each begins where another ended: nobody's word was lost.
    const last = rows
      .map(({ metadata }) => metadata.to.ssh_host)
      .filter((host) => !rows.some(({ metadata }) => metadata.from.ssh_host === host))
    expect(last).toEqual([(await shown(node)).ssh_host])
    node.stop()
  })

  test('SG-16 node.describe: of another node → 403, recorded as high', async () => {
    const [node, other] = [await enrolledNode(live), await enrolledNode(live)]
    const told = await describing(node, said, spoken, other.id)
    expect(told.status).toBe(403)
    expect(await recorded(told)).toMatchObject([
      { action: 'node.describe', result: 'denied', severity: 'high', reason_code: 'scope_mismatch' },
    ])
    expect((await shown(other)).described_at).toBeNull()
    node.stop()
    other.stop()
  })
})

describe('which protocol a node speaks', () => {
  test('SG-24 node.task.wait: header of 2 → 2 is kept and recorded; without one → 1 again, recorded as high; every answer says 2', async () => {
    const node = await enrolledNode(live)
    expect((await shown(node)).protocol_version).toBe(1)
    const up = await waiting(node, spoken)
    expect(up.headers[node_protocol_header]).toBe('2')
    expect((await shown(node)).protocol_version).toBe(2)
    expect(await recorded(up)).toMatchObject([{ action: 'node.protocol_version', severity: 'info', metadata: { from: 1, to: 2 } }])
    expect(await recorded(await waiting(node, spoken))).toEqual([])
    const down = await waiting(node, {})
    expect(await recorded(down)).toMatchObject([{ action: 'node.protocol_version', severity: 'high', metadata: { from: 2, to: 1 } }])
    expect((await shown(node)).protocol_version).toBe(1)
    node.stop()
  })

  test('SG-24 nodes’ door: a later version → 2; no version → 400; a refusal and an unknown route say 2 as well', async () => {
    const node = await enrolledNode(live)
    await waiting(node, { [node_protocol_header]: '7' })
    expect((await shown(node)).protocol_version).toBe(2)
    const wrong = await waiting(node, { [node_protocol_header]: 'two' })
    expect([wrong.status, wrong.headers[node_protocol_header]]).toEqual([400, '2'])
    const unknown = await node.call('GET', '/internal/v1/nowhere')
    expect([unknown.status, unknown.headers[node_protocol_header]]).toEqual([404, '2'])
    node.stop()
  })
})

describe('what a node is stuck with', () => {
  const step = { step: 'end_sessions', allocation_id: null, since: '2026-11-18T10:00:00.000Z' }
  const later = { step: 'remove_home', allocation_id: null, since: '2026-11-18T10:05:00.000Z' }

  test('SG-25 node.step.report: stuck, again, one more, gone on → each told once, shown with the oldest', async () => {
    const node = await enrolledNode(live)
    const first = await sticking(node, [step])
    expect(await recorded(first)).toMatchObject([{ action: 'node.step.stuck', severity: 'high', resource_id: node.id, metadata: step }])
    expect(await recorded(await sticking(node, [step]))).toEqual([])
    const second = await sticking(node, [later, step])
    expect(await recorded(second)).toMatchObject([{ action: 'node.step.stuck', metadata: later }])
    expect(await shown(node)).toMatchObject({ stuck_since: step.since, stuck_steps: [step, later] })
    expect(await recorded(await sticking(node, [later]))).toMatchObject([{ action: 'node.step.unstuck', severity: 'info', metadata: step }])
    expect((await shown(node)).stuck_since).toBe(later.since)
    await sticking(node, [])
    expect(await shown(node)).toMatchObject({ stuck_since: null, stuck_steps: [] })
    node.stop()
  })

  test('SG-25 node.step.report: of an allocation on the node → told; of one that is elsewhere or nowhere → 403 and nothing', async () => {
    const [node, other] = [await enrolledNode(live), await enrolledNode(live)]
    const [mine, foreign] = [await placedAllocation(live, node.id), await placedAllocation(live, other.id)]
    expect((await sticking(node, [{ ...step, allocation_id: mine.id }])).status).toBe(200)
    for (const allocation_id of [foreign.id, randomUUID()]) expect((await sticking(node, [{ ...step, allocation_id }])).status).toBe(403)
    expect((await shown(node)).stuck_steps).toEqual([{ ...step, allocation_id: mine.id }])
    node.stop()
    other.stop()
  })
})
