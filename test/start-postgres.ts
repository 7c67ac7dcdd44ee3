import { randomBytes } from 'node:crypto'
import { chmod, mkdtemp, readdir, rm, statfs } from 'node:fs/promises'
import { freemem, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { startPostgres } from '@gatehouse/server/db/embedded/postgres'
import { prepareDatabase } from '@gatehouse/server/prepare-database'
import type { TestProject } from 'vitest/node'
import { parts } from '../tools/test/parts.ts'
import { asSuperuser, type TestPostgres } from './superuser.ts'

// Nothing here outlives the run, so nothing need survive a power cut.
const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '200' }

type Started = { postgres: TestPostgres; stop(): Promise<void> }

/** Roles and a migrated template under names of this run, so that a server that is not ours gets everything back as it was. */
const prepare = async (superuserUrl: string): Promise<Started> => {
  const run = randomBytes(4).toString('hex')
  const template = `gatehouse_template_${run}`
  const at = (database: string, role?: { role: string; password: string }) => {
    const url = new URL(superuserUrl)
    url.pathname = `/${database}`
    if (role) Object.assign(url, { username: role.role, password: role.password })
    return url.href
  }
  const person = (name: string) => ({ role: `gatehouse_${name}_${run}`, password: randomBytes(12).toString('hex') })
  const owner = person('owner')
  const app = person('app')
  await asSuperuser(superuserUrl, async (client) => {
    for (const { role, password } of [owner, app]) await client.query(`create role ${role} login password '${password}'`)
    await client.query(`create database ${template} owner ${owner.role}`)
    await prepareDatabase({ ownerUrl: at(template, owner), appRole: app.role })
    // A template that nobody can enter is always free to be copied.
    await client.query(`alter database ${template} allow_connections false`)
  })
  // Clones that a broken test left behind go too, or their owner could not be dropped.
  const stop = () =>
    asSuperuser(superuserUrl, async (client) => {
      const { rows } = await client.query<{ datname: string }>(
        'select datname from pg_database join pg_roles on pg_roles.oid = datdba where rolname = $1',
        [owner.role],
      )
      for (const { datname } of rows) await client.query(`drop database ${datname} with (force)`)
      for (const { role } of [app, owner]) await client.query(`drop role ${role}`)
    })
  const named = (role: typeof owner) => ({ role: role.role, url: at(template, role) })
  return { postgres: { superuserUrl, template, owner: named(owner), app: named(app) }, stop }
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

const inMemory = '/dev/shm'
const plenty = 6 * 1024 ** 3

/** Where there is enough of it, in memory: a database is copied for nearly every file, and on a disk each copy is hundreds of new files. */
const placeOfRun = async (): Promise<string> => {
  const found = await statfs(inMemory).catch(() => undefined)
  return found && found.bavail * found.bsize > plenty && freemem() > plenty ? inMemory : tmpdir()
}

// A run that was killed could not clean up; its PostgreSQL ended with it, its folder did not.
const sweep = async (place: string) => {
  for (const name of await readdir(place).catch(() => [])) {
    const pid = /^gatehouse-run-(\d+)-/.exec(name)?.[1]
    if (pid && !isAlive(Number(pid))) await rm(join(place, name), { recursive: true, force: true }).catch(() => {})
  }
}

const startOwn = async (binDir: string | undefined): Promise<Started> => {
  for (const place of [inMemory, tmpdir()]) await sweep(place)
  const folder = await mkdtemp(join(await placeOfRun(), `gatehouse-run-${process.pid}-`))
  // PostgreSQL may have to run as somebody else than we do, and must be able to pass through.
  await chmod(folder, 0o755)
  const server = await startPostgres({ dataDir: join(folder, 'data'), settings, ...(binDir ? { binDir } : {}) })
  const stop = async () => {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
  try {
    return { postgres: (await prepare(server.superuserUrl)).postgres, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

// The set-up runs once per project, in copies of this module that share nothing but the process.
const shared = globalThis as { gatehousePostgres?: Map<string, { started: Promise<Started>; users: number }> }

export default async (project: TestProject): Promise<() => Promise<void>> => {
  shared.gatehousePostgres ??= new Map()
  const running = shared.gatehousePostgres
  const isDebian = project.name === 'db15'
  const given = isDebian ? undefined : process.env.GATEHOUSE_TEST_DATABASE_URL
  const key = isDebian ? 'debian' : 'first'
  const server = running.get(key) ?? {
    started: given ? prepare(given) : startOwn(isDebian ? dirname(parts.postgres15.path) : undefined),
    users: 0,
  }
  running.set(key, server)
  server.users += 1
  const { postgres, stop } = await server.started
  project.provide('postgres', postgres)
  return async () => {
    server.users -= 1
    if (server.users === 0) await stop()
  }
}
