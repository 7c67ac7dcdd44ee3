import type { AddressInfo } from 'node:net'
import pg from 'pg'
import { beforeAll } from 'vitest'
import people from '../db/seed/people.json' with { type: 'json' }
import { parseKeyRing } from '../server/src/ground/custody/key-ring.ts'
import { type Database, openDatabase } from '../server/src/ground/db/database.ts'
import { freePort } from '../server/src/ground/db/embedded/free-port.ts'
import { keepFresh } from '../server/src/ground/epochs/fresh.ts'
import { auditKey } from '../server/src/ground/installation/own-secrets.ts'
import { fixedId } from '../server/src/ground/kernel/ids.ts'
import { Secret } from '../server/src/ground/kernel/secret.ts'
import type { KeyMaking } from '../server/src/machines/keys/make-key.ts'
import { type Tending, tendKeys } from '../server/src/machines/keys/tend-keys.ts'
import { humanTokens } from '../server/src/people/principals/oidc/human-tokens.ts'
import { localIssuer, signText } from '../server/src/people/principals/oidc/testing/local-issuer.ts'
import { compose, createDoor } from '../server/src/process/compose.ts'
import { seedDevelopment } from '../server/src/process/seed-development.ts'
import { appendWith } from '../server/src/rails/audit/append.ts'
import { verifyChains } from '../server/src/rails/audit/verify-chains.ts'
import { createServer, type ServerParts } from '../server/src/rails/http/server.ts'
import { bulkheads } from '../server/src/rails/http/tenant-database.ts'
import { tenantTurns } from '../server/src/rails/http/tenant-turns.ts'
import type { PolicyKey } from '../server/src/rails/policies/policy-definitions.ts'
import { type Answered, askThrough, type Sending } from './ask.ts'
import { fixture } from './fixture.ts'
import { cloneDatabase } from './postgres.ts'
import { spend } from './spent.ts'
import { unhurried } from './unhurried.ts'

export type { Answered, Sending } from './ask.ts'

/** Ids of what the development seed makes; they are the same in every database. */
export const seeded = {
  org: { aurora: fixedId('org', 'aurora'), borealis: fixedId('org', 'borealis') },
  project: { aurora: fixedId('project', 'aurora/training'), borealis: fixedId('project', 'borealis/inference') },
  user: (username: string) => fixedId('user', username),
  usernames: people.people.map(({ username }) => username),
}

/** Seals what the test server keeps at rest. */
export const testKeys = `test:${'k'.repeat(43)}`

/** As whom the test server issues tokens, and for whom it accepts them. */
export const tokenIssuer = { url: 'https://gatehouse.test', audience: 'gpuaas-api' }

type Broken = Partial<ServerParts> | ((parts: ServerParts) => ServerParts)

const startServer = async (
  broken: Broken = {},
  signing: Partial<KeyMaking> = {},
  { is_own_issuer = false, patience_ms = unhurried.patience_ms } = {},
) => {
  const clone = await cloneDatabase()
  const issuer = await localIssuer()
  await seedDevelopment({ databaseUrl: clone.near.appUrl, issuer: issuer.issuer, keys: testKeys })
  const closing: (() => Promise<unknown>)[] = [issuer.stop, clone.drop]
  const settling: (() => Promise<void>)[] = []
  const tendings = new Set<Promise<unknown>>()

  /** One more process's worth of server on the same database. */
  const replica = async (changed: Broken = {}, signing: Partial<KeyMaking> = {}) => {
    // Where it issues tokens under the very address that it is reached at, the address must be known before it listens.
    const port = is_own_issuer ? await freePort() : 0
    const url = `http://127.0.0.1:${port}`
    const database: Database = openDatabase({ url: clone.near.appUrl, max_connections: 8, ...unhurried.database })
    const tokens = humanTokens([issuer.settings], unhurried.tokens)
    const key = await auditKey(database, parseKeyRing(testKeys))
    const append = appendWith({ region: 'test', key })
    const ring = parseKeyRing(testKeys)
    const tending: Tending = { database, append, ring, transit: null, algorithm: 'ES256', ...signing }
    await tendKeys(tending)
    const tendSoon = () => {
      const tended: Promise<unknown> = tendKeys(tending)
        .catch(() => {})
        .finally(() => tendings.delete(tended))
      tendings.add(tended)
    }
    const {
      nodes,
      tasking,
      parts: product,
    } = await compose({
      ...{ database, append, ring, tokens, transit: tending.transit, fresh: keepFresh(database, unhurried.fresh), patience_ms },
      verify: async () => ({ ...(await database.transaction('read', (tx) => verifyChains(tx, key))), checkpoints: 0, accepted: [] }),
      cursor_key: new Secret('test-'.padEnd(48, 'k')),
      issuer: is_own_issuer ? { ...tokenIssuer, url } : tokenIssuer,
      tendKeysSoon: tendSoon,
      // Told to nodes when they are asked for, which is when the door has its port.
      nodes_url: 'https://127.0.0.1:0',
      tasking: { database_url: clone.near.appUrl, onError: () => {}, look_ms: unhurried.look_ms },
    })
    const parts: ServerParts = {
      ...product,
      duplicate_wait_ms: unhurried.duplicate_wait_ms,
      bulkheads: bulkheads(database, tenantTurns(), unhurried.queue_wait_ms),
      slowness: unhurried.slowness,
      logger: false,
    }
    const used = typeof changed === 'function' ? changed(parts) : { ...parts, ...changed }
    const app = await createServer(used)
    if (used.aside) settling.push(used.aside.settled)
    await app.listen({ host: '127.0.0.1', port })
    const { door } = await createDoor(used, nodes, true)
    await door.listen({ host: '127.0.0.1', port: 0 })
    nodes.url = `https://127.0.0.1:${(door.server.address() as AddressInfo).port}`
    closing.unshift(async () => {
      await Promise.all([door.close(), app.close()])
      tokens.stop()
      await Promise.all(tendings)
      await tasking.close()
      await database.close()
    })
    return { url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`, database, append, nodes, tasking }
  }
  const first = await replica(broken, signing)

  const minted = new Map<string, Promise<string>>()
  const tokenOf = (subject: string): Promise<string> => {
    const now = Math.floor(Date.now() / 1000)
    // Says nothing of an address: what a test has written into the table stays.
    const claims = issuer.claims(now, { sub: subject, exp: now + 3600, preferred_username: subject })
    const known = minted.get(subject) ?? signText(issuer.key, JSON.stringify(claims))
    minted.set(subject, known)
    return known
  }

  /**
   * Sends anything to any path, without types. Only for requests outside the contract: hostile input, wrong types, raw bytes, unknown
   * paths, and sweeps over operations. Everything else goes through `ask`.
   */
  const call = async (person: string | null, method: string, path: string, sending: Sending = {}, base = first.url): Promise<Answered> => {
    const { body, raw, headers = {} } = sending
    const bytes = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    const response = await fetch(`${base}${path}`, {
      method,
      headers: {
        ...(person === null ? {} : { authorization: `Bearer ${await tokenOf(person)}` }),
        ...(bytes === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(bytes === undefined ? {} : { body: bytes as string }),
    })
    const text = await response.text()
    let parsed: unknown = null
    try {
      parsed = text === '' ? null : JSON.parse(text)
    } catch {
      // Not every answer is JSON; the text is there.
    }
    return { status: response.status, headers: response.headers, body: parsed, text }
  }

  const ask = askThrough(call)

  /** Past every fence, to look or to break something. */
  const owner = new pg.Client({ connectionString: clone.near.ownerUrl, application_name: 'gatehouse-test' })
  await owner.connect()
  closing.unshift(() => owner.end())
  const sql = async <Row = Record<string, unknown>>(text: string, values: unknown[] = []): Promise<Row[]> => {
    // Whoever looks at the record looks when all of it is written.
    if (text.includes('audit_logs')) for (const settled of settling) await settled()
    return (await owner.query(text, values)).rows as Row[]
  }

  return {
    url: first.url,
    database: first.database,
    append: first.append,
    tasking: first.tasking,
    /** Where nodes come to, and who vouches for them. */
    nodes: first.nodes,
    clone,
    issuer,
    ask,
    call,
    tokenOf,
    replica,
    sql,
    /** When no key is being made aside any more. */
    tended: () => Promise.all(tendings),
    setPolicy: (key: PolicyKey, value: unknown) =>
      sql(`update policy_values set value = $2 where key = $1 and replaced_at is null`, [key, JSON.stringify(value)]),
    auditOf: (correlation_id: string) => sql('select * from audit_logs where correlation_id = $1 order by id', [correlation_id]),
    stop: async () => {
      for (const close of closing) await close()
    },
  }
}

/**
 * The real server on a real port with a database and an issuer of its own. A test of a broken product passes a broken part: the
 * server itself has no switch for it.
 */
export const liveServer = (...asked: Parameters<typeof startServer>): ReturnType<typeof startServer> =>
  spend('server set-up', () => startServer(...asked))

export type LiveServer = Awaited<ReturnType<typeof startServer>>

interface ServerSettings {
  /** Parts of the product that this file replaces. */
  readonly parts?: Broken
  readonly signing?: Partial<KeyMaking>
  /** It issues tokens under the address that it listens on, as stock OAuth clients expect. */
  readonly is_own_issuer?: boolean
  /** How long a caller waits for a token, where that is tried. */
  readonly patience_ms?: number
  readonly policies?: { readonly [_ in PolicyKey]?: unknown }
}

/** For a file that asks more often than a client may. */
export const noRateLimits = {
  'rate_limit.api_requests_per_minute': 1_000_000,
  'rate_limit.machine_requests_per_minute': 1_000_000,
  'rate_limit.decision_requests_per_minute': 1_000_000,
  'rate_limit.anonymous_requests_per_minute': 1_000_000,
} as const satisfies ServerSettings['policies']

/** The server that all tests of a file share; `prepare` is what else they need before the first of them. */
export const serverFixture = (settings: ServerSettings = {}, prepare?: (live: LiveServer) => unknown): LiveServer => {
  const { parts, signing, is_own_issuer = false, patience_ms = unhurried.patience_ms, policies = {} } = settings
  const live = fixture(
    () => liveServer(parts, signing, { is_own_issuer, patience_ms }),
    (started) => started.stop(),
  )
  beforeAll(async () => {
    for (const [key, value] of Object.entries(policies)) await live.setPolicy(key as PolicyKey, value)
    await prepare?.(live)
  })
  return live
}
