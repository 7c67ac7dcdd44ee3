import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { bundleOf } from '../bundles.ts'
import { type LiveServer, liveServer, seeded } from '../live-server.ts'
import { runtimesOn } from '../runtime-scene.ts'

let live: LiveServer
let folder: string
const running = new Set<ChildProcess>()
beforeAll(async () => {
  live = await liveServer()
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-controller-'))
})
afterAll(async () => {
  for (const child of running) child.kill('SIGKILL')
  rmSync(folder, { recursive: true, force: true })
  await live.stop()
})

interface Credential {
  readonly key_id: string
  readonly client_secret: string
}
let files = 0

/** A runtime with a project attached and an allocation in it, and what its controller needs. */
const newRuntime = async () => {
  const runtimes = runtimesOn(live)
  const id = await runtimes.made()
  const attached = await runtimes.attach(id, seeded.project.aurora)
  expect(attached.status).toBe(201)
  const path = runtimes.one(id)
  const allocation_id = await runtimes.allocation()
  const newCredential = async (): Promise<Credential> => {
    const { status, body, text } = await live.call('alice', 'POST', `${path}/operator-credentials`, { body: {} })
    expect(status, text).toBe(201)
    return body
  }
  const revoke = async ({ key_id }: Credential) => {
    const sending = { body: { reason: 'found in a log' } }
    expect((await live.call('adam', 'DELETE', `${path}/operator-credentials/${key_id}`, sending)).status).toBe(204)
  }
  files += 1
  const file = join(folder, `credential-${files}.json`)
  /** As one does who rotates: whole or not at all. */
  const write = (credential: Credential) => {
    writeFileSync(`${file}.new`, JSON.stringify(credential), { mode: 0o600 })
    renameSync(`${file}.new`, file)
  }
  const credential = await newCredential()
  write(credential)
  return {
    id,
    path,
    allocation_id,
    attachment_id: attached.body.id as string,
    detach: runtimes.detach,
    credential,
    newCredential,
    revoke,
    write,
    environment: {
      CONTROLLER_URL: live.url,
      CONTROLLER_ORG_ID: seeded.org.aurora,
      CONTROLLER_SHARED_RUNTIME_ID: id,
      CONTROLLER_CREDENTIAL_FILE: file,
      CONTROLLER_PERIOD_SECONDS: '0.2',
    },
    read: async () => (await live.call('adam', 'GET', path)).body,
    members: async (): Promise<{ name: string; allocation_id: string | null; state: string }[]> =>
      (await live.call('asha', 'GET', `${path}/members`)).body.members,
  }
}

const program = await bundleOf('controller')

/** The controller as a process of its own, with these settings and nothing else of ours. */
const start = (environment: Record<string, string>, ...words: string[]) => {
  const child = spawn(process.execPath, [program, ...words], {
    env: { PATH: process.env.PATH!, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  let text = ''
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (more: string) => {
      text += more
    })
  const ended = once(child, 'close').then(([code, signal]) => {
    running.delete(child)
    return { code: code as number | null, signal: signal as string | null }
  })
  const lines = (): Record<string, string>[] =>
    text
      .split('\n')
      .slice(0, -1)
      .map((line) => Object.fromEntries([...line.matchAll(/(\w+)=("[^"]*"|\S+)/g)].map(([, name, value]) => [name!, value!])))
  const rounds = () => lines().filter(({ sequence }) => sequence !== undefined)
  const until = (seen: () => boolean) => vi.waitFor(() => expect(seen(), text).toBe(true), { timeout: 100_000, interval: 50 })
  return {
    text: () => text,
    lines,
    rounds,
    failures: () => lines().filter(({ failed }) => failed !== undefined),
    issued: () => lines().filter(({ token }) => token === 'issued').length,
    ended,
    kill: (signal: 'SIGTERM' | 'SIGKILL') => {
      child.kill(signal)
      return ended
    },
    until,
    /** Until so many more rounds have been begun and ended. */
    after: (more: number) => {
      const before = rounds().length
      return until(() => rounds().length >= before + more)
    },
  }
}

test('MI-04 MI-07 a controller reports its runtime and members, and names nothing of a project that was detached', async () => {
  const runtime = await newRuntime()
  expect((await runtime.read()).state).toBe('requested')
  const controller = start(runtime.environment)
  await controller.after(2)
  expect(await runtime.read()).toMatchObject({ state: 'running', reported_state: 'running' })
  const named = {
    name: `worker-${runtime.allocation_id.slice(-12)}`,
    role: 'worker',
    state: 'joining',
    allocation_id: runtime.allocation_id,
  }
  expect(await runtime.members()).toContainEqual(named)
  expect(controller.rounds().at(-1)).toMatchObject({ attachments: '1', allocations: expect.not.stringMatching(/^0$/), is_taken: 'true' })

  expect((await runtime.detach(runtime.id, runtime.attachment_id)).status).toBe(200)
  // One may have been under way.
  await controller.after(2)
  expect(controller.rounds().at(-1)).toMatchObject({ attachments: '0', allocations: '0', members: '1' })
  expect(await runtime.members()).toEqual([{ name: 'controller', role: 'controller', state: 'ready', allocation_id: null }])

  const sequences = controller.rounds().map(({ sequence }) => Number(sequence))
  expect(sequences[0]).toBe(1)
  expect(sequences).toEqual([...new Set(sequences)].sort((a, b) => a - b))
  expect(await controller.kill('SIGTERM')).toEqual({ code: 0, signal: null })
  expect(controller.lines().at(-1)).toMatchObject({ ended: 'asked_to' })
  expect(controller.text()).not.toContain(runtime.credential.client_secret)
  expect(controller.text()).not.toMatch(/gh[a-z]{2}_|eyJ/)
})

test('MI-04 one round, and no more, where that is asked for', async () => {
  const runtime = await newRuntime()
  const { CONTROLLER_CREDENTIAL_FILE: _, ...environment } = runtime.environment
  const { key_id, client_secret } = runtime.credential
  const controller = start({ ...environment, CONTROLLER_KEY_ID: key_id, CONTROLLER_CLIENT_SECRET: client_secret }, '--once')
  expect(await controller.ended).toEqual({ code: 0, signal: null })
  expect(controller.rounds()).toHaveLength(1)
  expect((await runtime.read()).state).toBe('running')
})

test('MI-02 a secret is not taken from the command line, nor repeated', async () => {
  const runtime = await newRuntime()
  const controller = start(runtime.environment, `--secret=${runtime.credential.client_secret}`)
  expect(await controller.ended).toEqual({ code: 2, signal: null })
  expect(controller.text()).toContain('usage')
  expect(controller.text()).not.toContain(runtime.credential.client_secret)
})

test('TI-24 a token is renewed before it ends, and nobody notices', async () => {
  const runtime = await newRuntime()
  const controller = start({ ...runtime.environment, CONTROLLER_TOKEN_TTL_SECONDS: '10' })
  await controller.until(() => controller.issued() >= 3)
  await controller.after(1)
  expect(controller.failures()).toEqual([])
  await controller.kill('SIGTERM')
  const tokens = await live.sql<{ issued_at: Date; expires_at: Date }>(
    'select issued_at, expires_at from issued_tokens where actor_id = $1 order by issued_at',
    [runtime.id],
  )
  expect(tokens.length).toBeGreaterThanOrEqual(3)
  for (const [index, { issued_at }] of tokens.entries())
    if (index > 0) expect(issued_at.getTime()).toBeLessThan(tokens[index - 1]!.expires_at.getTime())
})

test('MI-02 a controller whose credential is revoked says so, and ends after a few tries', async () => {
  const runtime = await newRuntime()
  const controller = start(runtime.environment)
  await controller.after(1)
  await runtime.revoke(runtime.credential)
  expect(await controller.ended).toEqual({ code: 3, signal: null })
  expect(controller.lines().at(-1)).toMatchObject({ ended: 'credential_refused' })
  expect(controller.failures().map(({ failed }) => failed)).toEqual(
    new Array(3).fill('"auth.shared_runtime_operator_token.issue: 401 token_invalid"'),
  )
  expect(controller.issued()).toBe(1)
})

test('MI-02 a credential is rotated under a running controller, which goes on with the next one', async () => {
  const runtime = await newRuntime()
  const controller = start(runtime.environment)
  await controller.after(1)
  const next = await runtime.newCredential()
  runtime.write(next)
  await runtime.revoke(runtime.credential)
  await controller.after(3)
  // The token of the former one was refused; it asked once for another, and the round was none the worse for it.
  expect(controller.failures()).toEqual([])
  expect(controller.issued()).toBe(2)
  await controller.kill('SIGTERM')
})

test('MI-04 a controller that is killed goes on counting where it was', async () => {
  const runtime = await newRuntime()
  let last = 0
  for (let life = 1; life <= 3; life += 1) {
    const controller = start(runtime.environment)
    await controller.after(2)
    expect(await controller.kill('SIGKILL')).toEqual({ code: null, signal: 'SIGKILL' })
    const rounds = controller.rounds()
    expect(Number(rounds[0]!.sequence)).toBeGreaterThan(last)
    expect(rounds.map(({ is_taken }) => is_taken)).toEqual(rounds.map(() => 'true'))
    last = Number(rounds.at(-1)!.sequence)
    expect((await runtime.read()).reported_sequence).toBeGreaterThanOrEqual(last)
  }
})

test('MI-07 TI-15 a disabled runtime’s controller is refused, and keeps its token, until the runtime is enabled again', async () => {
  const runtime = await newRuntime()
  const controller = start(runtime.environment)
  await controller.after(1)
  expect((await live.call('adam', 'POST', `${runtime.path}/disable`, { body: { reason: 'a pause' } })).status).toBe(200)
  await controller.until(() => controller.failures().length > 0)
  expect(controller.failures()[0]?.failed).toContain('actor_disabled')
  // Somebody else has muted it: enabling begins the numbers anew, and it follows them.
  const highest = Number.MAX_SAFE_INTEGER
  await live.sql('update shared_app_runtimes set reported_sequence = $1, members_sequence = $1 where display_name = $2', [
    highest,
    (await runtime.read()).display_name,
  ])
  expect((await live.call('adam', 'POST', `${runtime.path}/enable`, { body: { reason: 'it goes on' } })).status).toBe(200)
  await controller.after(1)
  expect(controller.rounds().at(-1)).toMatchObject({ is_taken: 'true' })
  const { reported_sequence } = await runtime.read()
  expect([reported_sequence > 0, reported_sequence < highest]).toEqual([true, true])
  expect(controller.issued()).toBe(1)
  await controller.kill('SIGTERM')
})

test('MI-11 a secret that was left for the runtime is taken once, into a file that only its owner reads', async () => {
  const runtime = await newRuntime()
  const file = join(folder, 'registry-password')
  const secret = 'canary-7b03-of-the-registry'
  const controller = start({ ...runtime.environment, CONTROLLER_SECRET_NAME: 'registry', CONTROLLER_SECRET_FILE: file })
  await controller.after(1)
  expect(controller.rounds().at(-1)).toMatchObject({ secret: 'not_there_yet' })
  const left = await live.call('adam', 'POST', `${runtime.path}/credentials`, { body: { name: 'registry', secret } })
  expect(left.status, left.text).toBe(201)
  await controller.until(() => existsSync(file))
  expect(readFileSync(file, 'utf8')).toBe(secret)
  expect(statSync(file).mode & 0o777).toBe(0o600)
  await controller.after(2)
  expect(controller.rounds().filter((line) => line.secret === 'taken')).toHaveLength(1)
  expect(controller.rounds().at(-1)).toMatchObject({ secret: 'kept' })
  await controller.kill('SIGTERM')
  expect(controller.text()).not.toContain(secret)
  const opened = await live.sql(`select 1 from audit_logs where action = 'delivery.unwrap' and metadata->>'subject_id' = $1`, [
    left.body.id,
  ])
  expect(opened).toHaveLength(1)
})

test('MI-04 a controller waits out a server that is away, and goes on', async () => {
  const runtime = await newRuntime()
  const { port } = new URL(live.url)
  let isAway = false
  const relay = createServer((socket) => {
    if (isAway) return socket.destroy()
    const through = connect(Number(port), '127.0.0.1')
    for (const [from, to] of [
      [socket, through],
      [through, socket],
    ] as const)
      from
        .on('error', () => to.destroy())
        .on('close', () => to.destroy())
        .pipe(to)
    open.add(socket)
  })
  const open = new Set<{ destroy: () => unknown }>()
  relay.listen(0, '127.0.0.1')
  await once(relay, 'listening')
  const url = `http://127.0.0.1:${(relay.address() as AddressInfo).port}`
  const controller = start({ ...runtime.environment, CONTROLLER_URL: url })
  await controller.after(1)
  isAway = true
  for (const socket of open) socket.destroy()
  await controller.until(() => controller.failures().length >= 2)
  isAway = false
  await controller.after(1)
  expect(await controller.kill('SIGTERM')).toEqual({ code: 0, signal: null })
  for (const socket of open) socket.destroy()
  await new Promise((end) => relay.close(end))
})
