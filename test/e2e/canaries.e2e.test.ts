import { randomBytes, randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { exchangeGrant, tokenTypes } from '../../contract/src/oauth.ts'
import { authorityEnvelopes } from '../../server/src/fleet/nodes/authority.ts'
import { activeAuthority } from '../../server/src/fleet/nodes/authority-queries.ts'
import { boundOfSigner } from '../../server/src/fleet/task-signers/make-signer.ts'
import { activeSigner } from '../../server/src/fleet/task-signers/task-signer-queries.ts'
import { unseal } from '../../server/src/ground/custody/envelope.ts'
import { parseKeyRing } from '../../server/src/ground/custody/key-ring.ts'
import { openDatabase } from '../../server/src/ground/db/database.ts'
import { ownSecret } from '../../server/src/ground/installation/own-secrets.ts'
import { boundOf } from '../../server/src/machines/keys/make-key.ts'
import { liveKeys } from '../../server/src/machines/keys/signing-key-queries.ts'
import { signText } from '../../server/src/people/principals/oidc/testing/local-issuer.ts'
import { collector } from '../canaries/collector.ts'
import { filesIn, tablesOf } from '../canaries/corpora.ts'
import { type Found, finder, leaksAmong, type Marker, markerText, search } from '../canaries/marker.ts'
import { type Probe, probesFor } from '../canaries/places.ts'
import { realServer } from '../canaries/real-server.ts'
import { doorCaller, nodeKeys, pemOf, readToken, type Told } from '../enrolled-node.ts'
import { ownPostgres } from '../faults/own-postgres.ts'
import { type FaultWorld, faultWorld } from '../faults/world.ts'
import { writeOperatorCredentials } from '../fuzz/operator-credential-calls.ts'
import { rawExchange } from '../fuzz/raw-exchange.ts'
import { formOf, pathOf, rightfulCalls, writeServiceAccounts, writeSshKeys } from '../fuzz/rightful-calls.ts'
import { writeSharedRuntimes } from '../fuzz/shared-runtime-calls.ts'
import { seeded, testKeys } from '../live-server.ts'
import { isWhole, sweep as shareOf } from '../sweep.ts'

type Postgres = Awaited<ReturnType<typeof ownPostgres>>

let folder: string
let postgres: Postgres
let world: FaultWorld
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), `gatehouse-run-${process.pid}-`))
  postgres = await ownPostgres({ folder })
  world = await faultWorld(postgres)
  await writeServiceAccounts(world.sql)
  await writeSshKeys(world.sql)
  await writeSharedRuntimes(world.sql)
  await writeOperatorCredentials(world.sql)
})
afterAll(async () => {
  await world.stop()
  await postgres.stop()
  rmSync(folder, { recursive: true, force: true })
})

const once = { 'its own answer': 'it is shown this once' }
/** The secrets and tokens that an answer gives out; of a token its signature, without which the rest is of no use. */
const secretsShownIn = (text: string): Marker[] => [
  ...[...text.matchAll(/gh(?:sa|ro)_([A-Za-z0-9_-]{43})/g)].map(([, secret]) => ({
    place: 'a secret that was shown',
    text: secret!,
    may: once,
  })),
  ...[...text.matchAll(/ghwd_([A-Za-z0-9_-]{43})/g)].map(([, token]) => ({
    place: 'a wrapping token that was shown',
    text: token!,
    may: once,
  })),
  ...[...text.matchAll(/ghne_[A-Za-z0-9_-]{200,}/g)].flatMap(([token]) => [
    { place: 'an enrolment token that was shown', text: token, may: once },
    { place: 'the secret of an enrolment token', text: readToken(token).secret, may: once },
  ]),
  ...[...text.matchAll(/eyJ[\w-]+\.eyJ[\w-]+\.([\w-]{40,})/g)].map(([, signed]) => ({
    place: 'a token that was issued',
    text: signed!,
    may: once,
  })),
]

/** A secret that is right, sent in every way and to every end that there is: what it opens, and each way to be refused with it. */
const issueInEveryWay = async (url: string, heard: (marker: null, response: Response) => Promise<string>) => {
  const send = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(`${url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    return { status: response.status, body: JSON.parse((await heard(null, response)) || 'null') }
  }
  const amara = { authorization: `Bearer ${await world.tokenOf('amara')}` }
  const accounts = `/api/v1/projects/${seeded.project.aurora}/service-accounts`
  const slug = `c-${randomBytes(6).toString('hex')}`
  const account = (await send(accounts, { name: slug, slug }, amara)).body
  const { key_id, client_secret } = (await send(`${accounts}/${account.id}/keys`, {}, amara)).body
  const right = { service_account_id: account.id, key_id, client_secret }
  const path = '/api/v1/auth/service-account/token'
  const told = async (...sending: Parameters<typeof send>) => (await send(...sending)).status
  const key = { 'idempotency-key': slug }
  const statuses = [
    await told(path, right),
    await told(path, right, key),
    await told(path, right, key),
    await told(path, { ...right, ttl_seconds: 60 }, key),
    await told(path, { ...right, ttl_seconds: 0 }),
    await told(path, { ...right, audience: 'nowhere' }),
    await told(path, { ...right, surprise: client_secret }),
    await told(path, JSON.stringify(right).slice(0, -1)),
    await told(path, { ...right, org_id: seeded.org.borealis }),
    await told(path, { ...right, scope: 'platform.admin' }),
    await told(path, { ...right, key_id: randomUUID() }),
    await told(path, { ...right, service_account_id: randomUUID() }),
    await told(`${path}?client_secret=${client_secret}`, right),
    await told(`${path}?x=${client_secret}`, right),
    await told('/api/v1/me', undefined, { authorization: `Bearer ${client_secret}` }),
    await told('/api/v1/me', undefined, { authorization: `Basic ${btoa(`${key_id}:${client_secret}`)}` }),
  ]
  const strayed = [
    await told(path, { ...right, reason: `it was ${client_secret}` }),
    await told(path, { ...right, source_workflow_id: client_secret }),
    await told(path, right, { 'idempotency-key': client_secret }),
    await told(accounts, { name: client_secret, slug: `${slug}-2` }, amara),
    await told(`/nowhere?${client_secret}`, undefined),
    await told(path, right, { 'x-request-id': client_secret }),
  ]
  expect(strayed).toEqual([400, 400, 400, 400, 400, 200])
  expect(statuses).toEqual([200, 200, 409, 422, 400, 400, 400, 400, 403, 403, 401, 401, 400, 400, 401, 401])
  const max = 'auth.iam_token_issuer.max_ttl_seconds'
  await world.sql(`update policy_values set value = '"garbled"' where key = $1 and replaced_at is null`, [max])
  expect(await told(path, right)).toBe(503)
  await world.sql(`update policy_values set value = '3600' where key = $1 and replaced_at is null`, [max])
  const token = (await send(path, right)).body.access_token
  const bearer = { authorization: `Bearer ${token}` }
  expect(await told(`/api/v1/projects/${seeded.project.aurora}`, undefined, bearer)).toBe(200)
  expect(await told('/api/v1/orgs', undefined, bearer)).toBe(403)
  expect(await told(`/api/v1/me?access_token=${token}`, undefined)).toBe(400)
  expect(await told(`/api/v1/me?x=${token}`, undefined, bearer)).toBe(400)
  const exchange = { grant_type: exchangeGrant, client_id: key_id, client_secret, subject_token: token, subject_token_type: tokenTypes.jwt }
  const exchanged = (changed: object, query = '') =>
    told(`/oauth2/token${query}`, formOf({ ...exchange, ...changed }), { 'content-type': 'application/x-www-form-urlencoded' })
  expect(await exchanged({})).toBe(200)
  expect(await exchanged({ subject_token: `${token}x` })).toBe(400)
  expect(await exchanged({ actor_token: token })).toBe(400)
  expect(await exchanged({}, `?subject_token=${token}`)).toBe(400)
  expect(await told('/api/v1/auth/tokens/revoke', { actor: { type: 'service_account', id: account.id } }, amara)).toBe(200)
  expect(await told(`/api/v1/projects/${seeded.project.aurora}`, undefined, bearer)).toBe(401)
  expect(await told(`/api/v1/projects/${seeded.project.aurora}/tokens`, undefined, amara)).toBe(200)
}

/** A token of a node's, used in every way; the key that the node made, which never left it, is not to be found either. */
const enrolInEveryWay = async (url: string, heard: (marker: null, response: Response) => Promise<string>) => {
  const ada = { authorization: `Bearer ${await world.tokenOf('ada')}` }
  const body = JSON.stringify({ name: `n-${randomBytes(6).toString('hex')}`, region: 'nowhere', sku: 'canary', gpus: 1 })
  const made = await fetch(`${url}/api/v1/admin/nodes`, { method: 'POST', headers: { ...ada, 'content-type': 'application/json' }, body })
  const enrolment_token: string = JSON.parse(await heard(null, made)).enrolment_token
  const token = readToken(enrolment_token)
  const { key, csr } = await nodeKeys()
  const other = await nodeKeys()
  const ca = pemOf(token.ca)
  const told = async ({ status, headers, text }: Told) => {
    const pairs = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)])
    await heard(null, new Response(text, { status, headers: pairs }))
    return status
  }
  const door = doorCaller(token.url, { ca })
  const enrol = (sent: unknown, query = '', headers = {}) => door.call('POST', `/internal/v1/nodes/enroll${query}`, sent, headers)
  const statuses = [
    await told(await enrol({ enrolment_token, csr: key })),
    await told(await enrol({ enrolment_token: `${enrolment_token}x`, csr })),
    await told(await enrol({ enrolment_token, csr, agent_version: token.secret }, `?enrolment_token=${enrolment_token}`)),
    await told(await enrol({ enrolment_token, csr, surprise: enrolment_token })),
    await told(await enrol({ enrolment_token, csr }, '', { 'idempotency-key': enrolment_token.slice(0, 100) })),
  ]
  const enrolled = await enrol({ enrolment_token, csr })
  statuses.push(await told(enrolled))
  // Asked again, and tried by somebody else.
  for (const again of [csr, other.csr]) statuses.push(await told(await enrol({ enrolment_token, csr: again })))
  const node = doorCaller(token.url, { ca, key, cert: enrolled.body.certificate })
  const renewal = `/internal/v1/nodes/${token.node_id}/certificate`
  statuses.push(await told(await node.call('POST', renewal, { csr })), await told(await node.call('POST', renewal, { csr: key })))
  expect(statuses).toEqual([400, 401, 400, 400, 400, 201, 201, 401, 201, 400])
  door.stop()
  node.stop()
  return [{ place: 'the private key of a node', text: key.split('\n')[1]!, may: {} }]
}

/** A secret that is left for a runtime, replaced, delivered, and refused in every way; it is told in the one answer that opens it. */
const deliverInEveryWay = async (url: string, heard: (marker: Marker | null, response: Response) => Promise<string>) => {
  const left = ['left', 'left anew', 'never opened'].map((what): Marker => ({ place: `a secret ${what}`, text: markerText(), may: once }))
  const send = async (person: string, path: string, body: object, own: Marker | null = null, headers = {}) => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${person}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
    return { status: response.status, body: JSON.parse((await heard(own, response)) || 'null') }
  }
  const alice = await world.tokenOf('alice')
  const runtimes = `/orgs/${seeded.org.aurora}/shared-app-runtimes`
  const display_name = `c-${randomBytes(6).toString('hex')}`
  const wish = { app_slug: 'canary', app_version: '1', display_name, runtime_backend: 'slurm' }
  const { id: shared_runtime_id } = (await send(alice, runtimes, wish)).body
  const runtime = `${runtimes}/${shared_runtime_id}`
  const { key_id, client_secret } = (await send(alice, `${runtime}/operator-credentials`, {})).body
  const credential = { shared_runtime_id, key_id, client_secret }
  const operator = (await send('', '/auth/shared-runtime-operator/token', credential)).body.access_token as string
  const deposit = (secret: Marker, name = 'db', headers = {}) =>
    send(alice, `${runtime}/credentials`, { name, secret: secret.text }, null, headers)
  const deliver = async () => (await send(operator, `${runtime}/credential-deliveries`, { name: 'db' })).body.wrapping_token as string
  const open = (wrapping_token: string, own: Marker | null = null) => send(operator, '/deliveries/unwrap', { wrapping_token }, own)
  const key = { 'idempotency-key': display_name }
  const statuses = [await deposit(left[0]!, 'db', key), await deposit(left[0]!, 'db', key), await deposit(left[1]!, 'db', key)]
  const first = await deliver()
  statuses.push(await open(first, left[0]!), await open(first), await open(`${first}x`))
  const second = await deliver()
  statuses.push(await deposit(left[1]!), await open(second), await open(await deliver(), left[1]!))
  statuses.push(
    await deposit(left[2]!, 'other'),
    await deposit(left[2]!, 'Other'),
    await send(alice, '/deliveries/unwrap', { wrapping_token: first }),
  )
  expect(statuses.map(({ status }) => status)).toEqual([201, 201, 422, 200, 404, 404, 201, 404, 200, 201, 400, 403])
  return left
}

/** Operations that keep what they are given, log it and answer with it: without them the search could not show that it finds. */
const anchors = rightfulCalls.filter(({ operation }) => /^(organization|project)\.(create|update)$/.test(operation.id))

/** Asks every operation, a share of them with a marker in every place, and keeps what came back. */
const sweep = async (url: string, secrets: readonly Marker[], calls = rightfulCalls) => {
  const markers: Marker[] = [...secrets]
  const answers: { own: readonly Marker[]; bytes: Buffer; status: number }[] = []
  const heard = async (marker: Marker | null, response: Response) => {
    const head = [...response.headers].map((pair) => pair.join(': ')).join('\n')
    const text = await response.text()
    // What is shown once is shown here, and from now on nowhere.
    const shown = secretsShownIn(text)
    markers.push(...shown)
    answers.push({
      own: marker ? [marker, ...shown] : shown,
      status: response.status,
      bytes: Buffer.from(`${head}\n\n${text}`),
    })
    return text
  }
  const send = async (call: (typeof rightfulCalls)[number], probe: Probe) => {
    const { operation, person, params } = call
    const { headers = {}, query, path, raw, body = call.body } = probe
    const isForm = operation.speaks === 'oauth'
    const own = isForm ? null : `Bearer ${await world.tokenOf(person)}`
    const authorization = probe.authorization === undefined ? own : probe.authorization
    const named = path === undefined ? params : Object.fromEntries(Object.keys(params).map((name) => [name, path]))
    const fresh = call.body?.slug ? { ...(body as object), slug: `s-${randomBytes(6).toString('hex')}` } : body
    const written = () => (isForm ? formOf(fresh as Record<string, unknown>) : JSON.stringify(fresh))
    const sent = raw ?? (operation.body ? written() : undefined)
    const response = await fetch(`${url}${pathOf(operation.path, named)}${query ? `?${query}` : ''}`, {
      method: operation.method,
      headers: {
        ...(authorization === null ? {} : { authorization }),
        ...(sent === undefined ? {} : { 'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json' }),
        ...headers,
      },
      ...(sent === undefined ? {} : { body: sent }),
    })
    await heard(probe.marker, response)
  }
  // While everything is as it was.
  if (calls === rightfulCalls) {
    await issueInEveryWay(url, heard)
    markers.push(...(await enrolInEveryWay(url, heard)))
    markers.push(...(await deliverInEveryWay(url, heard)))
    // Five of a service account and one of an operator, whatever share follows: each of them was recognized.
    expect(markers.filter(({ place }) => place === 'a token that was issued')).toHaveLength(6)
  }
  const unknown: Marker = { place: 'nothing', text: markerText(), may: {} }
  const probed = new Set(calls === rightfulCalls ? [...anchors, ...shareOf('canaries', rightfulCalls, 25)] : calls)
  for (const call of calls) {
    // What an earlier operation closed is open again, so that this one can succeed.
    for (const table of ['organizations', 'projects']) await world.sql(`update ${table} set state = 'active'`)
    // Also as it should be: what succeeds is logged and counted in other places than what fails.
    await send(call, { marker: unknown })
    if (probed.has(call))
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
    answers.push({ own: [marker], status: 0, bytes: Buffer.from(JSON.stringify(answer)) })
  }
  await heard(null, await fetch(`${url}/openapi.json`))
  return { markers, answers }
}

/** A marker in the answer to its own request, and in any other. */
const searchAnswers = ({ markers, answers }: Awaited<ReturnType<typeof sweep>>): Found[] => {
  const markersIn = finder(markers)
  return answers.flatMap(({ own, bytes }) =>
    [...markersIn(bytes)].map((marker) => ({ marker, where: own.includes(marker) ? 'its own answer' : 'other answers' })),
  )
}

/** Sealed with the first of these, and opened with both. */
const key = randomBytes(32).toString('base64url')
const keys = `canary:${key},${testKeys}`

test('HO-08 AU-06 TI-18 no secret is found in a table, a file, the log, the metrics, the traces or an answer that it is not for', {
  timeout: 420_000,
}, async () => {
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
  // The server made one more key with the first key-encryption key, when it rotated or found none.
  const signing = (await database.reader.many(liveKeys())).flatMap(({ kid, envelope }) =>
    envelope === null
      ? []
      : [
          {
            place: 'a private signing key',
            text: (JSON.parse(unseal(parseKeyRing(keys), envelope, boundOf(kid)).reveal()) as { d: string }).d,
            may: {},
          },
        ],
  )
  expect(signing.length).toBeGreaterThan(0)
  own.push(...signing)
  const { id, envelope } = await database.reader.one(activeAuthority())
  const authority = unseal(parseKeyRing(keys), envelope, authorityEnvelopes.boundOf(id)).reveal()
  // Behind what is the same in all such keys.
  own.push({ place: 'the private key of the node authority', text: authority.slice(60, 100), may: {} })
  const signer = await database.reader.one(activeSigner())
  const { d } = JSON.parse(unseal(parseKeyRing(keys), signer.envelope, boundOfSigner(signer.kid)).reveal()) as { d: string }
  own.push({ place: 'the private key that signs tasks', text: d, may: {} })
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
  const metrics = Buffer.from(await (await fetch(`http://127.0.0.1:${server.metrics_port}/metrics`)).text())
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
  expect(swept.markers.length).toBeGreaterThan(isWhole ? 400 : 100)
  expect(swept.answers.filter(({ status }) => status >= 200 && status < 300).length).toBeGreaterThan(100)
  // But for the one that was asked for.
  expect(swept.answers.filter(({ status }) => status >= 500).map(({ status }) => status)).toEqual([503])
  const shown = (place: string) => swept.markers.filter((marker) => marker.place === place).length
  expect(shown('a secret that was shown')).toBeGreaterThan(0)
  // Which other operations issue one depends on the share.
  if (isWhole) expect(shown('a token that was issued')).toBeGreaterThan(10)
  expect(shown('the secret of an enrolment token')).toBeGreaterThan(0)
  expect(shown('a wrapping token that was shown')).toBeGreaterThanOrEqual(3)
})

test('HO-08 a server that logs the headers it gets is found out', async () => {
  const server = await world.start({ build: 'logs_headers', logLevel: 'trace', keys })
  const swept = await sweep(server.url, [], rightfulCalls.slice(0, 3))
  await server.kill()
  const leaks = leaksAmong(search(swept.markers, new Map([['the log', Buffer.from(server.output())]])))
  for (const place of ['a bearer token that is no token', 'a cookie', 'an API key in a header', 'a good token', 'a password'])
    expect(leaks.some((leak) => leak.startsWith(place))).toBe(true)
})
