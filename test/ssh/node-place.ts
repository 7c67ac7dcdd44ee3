import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { bundleAgent } from '../../tools/bundle-agent.ts'
import { registeredNode } from '../enrolled-node.ts'
import { callingOn } from '../faults/calling.ts'
import type { FaultWorld } from '../faults/world.ts'
import { seeded } from '../live-server.ts'
import { newPair, type Pair } from './client.ts'
import { privateSshd } from './private-sshd.ts'

/** A pair that its owner has brought to the control plane. */
export interface RegisteredPair extends Pair {
  readonly id: string
}

/**
 * A server process with a door for nodes, and nodes as an operator sets them up: the one file of the agent, its commands, an sshd, and
 * people who speak to the API and to sshd.
 */
export const nodePlace = async (world: FaultWorld) => {
  const server = await world.start({ has_door: true })
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-place-'))
  const program = join(folder, 'gatehouse-agent.mjs')
  await bundleAgent(program)
  const closing: (() => Promise<void>)[] = []

  const call = callingOn(world, () => server.url)
  const done = async (status: number, ...asked: Parameters<typeof call>) => {
    let answered = await call(...asked)
    // A busy machine: a question that changes nothing is asked again, as the answer says.
    for (let tries = 1; asked[1] === 'GET' && answered.status === 503 && tries < 20; tries += 1) {
      await pause(250)
      answered = await call(...asked)
    }
    if (answered.status !== status)
      throw new Error(`${asked[1]} ${asked[2]} was to be answered ${status}: ${answered.status} ${answered.text}`)
    return answered.body
  }

  /** A machine that was prepared and enrolled by the agent's own commands, and runs it. */
  const node = async (sku: string) => {
    const sshd = await privateSshd()
    closing.unshift(sshd.stop)
    const config = join(sshd.folder, 'agent.json')
    writeFileSync(config, JSON.stringify({ state_dir: join(sshd.folder, 'state'), layout: sshd.layout }))
    const { id, token } = await registeredNode({ call }, { sku, gpus: 1024 })
    const token_file = join(sshd.folder, 'token')
    writeFileSync(token_file, token, { mode: 0o600 })
    const ask = (...args: readonly string[]) =>
      promisify(execFile)(process.execPath, [program, ...args, '--config', config], { env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' } })
    await ask('prepare')
    await sshd.start()
    await ask('enrol', '--token-file', token_file)
    let child: ChildProcess | undefined
    const lines: string[] = []
    const start = async () => {
      child = spawn(process.execPath, [program, 'run', '--config', config], {
        stdio: ['ignore', 'ignore', 'pipe'],
        env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
      })
      child.stderr!.on('data', (bytes) => lines.push(...String(bytes).trim().split('\n')))
    }
    const end = async (signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM') => {
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
      const gone = once(child, 'exit')
      child.kill(signal)
      await gone
    }
    await start()
    closing.unshift(end)
    return { id, sku, sshd, lines, start, end, ask }
  }

  let pairs = 0
  const pair = async (person: string): Promise<RegisteredPair> => {
    pairs += 1
    const made = newPair(folder, `${pairs}-${person}`)
    const { id } = await done(201, person, 'POST', '/api/v1/ssh-keys', { body: { name: 'laptop', public_key: made.line } })
    return { ...made, id }
  }

  const path = '/api/v1/allocations'
  const allocationOf = (id: string) => done(200, 'amara', 'GET', `${path}/${id}`)
  const until = async (what: string, check: () => Promise<boolean>, timeout_ms = 100_000) => {
    for (const deadline = Date.now() + timeout_ms; Date.now() < deadline; ) {
      if (await check()) return
      await pause(25)
    }
    throw new Error(`waited in vain: ${what}`)
  }
  const untilState = (id: string, state: string) => until(`${id} is ${state}`, async () => (await allocationOf(id)).state === state)

  const allocation = async (person: string, sku: string, keys: readonly RegisteredPair[]): Promise<{ id: string; username: string }> => {
    const body = { project_id: seeded.project.aurora, name: 'work', region: 'eu-1', sku, gpus: 1, ssh_key_ids: keys.map(({ id }) => id) }
    const made = await done(201, person, 'POST', path, { body })
    await untilState(made.id, 'active')
    return { id: made.id, username: made.username_on_node }
  }
  const grants = (id: string) => `${path}/${id}/access-grants`
  const seen = async (id: string, grant_id: string) =>
    (await done(200, 'amara', 'GET', `${grants(id)}?limit=100`)).items.find((each: { id: string }) => each.id === grant_id)
  const untilSync = (id: string, grant_id: string, status: string) =>
    until(`${grant_id} is ${status}`, async () => (await seen(id, grant_id)).runtime_sync.status === status)
  const grant = async (person: string, id: string, grantee: string, key: RegisteredPair, more: object = {}): Promise<string> => {
    const body = { grantee_user_id: seeded.user(grantee), ssh_key_id: key.id, ...more }
    const made = await done(201, person, 'POST', grants(id), { body })
    await untilSync(id, made.id, 'applied')
    return made.id
  }
  const revoke = (person: string, id: string, grant_id: string) => done(200, person, 'DELETE', `${grants(id)}/${grant_id}`, { body: {} })

  return {
    call,
    done,
    node,
    pair,
    allocation,
    allocationOf,
    grant,
    revoke,
    seen,
    until,
    untilState,
    untilSync,
    stop: async () => {
      for (const close of closing) await close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
export type NodePlace = Awaited<ReturnType<typeof nodePlace>>
