import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { parseKeyRing } from '../../server/src/ground/custody/key-ring.ts'
import { openDatabase } from '../../server/src/ground/db/database.ts'
import { auditKey } from '../../server/src/ground/installation/own-secrets.ts'
import { fixedId } from '../../server/src/ground/kernel/ids.ts'
import { localIssuer, signText } from '../../server/src/people/principals/oidc/testing/local-issuer.ts'
import { seedDevelopment } from '../../server/src/process/seed-development.ts'
import { verifyChains } from '../../server/src/rails/audit/verify-chains.ts'
import { doorCaller, nodeKeys, pemOf, readToken } from '../enrolled-node.ts'
import { formOf, pathOf } from '../fuzz/rightful-calls.ts'
import { seeded, testKeys } from '../live-server.ts'
import { composeServer, type Reaching } from './compose.ts'
import { type Attempt, type Intent, openJournal } from './journal.ts'
import { bearing, nodeBy, type Stage } from './recipes/recipe.ts'
import { isKeyed, operationOf, recipes } from './recipes.ts'
import type { Sql } from './replay/room.ts'
import { readState } from './replay.ts'
import { type ServerProcess, type Settings, startServerProcess } from './server-process.ts'
import type { Reached } from './statement-faults.ts'

export type Place = { readonly appUrl: string; readonly ownerUrl: string }

/** People beyond the seeded ones, members of its first organization and project: each is used up by one case. */
export const stockPeople = async (sql: Sql, issuer: string, count: number) => {
  const people = Array.from({ length: count }, (_, at) => ({ id: fixedId('user', `stock ${at}`), subject: `stock-${at}` }))
  const ids = people.map(({ id }) => id)
  const version = async (name: string) =>
    (await sql<{ id: string }>(`select current_version_id as id from role_definitions where name = $1 and is_builtin`, [name]))[0]!.id
  await sql(
    `insert into users (id, username, email, email_verified, oidc_issuer, oidc_subject, created_at)
     select id, subject, subject || '@stock.example', true, $3, subject, now() from unnest($1::uuid[], $2::text[]) as p (id, subject)`,
    [ids, people.map(({ subject }) => subject), issuer],
  )
  for (const [tier, scope, role] of [
    ['tenant', seeded.org.aurora, 'tenant_member'],
    ['project', seeded.project.aurora, 'project_viewer'],
  ] as const) {
    await sql(
      `insert into ${tier}_memberships (id, ${tier}_id, user_id, created_at) select gen_random_uuid(), $2, id, now() from unnest($1::uuid[]) as id`,
      [ids, scope],
    )
    await sql(
      `insert into ${tier}_role_bindings (id, ${tier}_id, principal_type, principal_id, role_version_id, created_at)
       select gen_random_uuid(), $2, 'user', id, $3, now() from unnest($1::uuid[]) as id`,
      [ids, scope, await version(role)],
    )
  }
  return people
}

/** Nodes that have enrolled, which no recipe could do: each is used up by one case. */
export const stockNodes = async (sql: Sql, count: number): Promise<string[]> => {
  const nodes = Array.from({ length: count }, (_, at) => fixedId('node', `stock ${at}`))
  await sql(
    `insert into nodes (id, name, region, sku, gpus, created_at, enrolled_at)
     select id, 'stock-' || at, 'stock', 'stock', 1, now(), now() from unnest($1::uuid[]) with ordinality as n (id, at)`,
    [nodes],
  )
  return nodes
}

/** A seeded database, an issuer, a journal, and whatever servers are started on it. */
export const faultWorld = async (place: Place, { people = 200 } = {}) => {
  const issuer = await localIssuer()
  await seedDevelopment({ databaseUrl: place.appUrl, issuer: issuer.issuer, keys: testKeys })
  const owner = new pg.Pool({ connectionString: place.ownerUrl, max: 4, application_name: 'gatehouse-judge' })
  owner.on('error', () => {})
  const sql: Sql = async <Row>(text: string, values: unknown[] = []) => (await owner.query(text, values)).rows as Row[]
  await sql(`update policy_values set value = '100000' where key like 'rate_limit.%' and replaced_at is null`)
  // Recipes ask for allocations that no node has room for, and leave them.
  await sql(`update policy_values set value = '10000' where key = 'allocations.max_requested_per_project' and replaced_at is null`)
  const stock = await stockPeople(sql, issuer.issuer, people)
  const nodes = await stockNodes(sql, people)
  const database = openDatabase({ url: place.appUrl, max_connections: 1 })
  const key = await auditKey(database, parseKeyRing(testKeys))
  const before = await readState(sql)
  const heads = await sql<{ chain_id: string; seq: number }>('select chain_id, seq::int as seq from audit_heads')
  const since = new Map(heads.map(({ chain_id, seq }) => [chain_id, seq]))

  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-journal-'))
  const journal = openJournal(join(folder, 'journal.jsonl'))
  const settings: Settings = {
    appUrl: place.appUrl,
    issuer: issuer.settings,
    keys: testKeys,
    cursorKey: 'test-'.padEnd(48, 'k'),
    build: 'sound',
    logLevel: 'silent',
    has_door: true,
  }
  /** Where nodes come to, by where everybody else does; and what each of them shows there. */
  const doors = new Map<string, string>()
  const certificates = new Map<string, { key: string; cert: string; ca: string }>()
  const closing: (() => Promise<void>)[] = []
  const running = new Set<ServerProcess>()
  const start = async (changed: Partial<Settings> = {}) => {
    const started = await startServerProcess({ ...settings, ...changed })
    running.add(started)
    if (started.door) doors.set(started.url, started.door)
    void started.gone.then(() => running.delete(started))
    return started
  }

  const minted = new Map<string, Promise<string>>()
  const tokenOf = (subject: string): Promise<string> => {
    // A machine brings what it was issued.
    if (subject.startsWith(bearing)) return Promise.resolve(subject.slice(bearing.length))
    const now = Math.floor(Date.now() / 1000)
    const claims = issuer.claims(now, { sub: subject, exp: now + 7200, preferred_username: subject })
    // A campaign may outlast a token, so each hour has its own.
    const name = `${subject} ${Math.floor(now / 3600)}`
    const known = minted.get(name) ?? signText(issuer.key, JSON.stringify(claims))
    minted.set(name, known)
    return known
  }

  let words = 0
  const word = () => {
    words += 1
    return `w${words}-${randomBytes(4).toString('hex')}`
  }
  const newCorrelation = () => `c-${word()}`
  const intend = (operation: string, asking: Pick<Intent, 'person' | 'params' | 'body'>): Intent => {
    const { method, path } = operationOf(operation)
    const intent: Intent = { key: `key-${word()}`, operation, method, path: pathOf(path, asking.params), ...asking }
    journal.intend(intent)
    return intent
  }

  /** A node's own word, over a connection of its own; one that has no certificate yet brings a token. */
  const askDoor = async (url: string, { method, path, person, body, operation }: Intent, headers: Record<string, string>) => {
    const shown = certificates.get(person) ?? { ca: pemOf(readToken(body.enrolment_token as string).ca) }
    const { call, stop } = doorCaller(doors.get(url)!, shown)
    try {
      return await call(method, path, operationOf(operation).body === undefined ? undefined : body, headers)
    } finally {
      stop()
    }
  }

  /** Asks once and writes down what came of it. No whole answer is an answer of its own: unknown. */
  const ask = async (url: string, intent: Intent, correlation_id = newCorrelation()): Promise<Attempt['answer']> => {
    const { method, path, person, body, key: idempotencyKey, operation } = intent
    const hasBody = operationOf(operation).body !== undefined
    const named = { 'x-request-id': correlation_id, ...(isKeyed(operation) ? { 'idempotency-key': idempotencyKey } : {}) }
    if (operationOf(operation).listener === 'nodes') {
      journal.sent(intent, correlation_id)
      const told = await askDoor(url, intent, named).catch(() => null)
      if (told) journal.answered(intent, correlation_id, told.status, told.body)
      return told && { status: told.status, body: told.body }
    }
    const isForm = operationOf(operation).speaks === 'oauth'
    const token = await tokenOf(person)
    journal.sent(intent, correlation_id)
    try {
      const response = await fetch(`${url}${path}`, {
        method,
        signal: AbortSignal.timeout(240_000),
        headers: {
          ...(isForm ? {} : { authorization: `Bearer ${token}` }),
          ...named,
          connection: 'close',
          ...(hasBody ? { 'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json' } : {}),
        },
        ...(hasBody ? { body: isForm ? formOf(body) : JSON.stringify(body) } : {}),
      })
      const text = await response.text()
      const answer = { status: response.status, body: text === '' ? null : JSON.parse(text) }
      journal.answered(intent, correlation_id, answer.status, answer.body)
      return answer
    } catch {
      return null
    }
  }

  const doneBy =
    (url: string): Stage['done'] =>
    async (operation, asking) => {
      const answer = await ask(url, intend(operation, asking))
      if (answer?.status !== operationOf(operation).success)
        throw new Error(`${operation} was to set the scene, and answered ${answer?.status} ${JSON.stringify(answer?.body)}`)
      return answer.body as { id: string }
    }
  const enrolledBy = async (done: Stage['done']): ReturnType<Stage['enrolled']> => {
    const kind = { region: word(), sku: word() }
    const asking = { person: 'ada', params: {}, body: { name: word(), ...kind, gpus: 1, reason: word() } }
    const made = (await done('node.create', asking)) as unknown as { node: { id: string }; enrolment_token: string }
    const [person, { key, csr }] = [`${nodeBy}${made.node.id}`, await nodeKeys()]
    const body = { enrolment_token: made.enrolment_token, csr }
    const vouched = (await done('node.enrol', { person, params: {}, body })) as unknown as { certificate: string; authority: string }
    certificates.set(person, { key, cert: vouched.certificate, ca: vouched.authority })
    return { person, node_id: made.node.id, ...kind }
  }

  /** A stage whose requests go to this server. */
  const stageOn = (url: string): Stage => ({
    word,
    person: () => {
      const next = stock.pop()
      if (!next) throw new Error('the stock of people is used up')
      return next
    },
    node: () => {
      const next = nodes.pop()
      if (!next) throw new Error('the stock of nodes is used up')
      return next
    },
    done: doneBy(url),
    enrolled: () => enrolledBy(doneBy(url)),
  })

  return {
    ...place,
    issuer,
    sql,
    journal,
    key,
    before,
    since,
    /** What is wrong with the chains, all of them read at one moment: servers make next keys in the background. */
    chainFaults: async () => (await database.transaction('read', (tx) => verifyChains(tx, key))).faults.map(({ sentence }) => sentence),
    start,
    /** A server in this very process, for faults that need not kill it. */
    startHere: async (reached: Reached, { appUrl = place.appUrl, ...reaching }: Reaching & { appUrl?: string } = {}) => {
      const { listen, listenToNodes, close } = await composeServer({ ...settings, appUrl }, reached, reaching)
      closing.push(close)
      const url = `http://127.0.0.1:${await listen()}`
      doors.set(url, (await listenToNodes())!)
      return url
    },
    tokenOf,
    intend,
    newCorrelation,
    ask,
    stageOn,
    prepare: (operation: string, stage: Stage) => recipes[operation]!.prepare(stage),
    /** A killed server's transactions end when the database has noticed; nothing can be judged before. */
    forgotten: async ({ name }: Pick<ServerProcess, 'name'>) => {
      for (let tries = 0; tries < 2000; tries += 1) {
        const rows = await sql('select from pg_stat_activity where application_name = $1 limit 1', [name])
        if (rows.length === 0) return
        await sleep(3)
      }
      throw new Error('the database keeps the connections of a process that is gone')
    },
    stop: async () => {
      for (const close of closing) await close()
      for (const one of running) await one.kill()
      await database.close()
      await owner.end()
      await issuer.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export type FaultWorld = Awaited<ReturnType<typeof faultWorld>>
