import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { embeddedBinDir } from '../../server/src/ground/db/embedded/binaries.ts'
import { freePort } from '../../server/src/ground/db/embedded/free-port.ts'
import { keep } from '../../server/src/ground/db/embedded/kept.ts'
import { runAsFor } from '../../server/src/ground/db/embedded/run-as.ts'
import { asSuperuser } from '../superuser.ts'
import type { ownPostgres } from './own-postgres.ts'

type Primary = Awaited<ReturnType<typeof ownPostgres>>

const at = (url: string, port: number) => Object.assign(new URL(url), { port: String(port) }).href

/**
 * A hot standby that streams from this primary: a copy of its folder, made while it is down, so that no tool beside the server is needed.
 * The copy follows the primary until it is paused or promoted.
 */
export const startStandby = async (primary: Primary) => {
  await primary.halt()
  const folder = mkdtempSync(join(tmpdir(), `gatehouse-run-${process.pid}-`))
  const as = runAsFor(primary.dataDir)
  const data = join(folder, 'data')
  const copied = spawnSync('cp', ['-a', primary.dataDir, data])
  if (copied.status !== 0) throw new Error(`the copy failed: ${copied.stderr}`)
  writeFileSync(join(data, 'standby.signal'), '')
  spawnSync('chmod', ['755', folder])
  await primary.restart()
  const port = await freePort()
  const { username, password } = new URL(primary.superuserUrl)
  const settings = {
    listen_addresses: '127.0.0.1',
    port: String(port),
    unix_socket_directories: '',
    timezone: 'UTC',
    fsync: 'off',
    max_connections: '100',
    primary_conninfo: `host=127.0.0.1 port=${primary.port} user=${username} password=${password}`,
  }
  const args = ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
  const running = await keep(as, join(folder, 'log'), join(embeddedBinDir(as), 'postgres'), args)
  const superuserUrl = at(primary.superuserUrl, port)
  const here = <Row extends pg.QueryResultRow>(text: string) =>
    asSuperuser(superuserUrl, async (client) => (await client.query<Row>(text)).rows[0]!)
  const isUp = async () => {
    const client = new pg.Client({ connectionString: superuserUrl })
    client.on('error', () => {})
    try {
      await client.connect()
      return true
    } catch {
      return false
    } finally {
      await client.end().catch(() => {})
    }
  }
  return {
    port,
    appUrl: at(primary.appUrl, port),
    ownerUrl: at(primary.ownerUrl, port),
    superuserUrl,
    isUp,
    /** Whether it has replayed all that the primary has written until now. */
    hasCaughtUp: async () => {
      const { lsn } = await asSuperuser(
        primary.superuserUrl,
        async (client) => (await client.query<{ lsn: string }>('select pg_current_wal_lsn() as lsn')).rows[0]!,
      )
      return (await here<{ has: boolean }>(`select pg_last_wal_replay_lsn() >= '${lsn}' as has`)).has
    },
    pause: () => here('select pg_wal_replay_pause()'),
    isPaused: async () => (await here<{ state: string }>('select pg_get_wal_replay_pause_state() as state')).state === 'paused',
    resume: () => here('select pg_wal_replay_resume()'),
    promote: () => here('select pg_promote()'),
    stop: async () => {
      await running.end()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
