import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { bundleOf } from '../bundles.ts'
import { type LiveServer, liveServer, seeded, testKeys } from '../live-server.ts'
import { addressOf, launcher } from './launched.ts'

const project = join(import.meta.dirname, '../..')
const { org } = seeded
const folder = mkdtempSync(join(tmpdir(), 'gatehouse-operation-'))
const processes = launcher()

let live: LiveServer
beforeAll(async () => {
  live = await liveServer()
  await live.setPolicy('rate_limit.api_requests_per_minute', 1_000_000)
})
afterEach(processes.endAll)
afterAll(async () => {
  await live.stop()
  rmSync(folder, { recursive: true })
})

/** The real server as its own process, on the seeded world. */
const startProcess = async (settings: Record<string, string>) => {
  const launched = processes.launch(process.execPath, [await bundleOf('server')], {
    cwd: project,
    env: {
      PATH: process.env.PATH,
      GATEHOUSE_PROFILE: 'development',
      GATEHOUSE_PORT: '0',
      GATEHOUSE_NODES_PORT: '0',
      GATEHOUSE_METRICS_PORT: '0',
      GATEHOUSE_LIFELINE: 'stdin',
      GATEHOUSE_OIDC_ISSUERS: JSON.stringify([live.issuer.settings]),
      GATEHOUSE_KEY_ENCRYPTION_KEYS: testKeys,
      GATEHOUSE_CHECKPOINT_FILE: join(folder, 'checkpoints.jsonl'),
      DATABASE_URL: live.clone.appUrl,
      ...settings,
    },
  })
  const { child, heard, closed } = launched
  const url = await addressOf(launched)
  await expect.poll(async () => (await live.call(null, 'GET', '/readyz', {}, url)).status).toBe(200)
  return { url, heard, closed, signal: (name: NodeJS.Signals) => child.kill(name) }
}

const readiness = async (url: string) => (await live.call(null, 'GET', '/readyz', {}, url)).status

/** A connection that asks for nothing, and how it ended. */
const connectionTo = (url: string) => {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  const ended = new Promise<string>((resolve) => {
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    socket.once('close', () => resolve('closed'))
    socket.resume()
  })
  return { socket, ended }
}

const isRefused = async (url: string) => {
  const { socket, ended } = connectionTo(url)
  socket.once('connect', () => socket.destroy())
  return (await ended) === 'ECONNREFUSED'
}

const linesOf = (text: string) =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

/** A grace that no machine is too busy for: a second signal ends it. */
const endless = { GATEHOUSE_DRAIN_SECONDS: '300' }

/** What the process refuses because of its shipped deadlines, on a busy machine, signal or not: who is told so asks again, and nobody has lost anything. */
const isOverdue = ({ status, code }: { status: number | string; code: unknown }) => status === 503 && code === 'dependency_unavailable'

test('HO-07 a signal under load loses no request: readiness turns at once, what was taken is answered, then the port closes', async () => {
  const { url, heard, closed, signal } = await startProcess(endless)
  const answers: { slug: string; status: number | string; code: unknown }[] = []
  const created = () => answers.filter(({ status }) => status === 201).map(({ slug }) => slug)
  let isOffered = true
  let sent = 0
  const worker = async () => {
    while (isOffered) {
      sent += 1
      const slug = `drained-${sent}`
      const sending = { body: { name: 'Drained', slug } }
      const answer = await live.call('alice', 'POST', `/api/v1/orgs/${org.aurora}/projects`, sending, url).then(
        ({ status, body }) => ({ status, code: body?.code }),
        (error: Error) => ({ status: String(error.cause ?? error), code: null }),
      )
      answers.push({ slug, ...answer })
    }
  }
  const workers = Array.from({ length: 6 }, worker)
  await expect.poll(() => created().length).toBeGreaterThan(50)

  // A connection that asks for nothing. One that is answered after the port is closed is in the next test.
  const idle = connectionTo(url)

  signal('SIGTERM')
  // As a load balancer does: it goes on until it is told otherwise.
  await expect.poll(() => readiness(url), { interval: 30 }).toBe(503)
  expect(await live.call(null, 'GET', '/readyz', {}, url)).toMatchObject({ body: { is_draining: true, database: 'ok' } })
  expect((await live.call(null, 'GET', '/healthz', {}, url)).headers.get('connection')).toBe('close')
  const createdBefore = created().length
  await expect.poll(() => created().length).toBeGreaterThan(createdBefore + 6)
  isOffered = false
  await Promise.all(workers)
  signal('SIGTERM')

  await expect.poll(() => isRefused(url)).toBe(true)
  expect(await idle.ended).toBe('closed')
  expect(await closed, heard.err).toBe(0)

  expect(answers.filter((answer) => answer.status !== 201 && !isOverdue(answer))).toEqual([])
  const overdue = new Set(answers.filter(isOverdue).map(({ slug }) => slug))
  const kept = await live.sql<{ slug: string }>("select slug from projects where slug like 'drained-%'")
  // Whether something overdue was still kept, nobody was told.
  expect(kept.flatMap(({ slug }) => (overdue.has(slug) ? [] : [slug])).sort()).toEqual(created().sort())
  expect(heard.err).toBe('')
})

test('HO-07 the grace that was asked for ends by itself, and not before', async () => {
  const { url, closed, signal } = await startProcess({ GATEHOUSE_DRAIN_SECONDS: '1' })
  const signalled = performance.now()
  signal('SIGTERM')
  await expect.poll(() => isRefused(url)).toBe(true)
  expect(performance.now() - signalled).toBeGreaterThan(900)
  expect(await closed).toBe(0)
})

test('HO-07 a second signal ends the waiting, not the requests', async () => {
  const { url, closed, signal } = await startProcess(endless)
  signal('SIGTERM')
  await expect.poll(() => readiness(url), { interval: 30 }).toBe(503)
  expect((await live.call('anna', 'GET', '/api/v1/me', {}, url)).status).toBe(200)
  await live.sql('begin')
  await live.sql('select seq from audit_heads where chain_id = $1 for update', [org.aurora])
  const slow = live.call('alice', 'PATCH', `/api/v1/orgs/${org.aurora}`, { body: { name: 'Slow' } }, url)
  // It has been taken, and waits for what is held here.
  await expect.poll(() => live.sql('select 1 from pg_locks where pg_backend_pid() = any(pg_blocking_pids(pid))')).not.toEqual([])
  signal('SIGINT')
  await expect.poll(() => isRefused(url)).toBe(true)
  await live.sql('commit')
  const { status, body } = await slow
  if (!isOverdue({ status, code: body?.code })) expect(status).toBe(200)
  expect(await closed).toBe(0)
})

test('AU-06 all that a process says is lines of JSON with a correlation id and without a secret; refused tokens leave one row', async () => {
  const { url, heard, closed, signal } = await startProcess({ GATEHOUSE_LOG_LEVEL: 'trace' })
  const canary = 'CANARY-e1b5d3'
  for (let n = 0; n < 5; n += 1)
    await live.call(null, 'GET', `/api/v1/me?note=${canary}`, { headers: { authorization: `Bearer ${canary}${n}`, cookie: canary } }, url)
  // In an address it is refused before anybody looks whose it is.
  expect((await live.call(null, 'GET', `/api/v1/me?token=${canary}`, {}, url)).status).toBe(400)
  const { headers } = await live.call('anna', 'GET', '/api/v1/me', { headers: { 'x-request-id': 'said-by-process' } }, url)
  expect(headers.get('x-correlation-id')).toBe('said-by-process')
  const { address } = linesOf(heard.out).find(({ message }) => message === 'serving metrics') as {
    address: { address: string; port: number }
  }
  expect(address.address).toBe('127.0.0.1')
  const metrics = await (await fetch(`http://127.0.0.1:${address.port}/metrics`)).text()
  expect(metrics).toContain('gatehouse_auth_rejected_total{code="token_invalid"} 5')
  signal('SIGTERM')
  expect(await closed).toBe(0)

  const said = linesOf(heard.out)
  expect(said.length).toBeGreaterThan(6)
  for (const line of said)
    expect(line).toMatchObject({ correlation_id: expect.any(String), time: expect.any(String), level: expect.any(String) })
  expect(said.filter(({ correlation_id }) => correlation_id === 'said-by-process')).toMatchObject([{ operation: 'me.read', status: 200 }])
  const secrets = [canary, await live.tokenOf('anna'), new URL(live.clone.appUrl).password, testKeys.split(':')[1]!]
  for (const secret of secrets) expect(heard.out + heard.err).not.toContain(secret)
  expect(await live.sql("select reason_code, metadata->>'count' as count from audit_logs where action = 'auth.token.reject'")).toEqual([
    { reason_code: 'token_invalid', count: '5' },
  ])
})

test('AU-06 a process that was given the address of a collector sends it what it did, the last of it before it ends', async () => {
  const posts: string[] = []
  const collector = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    posts.push(`${request.url} ${Buffer.concat(chunks).toString('utf8')}`)
    response.end('{}')
  })
  await new Promise<void>((resolve) => collector.listen(0, '127.0.0.1', resolve))
  const endpoint = `http://127.0.0.1:${(collector.address() as AddressInfo).port}`
  const { url, closed, signal } = await startProcess({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint })
  await live.call('anna', 'GET', '/api/v1/me', { headers: { 'x-request-id': 'sent-away' } }, url)
  signal('SIGTERM')
  expect(await closed).toBe(0)
  const all = posts.join('\n')
  for (const part of ['/v1/traces', '"me.read"', '"transaction"', 'sent-away']) expect(all).toContain(part)
  expect(all).not.toContain(await live.tokenOf('anna'))
  collector.close()
})
