import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../../server/src/ground/db/embedded/free-port.ts'
import { type Postgres, startPostgres } from '../../server/src/ground/db/embedded/postgres.ts'
import { prepareDatabase } from '../../server/src/process/prepare-database.ts'
import { spend } from '../spent.ts'

/** A PostgreSQL for one test alone, to be killed and started again. Commits are real; only a power cut is not provided for. */
export const ownPostgres = async ({ folder, settings = {} }: { folder?: string; settings?: Record<string, string> } = {}) => {
  const parent = folder ?? mkdtempSync(join(tmpdir(), `gatehouse-run-${process.pid}-`))
  chmodSync(parent, 0o755)
  const port = await freePort()
  const request = { dataDir: join(parent, 'data'), port, settings: { fsync: 'off', max_connections: '100', ...settings } }
  let running: Postgres = await spend('process starts', () => startPostgres(request))
  const { appUrl, ownerUrl, superuserUrl } = running
  await prepareDatabase({ ownerUrl, appRole: new URL(appUrl).username })
  return {
    appUrl,
    ownerUrl,
    superuserUrl,
    port,
    dataDir: request.dataDir,
    /** With -9, so that nothing is put in order first. */
    kill: async () => {
      process.kill(running.pid, 'SIGKILL')
      await running.gone
    },
    /** In good order: whoever is connected is told. */
    halt: () => running.stop(),
    restart: async () => {
      await running.stop()
      running = await startPostgres(request)
    },
    stop: async () => {
      await running.stop()
      if (!folder) rmSync(parent, { recursive: true, force: true })
    },
  }
}
