import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { embeddedBinDir } from './binaries.ts'
import { freePort, isPortFree } from './free-port.ts'
import { initialise } from './initialise.ts'
import { type Kept, keep } from './kept.ts'
import { lockHolder, takeLock } from './lock.ts'
import { readPasswords } from './passwords.ts'
import { endFormer, readPostmaster } from './postmaster.ts'
import { provision, urlOf } from './provision.ts'
import { canEnter, type RunAs, runAsFor, versionOf } from './run-as.ts'
import { StartRefused } from './start-refused.ts'

export type PostgresRequest = {
  dataDir: string
  binDir?: string
  port?: number
  settings?: Record<string, string>
  log?: (line: string) => void
}

export type Postgres = {
  port: number
  superuserUrl: string
  ownerUrl: string
  appUrl: string
  pid: number
  /** Settles when PostgreSQL is gone, wanted or not. */
  gone: Promise<number | string>
  stop: () => Promise<void>
}

const readyWithinSeconds = 120

/** Starts a real PostgreSQL on loopback, as an unprivileged user, that ends when this process ends. Recovers from whatever the last run left. */
export const startPostgres = async (request: PostgresRequest): Promise<Postgres> => {
  const dataDir = resolve(request.dataDir)
  const log = request.log ?? (() => {})
  prepareParent(dirname(dataDir))
  const lock = await takeLock(dataDir)
  if (!lock) throw new StartRefused(`The database in ${dataDir} is in use by process ${(await lockHolder(dataDir)) ?? 'unknown'}.`)
  try {
    const as = runAsFor(dataDir)
    const binDir = request.binDir ?? embeddedBinDir(as)
    const version = versionOf(as, binDir)
    if ('why' in version) throw new StartRefused(`PostgreSQL in ${binDir} does not run: ${version.why}`)
    if (!canEnter(as, dirname(dataDir))) {
      throw new StartRefused(`PostgreSQL runs as an unprivileged user (uid ${as.uid}), and that user may not enter ${dirname(dataDir)}.`)
    }
    const logFile = startLog(dataDir)
    await endFormer(dataDir, log)
    const isDurable = request.settings?.fsync !== 'off'
    await initialise({ dataDir, binDir, major: version.major, as, isDurable, logFile, log })
    requireMajor(dataDir, version.major)
    const passwords = readPasswords(dataDir)

    const { kept, port } = await serve({ ...request, dataDir, as, binDir, logFile })
    const superuserUrl = urlOf('postgres', passwords.superuser, port, 'postgres')
    const stop = async () => {
      await kept.end()
      // Still there only if the keeper itself was killed.
      await endFormer(dataDir, () => {})
      await lock.release()
    }
    try {
      await provision(superuserUrl, passwords)
    } catch (error) {
      await stop()
      throw error
    }
    return {
      port,
      superuserUrl,
      ownerUrl: urlOf('gatehouse_owner', passwords.owner, port, 'gatehouse'),
      appUrl: urlOf('gatehouse_app', passwords.app, port, 'gatehouse'),
      pid: kept.pid,
      gone: kept.gone,
      stop,
    }
  } catch (error) {
    await lock.release()
    throw error
  }
}

// 0711 whatever the umask: the database's user must get through to its own folder, and nobody needs to look around.
const prepareParent = (folder: string) => {
  if (existsSync(folder)) return
  mkdirSync(folder, { recursive: true })
  chmodSync(folder, 0o711)
}

const startLog = (dataDir: string): string => {
  const logFile = `${dataDir}.log`
  if (existsSync(logFile)) renameSync(logFile, `${logFile}.1`)
  return logFile
}

const requireMajor = (dataDir: string, major: number) => {
  const found = Number(readFileSync(join(dataDir, 'PG_VERSION'), 'utf8'))
  if (found !== major) {
    throw new StartRefused(
      `The data in ${dataDir} was written by PostgreSQL ${found} and this is PostgreSQL ${major}. Start it with the version that wrote it and dump it, or wipe it with: npm run reset`,
    )
  }
}

type Serving = PostgresRequest & { as: RunAs; binDir: string; logFile: string }

/** Tries again where trying again helps: a port lost to a quicker process, or a killed server whose last children are still leaving. */
const serve = async (serving: Serving): Promise<{ kept: Kept; port: number }> => {
  for (let attempt = 1; ; attempt += 1) {
    const port = serving.port ?? (await freePort())
    if (serving.port && !(await isPortFree(port))) throw portTaken(port)
    const kept = await keep(serving.as, serving.logFile, join(serving.binDir, 'postgres'), argsFor(serving, port))
    const outcome = await ready(serving.dataDir, kept)
    if (outcome === 'ready') return { kept, port }
    await kept.end()
    const why =
      readFileSync(serving.logFile, 'utf8')
        .split('\n')
        .findLast((line) => /FATAL:|PANIC:/.test(line)) ?? outcome
    const isPortLost = /could not create any TCP\/IP sockets/.test(why)
    if (isPortLost && serving.port) throw portTaken(port)
    if (attempt < 20 && (isPortLost || /pre-existing shared memory|is still in use/.test(why))) {
      await sleep(500)
      continue
    }
    throw new StartRefused(`PostgreSQL did not start: ${why.replace(/^.*?(FATAL|PANIC): +/, '')}. Its log is ${serving.logFile}`)
  }
}

const portTaken = (port: number) => new StartRefused(`Port ${port}, wanted for PostgreSQL, is taken by another process.`)

const argsFor = ({ dataDir, settings = {} }: PostgresRequest, port: number): string[] => {
  const all = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    timezone: 'UTC',
    log_timezone: 'UTC',
    ...settings,
  }
  return ['-D', dataDir, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
}

const ready = async (dataDir: string, kept: Kept): Promise<'ready' | string> => {
  let how: number | string | undefined
  void kept.gone.then((value) => {
    how = value
  })
  for (const end = Date.now() + readyWithinSeconds * 1000; Date.now() < end; await sleep(20)) {
    if (how !== undefined) return `it ended with ${how}`
    const postmaster = readPostmaster(dataDir)
    if (postmaster?.pid === kept.pid && postmaster.isReady) return 'ready'
  }
  return `it was not ready within ${readyWithinSeconds} seconds`
}
