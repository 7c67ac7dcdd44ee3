import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseKeyRing } from '../../server/src/custody/key-ring.ts'
import { openDatabase } from '../../server/src/db/database.ts'
import { ownSecret } from '../../server/src/installation/own-secrets.ts'
import { signText } from '../../server/src/principals/oidc/testing/local-issuer.ts'
import { collector } from '../canaries/collector.ts'
import { filesIn, tablesOf } from '../canaries/corpora.ts'
import { type Found, finder, leaksAmong, type Marker, markerText, search } from '../canaries/marker.ts'
import { type Probe, probesFor } from '../canaries/places.ts'
import { realServer } from '../canaries/real-server.ts'
import { ownPostgres } from '../faults/own-postgres.ts'
import { type FaultWorld, faultWorld } from '../faults/world.ts'
import { rawExchange } from '../fuzz/raw-exchange.ts'
import { pathOf, rightfulCalls } from '../fuzz/rightful-calls.ts'
import { testKeys } from '../live-server.ts'

type Postgres = Awaited<ReturnType<typeof ownPostgres>>

let folder: string
let postgres: Postgres
let world: FaultWorld
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), `gatehouse-run-${process.pid}-`))
  postgres = await ownPostgres({ folder })
  world = await faultWorld(postgres)
})
afterAll(async () => {
  await world.stop()
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
})

/** Asks every operation with a marker in every place, and keeps what came back. */
const sweep = async (url: string, secrets: readonly Marker[], calls = rightfulCalls) => {
  const markers: Marker[] = [...secrets]
  const answers: { marker: Marker | null; bytes: Buffer; status: number }[] = []
  const heard = async (marker: Marker | null, response: Response) => {
    const head = [...response.headers].map((pair) => pair.join(': ')).join('\n')
    answers.push({ marker, status: response.status, bytes: Buffer.from(`${head}\n\n${await response.text()}`) })
  }
  const send = async (call: (typeof rightfulCalls)[number], probe: Probe) => {
    const { operation, person, params } = call
    const { headers = {}, query, path, raw, body = call.body } = probe
    const authorization = probe.authorization === undefined ? `Bearer ${await world.tokenOf(person)}` : probe.authorization
    const named = path === undefined ? params : Object.fromEntries(Object.keys(params).map((name) => [name, path]))
    const fresh = call.body?.slug ? { ...(body as object), slug: `s-${randomBytes(6).toString('hex')}` } : body
    const sent = raw ?? (operation.body ? JSON.stringify(fresh) : undefined)
    const response = await fetch(`${url}${pathOf(operation.path, named)}${query ? `?${query}` : ''}`, {
      method: operation.method,
      headers: {
        ...(authorization === null ? {} : { authorization }),
        ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(sent === undefined ? {} : { body: sent }),
    })
    await heard(probe.marker, response)
  }
  const unknown: Marker = { place: 'nothing', text: markerText(), may: {} }
  for (const call of calls) {
    // What an earlier operation closed is open again, so that this one can succeed.
    for (const table of ['organizations', 'projects']) await world.sql(`update ${table} set state = 'active'`)
    // Also as it should be: what succeeds is logged and counted in other places than what fails.
    await send(call, { marker: unknown })
    for (const probe of probesFor(call.operation, call.body)) {
      markers.push(probe.marker)
      await send(call, probe)
    }
  }
  // Tokens that are good, or nearly: their own bytes, and what stands in them beyond what is read.
  const now = Math.floor(Date.now() / 1000)
  for (const [place, changed, header] of [
    ['a good token', {}, {}],
    ['an expired token', { exp: now - 3600 }, {}],
    ['a token for somebody else', { aud: 'elsewhere' }, {}],
    ['a token with an unknown key', {}, { kid: markerText() }],
  ] as const) {
    const inside = { place: `a claim of ${place}`, text: markerText(), may: {} }
    const claims = world.issuer.claims(now, { sub: 'anna', preferred_username: 'anna', ...changed, password: inside.text })
    const token = await signText(world.issuer.key, JSON.stringify(claims), header)
    markers.push(inside, { place, text: token.split('.')[2]!, may: {} })
    if ('kid' in header) markers.push({ place: 'the id of a key', text: header.kid, may: {} })
    await heard(inside, await fetch(`${url}/api/v1/me`, { headers: { authorization: `Bearer ${token}` } }))
    await heard(inside, await fetch(`${url}/api/v1/me?access_token=${token}`))
  }
  // What no client library would send.
  const { host } = new URL(url)
  for (const [place, bytes] of [
    [
      'a password in the address',
      (text: string) => `GET http://ada:${text}@${host}/api/v1/me HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`,
    ],
    ['a route that is not there', (text: string) => `GET /${text}?${text} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`],
    ['a method that is none', (text: string) => `${text.toUpperCase()} / HTTP/1.1\r\nhost: ${host}\r\n\r\n`],
    ['a header without a colon', (text: string) => `GET / HTTP/1.1\r\n${text}\r\n\r\n`],
    ['a header that is too long', (text: string) => `GET / HTTP/1.1\r\nx: ${text.repeat(1000)}\r\n\r\n`],
  ] as const) {
    const marker = { place, text: markerText(), may: {} }
    markers.push(marker)
    const answer = await rawExchange(url, [bytes(marker.text)])
    answers.push({ marker, status: 0, bytes: Buffer.from(JSON.stringify(answer)) })
  }
  await heard(null, await fetch(`${url}/openapi.json`))
  return { markers, answers }
}

/** A marker in the answer to its own request, and in any other. */
const searchAnswers = ({ markers, answers }: Awaited<ReturnType<typeof sweep>>): Found[] => {
  const markersIn = finder(markers)
  return answers.flatMap(({ marker: own, bytes }) =>
    [...markersIn(bytes)].map((marker) => ({ marker, where: marker === own ? 'its own answer' : 'other answers' })),
  )
}

test('HO-08 AU-06 no secret is found in a table, a file, the log, the metrics, the traces or an answer that it is not for', async () => {
  const key = randomBytes(32).toString('base64url')
  const keys = `canary:${key},${testKeys}`
  const checkpoints = join(folder, 'checkpoints.jsonl')
  const traces = await collector()
  const server = await realServer({
    OTEL_EXPORTER_OTLP_ENDPOINT: traces.endpoint,
    // Packed, as many set it; and nothing is dropped, however fast we ask.
    OTEL_EXPORTER_OTLP_COMPRESSION: 'gzip',
    OTEL_BSP_MAX_QUEUE_SIZE: '100000',
    GATEHOUSE_PROFILE: 'development',
    GATEHOUSE_LOG_LEVEL: 'trace',
    DATABASE_URL: postgres.appUrl,
    DATABASE_OWNER_URL: postgres.ownerUrl,
    GATEHOUSE_KEY_ENCRYPTION_KEYS: keys,
    GATEHOUSE_CHECKPOINT_FILE: checkpoints,
    GATEHOUSE_OIDC_ISSUERS: JSON.stringify([world.issuer.settings]),
  })
  const database = openDatabase({ url: postgres.appUrl, max_connections: 1 })
  const own = await Promise.all(
    (['cursor_key', 'audit_key', 'checkpoint_key'] as const).map(async (name) => ({
      place: `the installation's ${name}`,
      text: (await ownSecret(database, parseKeyRing(keys), name)).reveal(),
      may: {},
    })),
  )
  await database.close()
  const secrets: Marker[] = [
    ...own,
    { place: 'the key-encryption key', text: key, may: {} },
    {
      place: "the application's database password",
      text: new URL(postgres.appUrl).password,
      may: { 'the files of the database': 'where the supervisor keeps it, readable by nobody else' },
    },
    {
      place: "the owner's database password",
      text: new URL(postgres.ownerUrl).password,
      may: { 'the files of the database': 'where the supervisor keeps it, readable by nobody else' },
    },
  ]
  // Where keys are kept as bytes, a table shows them in hexadecimal.
  const asBytes = [...own, ...secrets.filter(({ text }) => text === key)].map(({ place, text }) => ({
    place: `${place}, as bytes`,
    text: Buffer.from(text, 'base64url').toString('hex'),
    may: {},
  }))
  const swept = await sweep(server.url, [...secrets, ...asBytes])
  const metrics = Buffer.from(await (await fetch(`${server.url}/metrics`)).text())
  await server.stop()
  await traces.stop()
  const places = new Map([
    ...(await tablesOf(world.sql)),
    ['the log', server.spoken()],
    ['the metrics', metrics],
    ['the traces', traces.received()],
    ['the checkpoints', readFileSync(checkpoints)],
    ['the files of the database', filesIn(folder)],
  ])
  const found = [...search(swept.markers, places), ...searchAnswers(swept)]
  expect([...new Set(leaksAmong(found))]).toEqual([])

  // The search can find: what may be kept was kept, a log was written, some were answered well and some were not.
  const seen = new Set(found.map(({ where }) => where))
  for (const where of [
    'table organizations',
    'table audit_logs',
    'table idempotency_keys',
    'the log',
    'the traces',
    'the files of the database',
    'its own answer',
  ])
    expect(seen).toContain(where)
  const spans = new Set(traces.spanNames())
  expect(rightfulCalls.filter(({ operation }) => !spans.has(operation.id))).toEqual([])
  expect(swept.markers.length).toBeGreaterThan(400)
  expect(swept.answers.filter(({ status }) => status >= 200 && status < 300).length).toBeGreaterThan(100)
  expect(swept.answers.filter(({ status }) => status >= 500)).toEqual([])
})

test('HO-08 a server that logs the headers it gets is found out', async () => {
  const server = await world.start({ build: 'logs_headers', logLevel: 'trace' })
  const swept = await sweep(server.url, [], rightfulCalls.slice(0, 3))
  await server.kill()
  const leaks = leaksAmong(search(swept.markers, new Map([['the log', Buffer.from(server.output())]])))
  for (const place of ['a bearer token that is no token', 'a cookie', 'an API key in a header', 'a good token', 'a password'])
    expect(leaks.some((leak) => leak.startsWith(place))).toBe(true)
})
