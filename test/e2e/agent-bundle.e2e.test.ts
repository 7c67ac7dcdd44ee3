import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { bundleAgent } from '../../tools/bundle-agent.ts'
import { registeredNode } from '../enrolled-node.ts'
import { type LiveServer, liveServer } from '../live-server.ts'

const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bundle-'))
const file = join(folder, 'gatehouse-agent.mjs')
const children: ChildProcess[] = []
let live: LiveServer
beforeAll(async () => {
  await bundleAgent(file)
  live = await liveServer()
})
afterAll(async () => {
  for (const child of children) child.kill('SIGKILL')
  await live.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** The Node that the system itself has, which may be an old one; else ours. */
const systemNode =
  (process.env.PATH ?? '')
    .split(delimiter)
    .filter((place) => !place.includes('node_modules'))
    .map((place) => join(place, 'node'))
    .find((path) => existsSync(path)) ?? process.execPath

// Nothing of this project is near it, neither by its folder nor by its environment.
const plain = { cwd: folder, env: { PATH: '/usr/bin:/bin:/usr/sbin:/sbin' } }
const state = join(folder, 'state')
const config = join(folder, 'agent.json')
const layout = {
  keys_dir: join(folder, 'keys'),
  sessions_dir: join(folder, 'sessions'),
  cgroup_dir: null,
  hook: join(folder, 'hook'),
  homes_dir: join(folder, 'homes'),
  group: 'nogroup',
  lock_file: join(folder, 'machine.lock'),
  deny_files: [],
  sshd: { program: join(folder, 'no-sshd') },
}
writeFileSync(config, JSON.stringify({ state_dir: state, layout }))

const ask = (...args: readonly string[]) =>
  promisify(execFile)(systemNode, [file, ...args, '--config', config], { ...plain, timeout: 60_000 }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout, stderr }) => ({ code, stdout, stderr }) as { code: number; stdout: string; stderr: string },
  )
const enrol = async (token: string) => {
  const child = spawn(systemNode, [file, 'enrol', '--token-file', '-', '--config', config], plain)
  const said: string[] = []
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => said.push(String(chunk)))
  child.stdin.end(token)
  const [code] = await once(child, 'close')
  return { code, said: said.join('') }
}
const run = () => {
  const child = spawn(systemNode, [file, 'run', '--config', config], { ...plain, stdio: ['ignore', 'ignore', 'pipe'] })
  children.push(child)
  const lines: string[] = []
  child.stderr.on('data', (chunk) => lines.push(...String(chunk).trim().split('\n')))
  return { child, lines }
}

test('SG-22 one file enrols, runs and answers on the system’s own Node, with nothing else of ours near it', async () => {
  expect(readFileSync(file, 'utf8').match(/^import .* from "(?!node:)/m)).toBeNull()
  expect(await ask('status')).toMatchObject({ code: 3, stdout: 'The agent does not run.\n' })
  expect(await ask('status', '--json')).toMatchObject({ stdout: '{"is_running":false}\n' })
  expect(await ask('run')).toMatchObject({ code: 1, stderr: expect.stringContaining('this node is not enrolled') })

  const node = await registeredNode(live)
  expect(await enrol('ghne_nonsense')).toEqual({ code: 1, said: 'gatehouse-agent: this is no enrolment token\n' })
  const enrolled = await enrol(`${node.token}\n`)
  expect(enrolled).toMatchObject({ code: 0, said: expect.stringContaining(`This machine is node ${node.id}.`) })
  expect(await enrol(node.token)).toMatchObject({ code: 1, said: expect.stringContaining('the token is not accepted') })

  const { child, lines } = run()
  await vi.waitFor(
    async () =>
      expect(JSON.parse((await ask('status', '--json')).stdout)).toMatchObject({ is_running: true, server: { state: 'connected' } }),
    {
      timeout: 60_000,
      interval: 200,
    },
  )
  expect(await ask('run')).toMatchObject({ code: 1, stderr: expect.stringContaining('an agent runs on this machine already') })
  expect(await enrol(node.token)).toMatchObject({
    code: 1,
    said: 'gatehouse-agent: an agent runs on this machine already; stop it first\n',
  })

  const { body: task } = await live.call('ada', 'POST', `/api/v1/admin/nodes/${node.id}/probe`)
  await vi.waitFor(
    async () => expect(await live.sql('select state from node_tasks where id = $1', [task.id])).toEqual([{ state: 'completed' }]),
    10_000,
  )
  expect((await ask('status')).stdout).toMatch(new RegExp(`^node +${node.id}\\n(.*\\n)*server .*connected`))

  child.kill('SIGTERM')
  expect(await once(child, 'exit')).toEqual([0, null])
  expect(lines.map((line) => JSON.parse(line).event)).toEqual(
    expect.arrayContaining(['agent_started', 'server_connected', 'agent_stopped']),
  )
  expect(lines.join('\n')).not.toContain(node.secret)
})

test('the agent that was killed leaves nothing that keeps the next one out', async () => {
  const first = run()
  await vi.waitFor(async () => expect((await ask('status')).code).toBe(0), { timeout: 60_000, interval: 200 })
  first.child.kill('SIGKILL')
  await once(first.child, 'exit')
  expect((await ask('status')).code).toBe(3)
  const second = run()
  await vi.waitFor(async () => expect((await ask('status')).code).toBe(0), { timeout: 60_000, interval: 200 })
  second.child.kill('SIGTERM')
  expect(await once(second.child, 'exit')).toEqual([0, null])
})

test('the same sources give the same bytes', async () => {
  const again = join(folder, 'again.mjs')
  await bundleAgent(again)
  expect(readFileSync(again).equals(readFileSync(file))).toBe(true)
})
