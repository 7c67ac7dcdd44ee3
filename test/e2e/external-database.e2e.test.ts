import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Postgres, startPostgres } from '@gatehouse/server/ground/db/embedded/postgres'
import { seedDevelopment } from '@gatehouse/server/process/seed-development'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from 'vitest'
import { hasPart, parts } from '../../tools/test/parts.ts'
import { bundleOf } from '../bundles.ts'
import { type ClonedDatabase, cloneDatabase } from '../postgres.ts'
import { asSuperuser } from '../superuser.ts'
import { oneOfMany } from '../sweep.ts'
import { addressOf, launcher } from './launched.ts'

const badStart = oneOfMany(1 / 5)

const project = join(import.meta.dirname, '../..')
// Comes to a machine with Debian's PostgreSQL.
const openssl = '/usr/bin/openssl'
const issuer = 'https://id.gatehouse.invalid'
const sealingKey = randomBytes(32).toString('base64url')
const secrets = [sealingKey]
const checkpoints = mkdtempSync(join(tmpdir(), 'gatehouse-checkpoints-'))
afterAll(() => rmSync(checkpoints, { recursive: true }))

type Environment = Record<string, string | undefined>
const issuers = (...list: string[]) => JSON.stringify(list.map((each) => ({ issuer: each, audience: 'gatehouse-api' })))

/** What a production installation sets. Standard input is the lifeline: no server outlives this test. */
const production = (database: { appUrl: string; ownerUrl?: string }): Environment => ({
  GATEHOUSE_PORT: '0',
  GATEHOUSE_NODES_PORT: '0',
  GATEHOUSE_METRICS_PORT: '0',
  GATEHOUSE_LIFELINE: 'stdin',
  GATEHOUSE_OIDC_ISSUERS: issuers(issuer),
  GATEHOUSE_KEY_ENCRYPTION_KEYS: `first:${sealingKey}`,
  GATEHOUSE_CHECKPOINT_FILE: join(checkpoints, new URL(database.appUrl).pathname),
  GATEHOUSE_PUBLIC_URL: 'https://gatehouse.example',
  DATABASE_URL: database.appUrl,
  DATABASE_OWNER_URL: database.ownerUrl,
})

const server = await bundleOf('server')
const processes = launcher()
afterEach(processes.endAll)

/** The real server, as its own process. */
const launch = (environment: Environment) =>
  processes.launch(process.execPath, [server], { cwd: project, env: { PATH: process.env.PATH, ...environment } })

const startServer = async (environment: Environment) => {
  const launched = launch(environment)
  const { child, heard, closed } = launched
  const url = await addressOf(launched)
  const stop = async () => {
    child.kill('SIGTERM')
    return closed
  }
  return { url, heard, stop }
}

/** Starts what must not start: the one sentence that it leaves behind. */
const refusal = async (environment: Environment): Promise<string> => {
  const { heard, closed } = launch(environment)
  const code = await closed
  expect({ code, out: heard.out }, heard.err).toEqual({ code: 1, out: '' })
  const [, sentence] = /^gatehouse: ([^\n]+\.)\n$/.exec(heard.err) ?? []
  expect(sentence, heard.err).toBeDefined()
  for (const secret of secrets) expect(heard.err).not.toContain(secret)
  return sentence!
}

const status = async (url: string, headers: Record<string, string> = {}) => {
  const response = await fetch(url, { headers })
  return [response.status, ((await response.json()) as { code?: string }).code]
}

/** As well-formed as a token can be without the provider's key. */
const strangersToken = () => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const now = Math.floor(Date.now() / 1000)
  const claims = { iss: issuer, aud: 'gatehouse-api', sub: 'ada', client_id: 'cli', jti: 'x', iat: now, exp: now + 600 }
  return `${part({ alg: 'ES256', typ: 'at+jwt', kid: 'k' })}.${part(claims)}.${randomBytes(64).toString('base64url')}`
}

let clone: ClonedDatabase
beforeEach(async () => {
  clone = await cloneDatabase()
  for (const url of [clone.appUrl, clone.ownerUrl]) secrets.push(new URL(url).password)
})
afterEach(() => clone.drop())

const changed = (url: string, change: Partial<URL>) => Object.assign(new URL(url), change).href
const emptied = async () => {
  // As an administrator hands it over: there, and empty.
  const { superuserUrl, owner } = inject('postgres')
  const name = new URL(clone.ownerUrl).pathname.slice(1)
  await clone.drop()
  await asSuperuser(superuserUrl, (client) => client.query(`create database ${name} owner ${owner.role}`))
}

describe('a good production start', () => {
  test('HO-03 on a given, empty database the server migrates, serves, and stops with nothing left to say', async () => {
    await emptied()
    const server = await startServer(production(clone))
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
    expect(await (await fetch(`${server.url}/readyz`)).json()).toMatchObject({ database: 'ok' })
    expect((await fetch(`${server.url}/openapi.json`)).status).toBe(200)
    expect(await status(`${server.url}/api/v1/me`)).toEqual([401, 'token_missing'])
    expect(await server.stop()).toBe(0)
    expect(server.heard.err).toBe('')
    for (const secret of secrets) expect(server.heard.out).not.toContain(secret)

    const people = await asSuperuser(clone.ownerUrl, (client) => client.query('select from users'))
    expect(people.rowCount).toBe(0)
    // The next one needs no owner: the schema is what it should be.
    const next = await startServer(production({ appUrl: clone.appUrl }))
    expect(await (await fetch(`${next.url}/readyz`)).json()).toMatchObject({ database: 'ok' })
    expect(await next.stop()).toBe(0)
  })

  test('HO-03 while the provider cannot be reached, a token is neither believed nor called invalid', async () => {
    const server = await startServer(production(clone))
    expect(await status(`${server.url}/api/v1/me`, { authorization: `Bearer ${strangersToken()}` })).toEqual([
      503,
      'dependency_unavailable',
    ])
    expect(await status(`${server.url}/api/v1/me`, { authorization: 'Bearer nonsense' })).toEqual([401, 'token_invalid'])
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200)
    expect(await server.stop()).toBe(0)
  })

  test('HO-03 several that start on one empty database all come up', async () => {
    await emptied()
    const servers = await Promise.all([1, 2, 3].map(() => startServer(production(clone))))
    for (const { url } of servers) expect(await (await fetch(`${url}/readyz`)).json()).toMatchObject({ database: 'ok' })
    for (const { stop } of servers) expect(await stop()).toBe(0)
  })
})

describe('production refuses, in one sentence', () => {
  test('HO-03 a development key', async () => {
    const environment = { ...production(clone), GATEHOUSE_KEY_ENCRYPTION_KEYS: `first:development-${sealingKey}` }
    expect(await refusal(environment)).toBe(
      'GATEHOUSE_KEY_ENCRYPTION_KEYS: A key-encryption key is a development key; production refuses it.',
    )
  })

  test.each(['http://127.0.0.1:8091', 'https://localhost:8091', 'http://id.example'])('HO-03 the development provider %s', async (each) => {
    const environment = { ...production(clone), GATEHOUSE_OIDC_ISSUERS: issuers(issuer, each) }
    expect(await refusal(environment)).toMatch(/^GATEHOUSE_OIDC_ISSUERS: OIDC issuer ".+" is .+, which production does not accept\.$/)
  })

  badStart('HO-03 a seeded database', async () => {
    const keys = `first:${sealingKey}`
    await seedDevelopment({ databaseUrl: clone.appUrl, issuer: 'http://127.0.0.1:8091', keys })
    const sentence = 'This database holds seeded development people; production refuses it.'
    expect(await refusal(production(clone))).toBe(sentence)
    expect(await refusal({ ...production(clone), DATABASE_OWNER_URL: undefined })).toBe(sentence)
    expect(await refusal({ ...production(clone), GATEHOUSE_PROFILE: 'production' })).toBe(sentence)
  })

  badStart('HO-03 an application that owns the tables, or everything', async () => {
    const sentence = 'The role in DATABASE_URL owns the tables or is a superuser; production needs one that owns nothing.'
    expect(await refusal(production({ appUrl: clone.ownerUrl, ownerUrl: clone.ownerUrl }))).toBe(sentence)
    const root = changed(inject('postgres').superuserUrl, { pathname: new URL(clone.appUrl).pathname })
    secrets.push(new URL(root).password)
    expect(await refusal(production({ appUrl: root }))).toBe(sentence)
  })

  badStart('HO-03 a schema of another version, unless it is told the owner; and one of a newer version in any case', async () => {
    const sentence = 'The database schema is not that of this version; set DATABASE_OWNER_URL so that the server can migrate it.'
    await asSuperuser(clone.ownerUrl, (client) => client.query(`insert into schema_migrations values ('9999-newer.sql', 'x')`))
    expect(await refusal(production({ appUrl: clone.appUrl }))).toBe(sentence)
    expect(await refusal(production(clone))).toContain('it belongs to a newer version.')
    await emptied()
    expect(await refusal(production({ appUrl: clone.appUrl }))).toBe(sentence)
  })

  test('HO-03 a setting that there is not, and one that is missing', async () => {
    expect(await refusal({ ...production(clone), GATEHOUSE_DATABASE_URL: clone.appUrl })).toContain(
      'There is no setting GATEHOUSE_DATABASE_URL;',
    )
    for (const name of ['DATABASE_URL', 'GATEHOUSE_CHECKPOINT_FILE', 'GATEHOUSE_OIDC_ISSUERS'])
      expect(await refusal({ ...production(clone), [name]: undefined })).toBe(`${name} is not set, and there is no default for it.`)
  })

  badStart('HO-03 a database that does not answer, does not exist or does not know the password', async () => {
    const { pathname } = new URL(clone.appUrl)
    const nobody = { port: '1' }
    expect(await refusal(production({ appUrl: changed(clone.appUrl, nobody) }))).toBe('The database in DATABASE_URL does not answer.')
    expect(await refusal(production({ appUrl: changed(clone.appUrl, nobody), ownerUrl: clone.ownerUrl }))).toBe(
      'The database in DATABASE_URL does not answer.',
    )
    expect(await refusal(production({ appUrl: clone.appUrl, ownerUrl: changed(clone.ownerUrl, nobody) }))).toBe(
      'The database in DATABASE_OWNER_URL does not answer.',
    )
    const refuses = /^The database refuses the connection: .+\.$/
    for (const change of [{ password: 'hunter2' }, { pathname: `${pathname}_not` }]) {
      const [one, other] = [changed(clone.appUrl, change), changed(clone.ownerUrl, change)]
      expect(await refusal(production({ appUrl: one }))).toMatch(refuses)
      const sentence = await refusal(production({ appUrl: clone.appUrl, ownerUrl: other }))
      expect(sentence).toMatch(refuses)
      expect(sentence).not.toContain('hunter2')
    }
    const elsewhere = { hostname: 'db.gatehouse.invalid' }
    expect(await refusal(production({ appUrl: clone.appUrl, ownerUrl: changed(clone.ownerUrl, elsewhere) }))).toBe(
      'There is no host db.gatehouse.invalid.',
    )
  })

  badStart('HO-03 a port that is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const { heard, closed } = launch({ ...production(clone), GATEHOUSE_PORT: String(port), GATEHOUSE_LOG_LEVEL: 'silent' })
    expect(await closed).toBe(1)
    expect(heard.err).toBe('gatehouse: The port in GATEHOUSE_PORT is taken by another process; choose another one.\n')
    other.close()
  })
})

test('HO-03 development takes what production refuses', async () => {
  await seedDevelopment({ databaseUrl: clone.appUrl, issuer: 'http://127.0.0.1:8091', keys: `first:development-${sealingKey}` })
  const server = await startServer({
    ...production(clone),
    GATEHOUSE_PROFILE: 'development',
    GATEHOUSE_KEY_ENCRYPTION_KEYS: `first:development-${sealingKey}`,
    GATEHOUSE_OIDC_ISSUERS: issuers('http://127.0.0.1:8091'),
  })
  expect(await (await fetch(`${server.url}/readyz`)).json()).toMatchObject({ database: 'ok' })
  expect(await server.stop()).toBe(0)
})

if (!hasPart('postgres15')) test.skip("HO-03 Debian's PostgreSQL 15 over TLS (needs postgres15)")

describe.runIf(hasPart('postgres15'))("Debian's PostgreSQL 15 over TLS", () => {
  let folder: string
  let postgres: Postgres
  const file = (name: string) => join(folder, name)

  const certificate = (name: string, host: string) => {
    const subject = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=DNS:${host}`]
    const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', file(`${name}.key`)]
    execFileSync(openssl, ['req', '-x509', '-days', '2', ...key, '-out', file(`${name}.crt`), ...subject], { stdio: 'pipe' })
  }
  /** PostgreSQL reads a key only if it belongs to the user that it runs as. */
  const present = async (name: string) => {
    const { uid, gid } = statSync(file('state/postgres'))
    chmodSync(file(`${name}.key`), 0o600)
    chownSync(file(`${name}.key`), uid, gid)
    await asSuperuser(postgres.superuserUrl, async (client) => {
      await client.query(`alter system set ssl_cert_file = '${file(`${name}.crt`)}'`)
      await client.query(`alter system set ssl_key_file = '${file(`${name}.key`)}'`)
      await client.query('alter system set ssl = on')
      await client.query('select pg_reload_conf()')
    })
    // A new connection knows what the postmaster has read by then.
    const read = () =>
      asSuperuser(postgres.superuserUrl, async (client) => (await client.query('show ssl_cert_file')).rows[0].ssl_cert_file)
    while ((await read()) !== file(`${name}.crt`)) await new Promise((resolve) => setTimeout(resolve, 20))
  }

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'gatehouse-tls-'))
    chmodSync(folder, 0o711)
    certificate('server', 'localhost')
    certificate('stranger', 'localhost')
    certificate('elsewhere', 'db.example')
    postgres = await startPostgres({
      dataDir: file('state/postgres'),
      binDir: dirname(parts.postgres15.path),
      settings: { fsync: 'off', full_page_writes: 'off' },
    })
    // Everybody but the administrator must come through TLS.
    const rules = ['host all postgres 127.0.0.1/32 scram-sha-256', 'hostssl all all 127.0.0.1/32 scram-sha-256', '']
    writeFileSync(file('state/postgres/pg_hba.conf'), rules.join('\n'))
    await present('server')
    for (const url of [postgres.appUrl, postgres.ownerUrl]) secrets.push(new URL(url).password)
  })
  afterAll(async () => {
    await postgres?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const over = (search: string, host = 'localhost') => ({
    appUrl: changed(postgres.appUrl, { hostname: host, search }),
    ownerUrl: changed(postgres.ownerUrl, { hostname: host, search }),
  })
  const trusting = (name: string) => `?sslmode=verify-full&sslrootcert=${encodeURIComponent(file(`${name}.crt`))}`

  test('HO-03 sslmode=verify-full with the right root migrates and serves, and every connection is encrypted (needs postgres15)', async () => {
    const server = await startServer(production(over(trusting('server'))))
    expect(await (await fetch(`${server.url}/readyz`)).json()).toMatchObject({ database: 'ok' })
    const rows = await asSuperuser(
      postgres.superuserUrl,
      async (client) =>
        (
          await client.query(
            `select distinct ssl, version, a.application_name from pg_stat_ssl s join pg_stat_activity a using (pid) where a.application_name = 'gatehouse'`,
          )
        ).rows,
    )
    expect(rows).toEqual([{ ssl: true, version: 'TLSv1.3', application_name: 'gatehouse' }])
    expect(await server.stop()).toBe(0)
    expect(server.heard.err).toBe('')
  })

  const untrusted = /^The certificate of the database is not accepted \(.+\); sslrootcert in its URL names who signed it\.$/

  badStart('HO-03 a certificate that another root signed is refused (needs postgres15)', async () => {
    const wrong = over(trusting('stranger'))
    expect(await refusal(production(wrong))).toMatch(untrusted)
    expect(await refusal(production({ appUrl: wrong.appUrl }))).toMatch(untrusted)
    expect(await refusal(production({ ...over(trusting('server')), appUrl: wrong.appUrl }))).toMatch(untrusted)
    // Without a root of ours the system's own are asked, and they do not know it either.
    expect(await refusal(production(over('?sslmode=verify-full')))).toMatch(untrusted)
  })

  badStart('HO-03 a certificate for another host is refused (needs postgres15)', async () => {
    await present('elsewhere')
    const sentence = await refusal(production({ appUrl: over(trusting('elsewhere')).appUrl }))
    expect(sentence).toMatch(/^The certificate of the database is not accepted \(Hostname\/IP does not match/)
    await present('server')
  })

  badStart('HO-03 without TLS the database refuses, and the server says so (needs postgres15)', async () => {
    for (const search of ['?sslmode=disable', '']) {
      const plain = over(search)
      for (const database of [plain, { appUrl: plain.appUrl }])
        expect(await refusal(production(database))).toMatch(
          /^The database refuses the connection: no pg_hba\.conf entry for host .+, no encryption\.$/,
        )
    }
  })

  badStart('HO-03 a root that is not there is named (needs postgres15)', async () => {
    const lost = over(trusting('nowhere'))
    expect(await refusal(production(lost))).toContain('nowhere.crt')
    expect(await refusal(production({ appUrl: lost.appUrl }))).toContain('nowhere.crt')
  })

  badStart('HO-03 TLS asked of a database that has none is refused (needs postgres15)', async () => {
    const search = trusting('server')
    expect(await refusal(production({ appUrl: changed(clone.appUrl, { search }) }))).toBe(
      'The database offers no TLS, and its URL asks for it.',
    )
  })
})
