import { execFile } from 'node:child_process'
import { readdirSync, statSync } from 'node:fs'
import { chmod, mkdtemp, readdir, readFile, rm, statfs } from 'node:fs/promises'
import { freemem, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { embeddedBinDir } from '@gatehouse/server/ground/db/embedded/binaries'
import { startPostgres } from '@gatehouse/server/ground/db/embedded/postgres'
import type { TestProject } from 'vitest/node'
import { parts } from '../tools/test/parts.ts'
import { isAlive } from './alive.ts'
import { clusterCache } from './cluster-cache.ts'
import { described, dropTemplate, makeTemplate, type Template, templateKey } from './template.ts'

const root = join(import.meta.dirname, '..')
// Nothing here outlives the run, so nothing need survive a power cut.
// Hundreds of small databases live for seconds: vacuuming them, and compiling their queries, would cost more than it gains.
const settings = {
  ...{ fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', wal_level: 'minimal', max_wal_senders: '0' },
  ...{ autovacuum: 'off', jit: 'off', max_connections: '300', max_parallel_workers_per_gather: '0' },
  update_process_title: 'off',
}

type Started = { superuserUrl: string; socket_folder: string | null; template: Template; stop(): Promise<void> }

/** Somebody else's server: it gets everything back as it was. */
const useGiven = async (superuserUrl: string): Promise<Started> => {
  const template = await makeTemplate(superuserUrl)
  return { superuserUrl, socket_folder: null, template, stop: () => dropTemplate(template, superuserUrl) }
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

/** Which PostgreSQL, for whom, since which boot: nothing in the cache was synced to disk, so it is not trusted after a crash of the machine. */
const clusterKey = async (binDir: string): Promise<string> => {
  const { size, mtimeMs } = statSync(join(binDir, 'postgres'))
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => '')
  return templateKey([binDir, size, mtimeMs, process.getuid?.(), boot])
}

/** A cluster of this run alone: a copy of a prepared one from the cache, or one made here and then kept there. */
const startOwn = async (binDir: string): Promise<Started> => {
  for (const place of [inMemory, tmpdir()]) await sweep(place)
  const folder = await mkdtemp(join(await placeOfRun(), `gatehouse-run-${process.pid}-`))
  // PostgreSQL may have to run as somebody else than we do, and must be able to pass through.
  await chmod(folder, 0o755)
  const cache = clusterCache(join(root, 'node_modules/.cache/gatehouse/clusters'))
  // Passwords of the run guard nothing, and every connection would compute 4 096 rounds of a hash on both sides; what is read lies in memory, and
  // no other process need fetch it. PostgreSQL 15 cannot be told.
  const quick = binDir === embeddedBinDir() ? { scram_iterations: '1', io_method: 'sync' } : {}
  const socket_folder = join(folder, 'data')
  const start = () =>
    startPostgres({ dataDir: join(folder, 'data'), settings: { ...settings, ...quick, unix_socket_directories: socket_folder }, binDir })
  try {
    const key = await clusterKey(binDir)
    let template = await cache.restore(key, folder)
    if (!template) {
      await cache.sweep()
      const first = await start()
      template = await makeTemplate(first.superuserUrl).finally(first.stop)
      await cache.store(key, folder, template)
    }
    const server = await start()
    const stop = async () => {
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    }
    return { superuserUrl: server.superuserUrl, socket_folder, template, stop }
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  }
}

/** When a file that the template may be made from was last written. */
const newestSource = (folders = ['db', 'server/src'].map((folder) => join(root, folder))): number => {
  let newest = 0
  for (const folder of folders)
    for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }))
      if (/(?<!\.test)\.(ts|sql)$/.test(name))
        newest = Math.max(newest, statSync(join(folder, name), { throwIfNoEntry: false })?.mtimeMs ?? 0)
  return newest
}

/** In watch mode one cluster serves every rerun. A changed migration, grant or mirrored row gets the template made anew before the rerun. */
const renewOnRerun = async (project: TestProject, { superuserUrl, template }: Started) => {
  let [key, newest] = [await templateKey(), newestSource()]
  const env = { ...process.env, SUPERUSER_URL: superuserUrl, TEMPLATE: JSON.stringify(template) }
  project.onTestsRerun(async () => {
    if (newestSource() === newest) return
    newest = newestSource()
    try {
      key = (await promisify(execFile)(process.execPath, [join(import.meta.dirname, 'fresh-template.ts'), key], { env })).stdout.trim()
    } catch (error) {
      key = ''
      console.error(`The database could not be migrated, so its tests fail:\n${(error as { stderr?: string }).stderr ?? error}`)
    }
  })
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
    started: given ? useGiven(given) : startOwn(isDebian ? dirname(parts.postgres15.path) : embeddedBinDir()),
    users: 0,
  }
  running.set(key, server)
  server.users += 1
  const started = await server.started
  project.provide('postgres', described(started.template, started.superuserUrl, started.socket_folder))
  if (project.vitest.config.watch) await renewOnRerun(project, started)
  return async () => {
    server.users -= 1
    if (server.users === 0) await started.stop()
  }
}
