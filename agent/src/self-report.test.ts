import { expect, test } from 'vitest'
import type { Asking } from './door.ts'
import type { Lasting } from './lanes.ts'
import { openSelfReport } from './self-report.ts'
import type { Wearing } from './wearing.ts'

const node_id = '00000000-0000-7000-8000-0000000000bb'
const allocation_id = '00000000-0000-7000-8000-0000000000aa'
const since = '2026-11-18T12:00:00.000Z'

const reporting = (answers: readonly number[] = []) => {
  const said: { path: string; body: unknown }[] = []
  const events: string[] = []
  const left = [...answers]
  const door = {
    ask: async ({ path, body }: Asking) => {
      said.push({ path: path.split('/').at(-1)!, body })
      return { status: left.shift() ?? 200, body: {}, retry_after_seconds: undefined }
    },
    close: () => {},
  }
  const of = { lasting: [] as Lasting[], ssh_port: 22 }
  const report = openSelfReport({
    hands: { describe: async () => ({ devices: [], shared_devices: [], ssh_host: 'gpu-001', ssh_port: of.ssh_port, ssh_host_keys: [] }) },
    lanes: { lasting: () => of.lasting },
    wearing: { current: () => ({ identity: { node_id }, door }) } as unknown as Wearing,
    log: (_level, event) => void events.push(event),
    stuck_ms: 60_000,
    describe_ms: 0,
  })
  return { report, said, events, of }
}

test('SG-24 describe: at the first look and after a change → told once each, and again where it was not heard', async () => {
  const { report, said, of } = reporting([503, 200])
  await report.look(2)
  await report.look(2)
  await report.look(2)
  expect(said.map(({ path }) => path)).toEqual(['description', 'description'])
  of.ssh_port = 2222
  await report.look(2)
  expect(said.at(-1)).toMatchObject({ path: 'description', body: { ssh_port: 2222 } })
  expect(said).toHaveLength(3)
})

test('SG-25 a step takes longer than a minute → logged, shown and told, and told again when it has gone on', async () => {
  const { report, said, events, of } = reporting()
  await report.look(2)
  of.lasting = [{ lane: allocation_id, step: 'allocation.deprovision_user', since }]
  await report.look(2)
  await report.look(2)
  expect(report.stuck()).toEqual([{ step: 'allocation.deprovision_user', allocation_id, since }])
  of.lasting = []
  await report.look(2)
  expect(said.filter(({ path }) => path === 'stuck-steps').map(({ body }) => body)).toEqual([
    { steps: [{ step: 'allocation.deprovision_user', allocation_id, since }] },
    { steps: [] },
  ])
  expect(events).toEqual(['step_stuck', 'step_no_longer_stuck'])
})

test('SG-24 a control plane of protocol 1 is told nothing of it, and all of it once it speaks 2', async () => {
  const { report, said, events, of } = reporting()
  of.lasting = [{ lane: 'probe', step: 'diag.health_probe', since }]
  await report.look(1)
  expect([said.length, events]).toEqual([0, ['step_stuck']])
  await report.look(2)
  expect(said.map(({ path }) => path)).toEqual(['stuck-steps', 'description'])
})
