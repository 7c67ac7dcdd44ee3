import { randomBytes } from 'node:crypto'
import { beforeAll, inject } from 'vitest'
import { fixture } from './fixture.ts'
import { spend } from './spent.ts'
import { asSuperuser, type TestPostgres } from './superuser.ts'

declare module 'vitest' {
  interface ProvidedContext {
    postgres: TestPostgres
  }
}

export interface ClonedDatabase {
  ownerUrl: string
  appUrl: string
  /** The same by the shortest way: for servers that a test has in its own process. */
  near: { ownerUrl: string; appUrl: string }
  drop(): Promise<void>
}

const cloneLock = 7_290_432

const at = (url: string, database: string): string => Object.assign(new URL(url), { pathname: `/${database}` }).href

/** pg reads a folder where a host stands as the place of a socket. */
const nearBy = (url: string, socket_folder: string | null): string =>
  socket_folder === null ? url : url.replace(/@[^:/]+/, () => `@${encodeURIComponent(socket_folder)}`)

const isBeingAccessed = (error: unknown): boolean => (error as { code?: string }).code === '55006'
const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))

/** A database of one's own: migrated, without rows but those that migrations write. Two workers may ask at once. */
export const cloneDatabase = (): Promise<ClonedDatabase> => spend('database set-up', copyTemplate)

const copyTemplate = async (): Promise<ClonedDatabase> => {
  const { superuserUrl, template, owner, app, socket_folder } = inject('postgres')
  const name = `gatehouse_test_${randomBytes(6).toString('hex')}`
  await asSuperuser(superuserUrl, async (client) => {
    // By files: page by page through the log it takes four times as long, 46 ms of processor time.
    // PostgreSQL refuses a copy while another copy reads the template; the lock is the session's and goes with it.
    await client.query('select pg_advisory_lock($1)', [cloneLock])
    for (let attempt = 1; ; attempt += 1) {
      try {
        await client.query(`create database ${name} template ${template} owner ${owner.role} strategy file_copy`)
        return
      } catch (error) {
        if (attempt === 20 || !isBeingAccessed(error)) throw error
        await pause(50)
      }
    }
  })
  const [ownerUrl, appUrl] = [at(owner.url, name), at(app.url, name)]
  return {
    ownerUrl,
    appUrl,
    near: { ownerUrl: nearBy(ownerUrl, socket_folder), appUrl: nearBy(appUrl, socket_folder) },
    drop: () => asSuperuser(superuserUrl, async (client) => void (await client.query(`drop database if exists ${name} with (force)`))),
  }
}

/** The database that all tests of a file share; `prepare` is what else they need before the first of them. */
export const databaseFixture = (prepare?: (clone: ClonedDatabase) => unknown): ClonedDatabase => {
  const clone = fixture(cloneDatabase, (made) => made.drop())
  if (prepare) beforeAll(async () => void (await prepare(clone)))
  return clone
}
