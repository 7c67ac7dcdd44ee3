import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { enrol } from '../../agent/src/enrol.ts'
import { openState } from '../../agent/src/state.ts'
import { readAccount } from '../agent/paper-hands.ts'
import { bundleOf } from '../bundles.ts'
import { registeredNode } from '../enrolled-node.ts'
import { type LiveServer, liveServer, seeded } from '../live-server.ts'
import { sweep } from '../sweep.ts'

let live: LiveServer
const folders: string[] = []
const children = new Set<ChildProcess>()
beforeAll(async () => {
  live = await liveServer()
})
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
  await live.stop()
})

const agent = await bundleOf('mortal-agent')
const start = (folder: string, ...how: readonly string[]): ChildProcess => {
  const child = spawn(process.execPath, [agent, folder, ...how], { stdio: 'ignore' })
  children.add(child)
  child.once('exit', () => children.delete(child))
  return child
}

const path = '/api/v1/allocations'
const stateOf = async (id: string) => (await live.call('amara', 'GET', `${path}/${id}`)).body.state
const untilState = (id: string, state: string) =>
  vi.waitFor(async () => expect(await stateOf(id)).toBe(state), { timeout: 100_000, interval: 100 })

const steps = [
  'before what is begun is kept',
  'amid what is begun is kept',
  'after what is begun is kept',
  'before an account is made',
  'after an account is made',
  'before keys are written',
  'after keys are written',
  'before what is applied is kept',
  'amid what is applied is kept',
  'after what is applied is kept',
  'before a report is kept',
  'after a report is kept',
  'before a report is heard',
  'after a report is heard',
  'before a report is settled',
  'after a report is settled',
]

/** A node on which an allocation is waiting to be made. */
const newNode = async (sku: string) => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-kills-'))
  folders.push(folder)
  const node = await registeredNode(live, { sku })
  await enrol(await openState(join(folder, 'state')), node.token, undefined)
  const body = { project_id: seeded.project.aurora, name: 'work', region: 'eu-1', sku, gpus: 1 }
  const { id, username_on_node: username } = (await live.call('amara', 'POST', path, { body })).body
  return { folder, node_id: node.id, id, username }
}

const endOf = async (child: ChildProcess) =>
  child.exitCode === null && child.signalCode === null ? once(child, 'exit') : [child.exitCode, child.signalCode]

test.for(sweep('killed agents', steps, 4))('SG-10 killed %s, the agent converges, and each task counts once', async (step) => {
  const { folder, node_id, id, username } = await newNode(`kill-${steps.indexOf(step)}`)
  expect(await endOf(start(folder, step))).toEqual([null, 'SIGKILL'])
  const next = start(folder)
  await untilState(id, 'active')
  expect(await readAccount(join(folder, 'paper'), username)).toEqual({ allocation_id: id, keys: [] })

  // Once heard of, and no more; and nothing that it said was out of place.
  const tasks = await live.sql('select type, state from node_tasks where node_id = $1 order by generation', [node_id])
  expect(tasks).toEqual([
    { type: 'allocation.provision_user', state: 'completed' },
    { type: 'allocation.install_authorized_keys', state: 'completed' },
  ])
  const state = await openState(join(folder, 'state'))
  await vi.waitFor(async () => expect((await state.reports()).map(({ settled_at }) => settled_at)).not.toContain(null))
  const recorded = await live.sql("select result from audit_logs where actor_id = $1 and action = 'node.task.report'", [node_id])
  expect(recorded).toEqual([{ result: 'success' }, { result: 'success' }])
  expect(readdirSync(join(folder, 'state', 'allocations'))).toEqual([`${id}.json`])
  next.kill('SIGTERM')
  expect(await endOf(next)).toEqual([0, null])
})

test('SG-10 an agent that says so before it is done is found out', async () => {
  const { folder, id, username } = await newNode('kill-hasty')
  expect(await endOf(start(folder, 'after a report is heard', 'hasty'))).toEqual([null, 'SIGKILL'])
  start(folder, 'never', 'hasty')
  await untilState(id, 'active')
  expect(await readAccount(join(folder, 'paper'), username)).toBeUndefined()
})
