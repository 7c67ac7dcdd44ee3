import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { Writable } from 'node:stream'
import { readOrganization, resumeOrganization, updateOrganization } from '@gatehouse/contract/organizations'
import { readMe } from '@gatehouse/contract/users'
import { describe, expect, test } from 'vitest'
import { openDatabase } from '#ground/db/database.ts'
import { loggerOptions } from '#ground/telemetry/logger-options.ts'
import { createMetrics } from '#ground/telemetry/metrics.ts'
import { startTracing } from '#ground/telemetry/start-tracing.ts'
import { tcpProxy } from '../../../../test/faults/tcp-proxy.ts'
import { fixture } from '../../../../test/fixture.ts'
import { writeOperatorCredentials } from '../../../../test/fuzz/operator-credential-calls.ts'
import { rawExchange } from '../../../../test/fuzz/raw-exchange.ts'
import { bearerFor, pathOf, rightfulCalls, sendingOf, writeServiceAccounts } from '../../../../test/fuzz/rightful-calls.ts'
import { writeSharedRuntimes } from '../../../../test/fuzz/shared-runtime-calls.ts'
import { seeded, serverFixture } from '../../../../test/live-server.ts'
import { countedAppend } from '../audit/counted-append.ts'
import { metricsListener } from './metrics-listener.ts'

const { org } = seeded
const canary = 'CANARY-77d1c0'
const metrics = createMetrics()
const lines: string[] = []
const stream = new Writable({
  write: (chunk, _encoding, done) => {
    lines.push(String(chunk))
    done()
  },
})

interface Line {
  correlation_id: string
  operation: string
  [member: string]: unknown
}

const live = serverFixture(
  {
    parts: (parts) => ({
      ...parts,
      metrics,
      append: countedAppend(parts.append, metrics.auditAppended),
      logger: { ...loggerOptions('debug'), stream },
    }),
    policies: { 'rate_limit.api_requests_per_minute': 100_000, 'rate_limit.anonymous_requests_per_minute': 100_000 },
  },
  async (live) => {
    await writeServiceAccounts(live.sql)
    await writeSharedRuntimes(live.sql)
    await writeOperatorCredentials(live.sql)
  },
)

/** The lines of a request; the last may be written a moment after its answer. */
const linesOf = async (correlation_id: string): Promise<Line[]> => {
  const find = () => lines.map((line) => JSON.parse(line) as Line).filter((line) => line.correlation_id === correlation_id)
  await expect.poll(() => find().length).toBeGreaterThan(0)
  return find()
}
const named = (id: string, headers: Record<string, string> = {}) => ({ headers: { 'x-request-id': id, ...headers } })

describe('log lines', () => {
  test('AU-06 a request leaves one line: what was asked by whom, how it ended, how long it took', async () => {
    const { text } = await live.call('anna', 'GET', `/api/v1/orgs/${org.aurora}?`, named('one-line'))
    const [line, ...more] = await linesOf('one-line')
    expect(more).toEqual([])
    expect(line).toMatchObject({
      level: 'info',
      message: 'request',
      operation: 'organization.read',
      method: 'GET',
      route: '/api/v1/orgs/:org_id',
      status: 200,
      actor_type: 'user',
      actor_id: seeded.user('anna'),
      bytes: Buffer.byteLength(text),
    })
    expect(line!.milliseconds).toBeGreaterThan(0)
    expect(line!.code).toBeUndefined()
  })

  test('AU-06 a refusal names its problem; what the caller wrote into the address is not there', async () => {
    await live.call('anna', 'GET', `/api/v1/orgs/${org.borealis}?access_token=${canary}`, named('with-query'))
    await live.ask('anna', readOrganization, { params: { org_id: org.borealis }, ...named('not-found') })
    await live.ask(null, readMe, { ...named('bad-token', { authorization: `Bearer ${canary}` }) })
    await live.call('anna', 'GET', `/${canary}/nowhere?x=${canary}`, named('no-route'))
    await live.call('anna', 'GET', `/api/v1/orgs/%${canary}`, named('bad-path'))
    await live.call('alice', 'PATCH', `/api/v1/orgs/${org.aurora}`, { ...named('bad-body'), body: { [canary]: canary } })
    const seen = Object.fromEntries(
      await Promise.all(
        ['with-query', 'not-found', 'bad-token', 'no-route', 'bad-path', 'bad-body'].map(async (id) => {
          const [line, ...more] = await linesOf(id)
          return [id, [line!.operation, line!.route, line!.status, line!.code, more.length]]
        }),
      ),
    )
    expect(seen).toEqual({
      'with-query': ['organization.read', '/api/v1/orgs/:org_id', 400, 'invalid_request', 0],
      'not-found': ['organization.read', '/api/v1/orgs/:org_id', 404, 'organization_not_found', 0],
      'bad-token': ['me.read', '/api/v1/me', 401, 'token_invalid', 0],
      'no-route': ['none', 'none', 404, 'route_not_found', 0],
      'bad-path': ['none', 'none', 400, 'invalid_request', 0],
      'bad-body': ['organization.update', '/api/v1/orgs/:org_id', 400, 'validation_error', 0],
    })
    expect(lines.join()).not.toContain(canary)
    expect(lines.join()).not.toContain(await live.tokenOf('anna'))
  })

  test('AU-06 every operation is told by its id', async () => {
    for (const [index, { operation, person, params, body }] of rightfulCalls.entries()) {
      const { headers, ...sending } = sendingOf(operation, operation.body ? body : undefined)
      const told = { ...sending, headers: { ...named(`told-${index}`).headers, ...headers } }
      await live.call(bearerFor(operation, person), operation.method, pathOf(operation.path, params), told)
    }
    for (const [index, { operation, person, actor_id = seeded.user(person) }] of rightfulCalls.entries()) {
      const told = await linesOf(`told-${index}`)
      expect(told).toHaveLength(1)
      expect(told[0]).toMatchObject({ operation: operation.id, route: operation.path, actor_id })
    }
  })

  test('AU-06 what was no request has a line too, under the id that was answered', async () => {
    const { text } = await rawExchange(live.url, ['NONSENSE\r\n\r\n'])
    const id = /x-request-id: (\S+)/.exec(text)![1]!
    expect(await linesOf(id)).toMatchObject([{ operation: 'none', status: 400, code: 'invalid_request' }])
  })

  test('AU-06 a caller that went away has a line, and is no longer under way', async () => {
    const { port, hostname } = new URL(live.url)
    await live.sql('begin')
    await live.sql('lock table audit_heads')
    const socket = connect(Number(port), hostname)
    const body = JSON.stringify({ name: 'Left', slug: 'left' })
    socket.write(
      `POST /api/v1/orgs/${org.aurora}/projects HTTP/1.1\r\nHost: x\r\nX-Request-Id: went-away\r\nAuthorization: Bearer ${await live.tokenOf('alice')}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    await expect.poll(async () => /gatehouse_http_requests_in_flight (\d+)/.exec(await metrics.text())?.[1]).toBe('1')
    socket.destroy()
    expect(await linesOf('went-away')).toMatchObject([{ operation: 'project.create', status: 499 }])
    await live.sql('rollback')
    await expect.poll(async () => /gatehouse_http_requests_in_flight (\d+)/.exec(await metrics.text())?.[1]).toBe('0')
  })

  test('AU-06 our own failure is told with its cause, under the same id, and without the row it was about', async () => {
    await live.sql(`create function refuse_audit() returns trigger language plpgsql as
                      $$ begin raise exception 'no room' using detail = '${canary}', hint = '${canary}'; end $$;
                    create trigger refuse_audit before insert on audit_logs for each row execute function refuse_audit()`)
    await live.ask('alice', updateOrganization, { params: { org_id: org.aurora }, ...named('failed'), body: { name: 'N' } })
    await live.sql('drop trigger refuse_audit on audit_logs; drop function refuse_audit')
    const told = await linesOf('failed')
    expect(told).toMatchObject([
      { level: 'error', message: 'request failed', code: 'dependency_unavailable', err: { message: 'no room', code: 'P0001' } },
      { level: 'info', message: 'request', status: 503, code: 'dependency_unavailable' },
    ])
    expect(JSON.stringify(told)).not.toContain(canary)
  })

  test('AU-06 a probe that is well is worth no line at info', async () => {
    await live.call(null, 'GET', '/healthz', named('probe'))
    expect(await linesOf('probe')).toMatchObject([{ level: 'debug', operation: '/healthz', status: 200 }])
  })
})

describe('metrics', () => {
  const listening = fixture(
    async () => {
      const server = metricsListener(metrics).listen(0, '127.0.0.1')
      await once(server, 'listening')
      return { server }
    },
    ({ server }) => server.close(),
  )
  const listener = () => listening.server

  test('HO-10 metrics: asked at the API → 404; their own listener serves nothing else', async () => {
    expect((await live.call(null, 'GET', '/metrics')).body).toMatchObject({ code: 'route_not_found' })
    const own = `http://127.0.0.1:${(listener().address() as AddressInfo).port}`
    for (const path of ['/', '/healthz', '/api/v1/me', '/openapi.json', '/metrics/x'])
      expect([path, (await fetch(own + path)).status]).toEqual([path, 404])
    const posted = await fetch(`${own}/metrics`, { method: 'POST', body: 'x' })
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET'])
    const { statuses } = await rawExchange(own, ['GET /metrics HTTP/1.1\r\nConnection: close\r\nHost: x\r\nHost: y\r\n\r\n'])
    expect(statuses).toEqual([400])
  })

  test('HO-10 metrics: asked by many at once → collected once', async () => {
    let collected = 0
    const release = Promise.withResolvers<string>()
    const server = metricsListener({
      contentType: 'text/plain',
      text: () => {
        collected += 1
        return release.promise
      },
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    let asked = 0
    server.on('request', () => {
      asked += 1
    })
    const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`
    const all = Array.from({ length: 20 }, async () => (await fetch(own)).text())
    await expect.poll(() => asked).toBe(20)
    release.resolve('told')
    expect(new Set(await Promise.all(all))).toEqual(new Set(['told']))
    expect(collected).toBe(1)
    server.closeAllConnections()
    server.close()
  })

  const scraped = async () => {
    const response = await fetch(`http://127.0.0.1:${(listener().address() as AddressInfo).port}/metrics`)
    const type = response.headers.get('content-type')
    expect({ status: response.status, type }).toEqual({ status: 200, type: 'text/plain; version=0.0.4; charset=utf-8' })
    return response.text()
  }
  const numberOf = (text: string, series: string): number =>
    Number(
      text
        .split('\n')
        .find((line) => line.startsWith(`${series} `))
        ?.split(' ')[1] ?? 0,
    )

  test('AU-06 each metric moves by exactly what happened', async () => {
    const before = await scraped()
    await live.ask('anna', readMe)
    await live.ask('anna', readOrganization, { params: { org_id: org.borealis } })
    await live.ask(null, readMe)
    await live.ask(null, readMe, { headers: { authorization: 'Bearer nonsense' } })
    // The sweep above has left it suspended.
    expect((await live.ask('ada', resumeOrganization, { params: { org_id: org.aurora }, body: { reason: 'counted' } })).status).toBe(200)
    expect((await live.ask('alice', updateOrganization, { params: { org_id: org.aurora }, body: { name: 'Counted' } })).status).toBe(200)
    await live.setPolicy('rate_limit.api_requests_per_minute', 1)
    await live.ask('anna', readMe)
    await live.setPolicy('rate_limit.api_requests_per_minute', 100_000)
    metrics.checkpointed(7)
    metrics.signingKeyTended(false)
    let after = ''
    const moved = (series: string) => numberOf(after, series) - numberOf(before, series)
    await expect
      .poll(async () => {
        after = await scraped()
        return moved('gatehouse_http_requests_total{operation="me.read",method="GET",status="429"}')
      })
      .toBe(1)
    expect({
      ok: moved('gatehouse_http_requests_total{operation="me.read",method="GET",status="200"}'),
      refused: moved('gatehouse_http_requests_total{operation="me.read",method="GET",status="401"}'),
      timed: moved('gatehouse_http_request_duration_seconds_count{operation="me.read"}'),
      missing: moved('gatehouse_auth_rejected_total{code="token_missing"}'),
      invalid: moved('gatehouse_auth_rejected_total{code="token_invalid"}'),
      denied: moved('gatehouse_decisions_total{outcome="deny",reason="membership_missing"}'),
      allowed: moved('gatehouse_decisions_total{outcome="allow",reason="none"}'),
      rows: moved('gatehouse_audit_rows_total'),
      limited: moved('gatehouse_rate_limited_total{caller="user"}'),
    }).toEqual({ ok: 1, refused: 2, timed: 4, missing: 1, invalid: 1, denied: 1, allowed: 3, rows: 3, limited: 1 })
    expect(numberOf(after, 'gatehouse_audit_checkpoint_number')).toBe(7)
    expect(numberOf(after, 'gatehouse_signing_key_usable')).toBe(0)
    expect(numberOf(after, 'gatehouse_audit_checkpoint_age_seconds')).toBeLessThan(60)
    await expect.poll(async () => numberOf(await scraped(), 'gatehouse_http_requests_in_flight')).toBe(0)
  })

  test('AU-06 the pool and the process are seen', async () => {
    const text = await scraped()
    const states = ['used', 'idle', 'waiting'].map((state) => numberOf(text, `gatehouse_database_connections{state="${state}"}`))
    expect(states[0]! + states[1]!).toBeGreaterThan(0)
    for (const name of [
      'process_cpu_seconds_total',
      'process_resident_memory_bytes',
      'nodejs_eventloop_lag_p99_seconds',
      'nodejs_heap_size_used_bytes',
    ])
      expect(numberOf(text, name), name).toBeGreaterThan(0)
  })

  test('AU-06 no label holds an id, or anything that a caller wrote', async () => {
    await live.ask('anna', readOrganization, {
      params: { org_id: org.aurora },
      ...named(canary, { 'user-agent': canary, 'x-project-id': canary }),
    })
    await live.call('anna', 'GET', `/${canary}?${canary}`, named(canary))
    await rawExchange(live.url, [`BREW /${canary} HTTP/1.1\r\nHost: x\r\n\r\n`])
    const text = await scraped()
    expect(text).not.toContain(canary)
    expect(text).not.toMatch(/[0-9a-f]{8}-[0-9a-f]{4}-/)
  })
})

describe('readiness', () => {
  const proxied = async () => {
    const { hostname, port } = new URL(live.clone.appUrl)
    const proxy = await tcpProxy({ host: hostname, port: Number(port) })
    const database = openDatabase({ url: proxy.urlOf(live.clone.appUrl), max_connections: 2 })
    return { proxy, database }
  }
  const ready = async (url: string) => {
    const { status, body } = await live.call(null, 'GET', '/readyz', {}, url)
    return { status, body }
  }

  test('AU-06 readiness says which part is not well, within a second or so, and notices its return; health stays', async () => {
    const { proxy, database } = await proxied()
    let hasKeys = false
    const { url } = await live.replica({ database, identityReady: () => hasKeys })
    await expect
      .poll(() => ready(url))
      .toMatchObject({
        status: 503,
        body: { status: 'unready', database: 'ok', identity_keys: 'unavailable', is_draining: false },
      })
    hasKeys = true
    await expect
      .poll(() => ready(url))
      .toMatchObject({
        status: 200,
        body: { status: 'ready', database: 'ok', identity_keys: 'ok', is_draining: false },
      })

    proxy.silence()
    const silent = await ready(url)
    expect(silent).toMatchObject({ status: 503, body: { status: 'unready', database: 'unavailable', identity_keys: 'ok' } })
    expect((await live.call(null, 'GET', '/healthz', {}, url)).status).toBe(200)

    proxy.heal()
    proxy.cut()
    await expect.poll(async () => (await ready(url)).status).toBe(200)

    await proxy.stop()
    expect(await ready(url)).toMatchObject({ status: 503, body: { database: 'unavailable' } })
    expect((await live.call(null, 'GET', '/healthz', {}, url)).status).toBe(200)
    await database.close()
  })
})

describe('traces', () => {
  interface Sent {
    name: string
    traceId: string
    spanId: string
    parentSpanId?: string
    status?: { code?: number }
    attributes: { key: string; value: { stringValue?: string; intValue?: number } }[]
  }

  /** A collector that takes OTLP over HTTP as any other does, and keeps it. */
  const collector = async () => {
    const posts: { url: string; type: string | undefined; text: string }[] = []
    const server = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      posts.push({ url: request.url!, type: request.headers['content-type'], text: Buffer.concat(chunks).toString('utf8') })
      response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return {
      endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      posts,
      spans: () =>
        posts.flatMap(({ text }) =>
          JSON.parse(text).resourceSpans.flatMap(({ scopeSpans }: { scopeSpans: { spans: Sent[] }[] }) =>
            scopeSpans.flatMap(({ spans }) => spans),
          ),
        ) as Sent[],
      stop: () => new Promise((resolve) => server.close(resolve)),
    }
  }
  const attribute = ({ attributes }: Sent, key: string) => attributes.find((each) => each.key === key)?.value

  test('AU-06 a request is a span of its operation with its correlation id, in the trace of the caller, and holds no secret', async () => {
    const { endpoint, posts, spans, stop } = await collector()
    const stopTracing = await startTracing({ endpoint: `${endpoint}/` })
    const traceId = '0af7651916cd43dd8448eb211c80319c'
    const traceparent = `00-${traceId}-b7ad6b7169203331-01`
    const others = { tracestate: `v=${canary}`, baggage: `k=${canary}`, cookie: canary }
    await live.ask('anna', readOrganization, { params: { org_id: org.aurora }, ...named('traced', { traceparent, ...others }) })
    await live.call('anna', 'GET', `/api/v1/orgs/${org.borealis}?x=${canary}`, named('traced-refusal'))
    await live.ask('anna', readOrganization, { params: { org_id: org.borealis }, ...named('traced-404') })
    await live.ask(null, readMe, { ...named('traced-401', { authorization: `Bearer ${canary}`, traceparent: `nonsense-${canary}` }) })
    const line = (await linesOf('traced'))[0]!
    await linesOf('traced-401')
    await stopTracing()

    expect(posts.length).toBeGreaterThan(0)
    for (const { url, type } of posts) expect([url, type]).toEqual(['/v1/traces', 'application/json'])
    expect(posts[0]!.text).toContain('"service.name"')
    const told = spans().filter((span) => attribute(span, 'gatehouse.correlation_id')?.stringValue === 'traced')
    expect(told.map(({ name }) => name).sort()).toEqual(['identify', 'organization.read', 'transaction'])
    const root = told.find(({ name }) => name === 'organization.read')!
    expect(root).toMatchObject({ traceId, parentSpanId: 'b7ad6b7169203331' })
    expect(line.trace_id).toBe(traceId)
    for (const span of told.filter((each) => each !== root)) expect(span).toMatchObject({ traceId, parentSpanId: root.spanId })
    expect(attribute(root, 'http.route')).toEqual({ stringValue: '/api/v1/orgs/:org_id' })
    expect(attribute(root, 'http.response.status_code')).toEqual({ intValue: 200 })

    const refused = spans().find((span) => attribute(span, 'gatehouse.problem_code')?.stringValue === 'token_invalid')!
    expect(refused.name).toBe('me.read')
    expect(refused.traceId).not.toBe(traceId)
    expect(spans().map(({ name }) => name)).toContain('refusal')

    const sent = posts.map(({ text }) => text).join()
    for (const secret of [canary, await live.tokenOf('anna'), seeded.user('anna'), org.aurora, org.borealis])
      expect(sent).not.toContain(secret)
    await stop()
  })

  test('AU-06 a collector that is gone, or silent, costs requests nothing and does not hold the stop', async () => {
    const silent = createServer(() => {})
    await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve))
    for (const endpoint of ['http://127.0.0.1:9', `http://127.0.0.1:${(silent.address() as AddressInfo).port}`]) {
      const stopTracing = await startTracing({ endpoint })
      expect((await live.ask('anna', readMe)).status).toBe(200)
      const before = performance.now()
      await stopTracing()
      // Its own bound is some seconds; this one is for what hangs.
      expect(performance.now() - before).toBeLessThan(60_000)
    }
    silent.closeAllConnections()
    silent.close()
  })

  test('AU-06 without an address nothing is traced', async () => {
    await (await startTracing(null))()
    await live.ask('anna', readMe, { ...named('untraced') })
    expect((await linesOf('untraced'))[0]).not.toHaveProperty('trace_id')
  })
})
