import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterEach, expect, inject, test } from 'vitest'
import { prepareDatabase } from '#process/prepare-database.ts'
import { asSuperuser } from '../../../../test/superuser.ts'
import { unhurried } from '../../../../test/unhurried.ts'
import { openDatabase } from './database.ts'
import { migrate, readMigrations } from './migrate.ts'
import { schemaIsCurrent } from './schema-checks.ts'

const undo: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step()
})

/** A database as an administrator hands it over: empty. */
const emptyDatabase = async () => {
  const { superuserUrl, owner, app } = inject('postgres')
  const name = `gatehouse_test_${randomBytes(6).toString('hex')}`
  const at = (url: string) => Object.assign(new URL(url), { pathname: `/${name}` }).href
  await asSuperuser(superuserUrl, (client) => client.query(`create database ${name} owner ${owner.role}`))
  undo.push(() => asSuperuser(superuserUrl, (client) => client.query(`drop database if exists ${name} with (force)`)))
  const request = { ownerUrl: at(owner.url), appRole: app.role }
  const ask = <Row>(text: string, url = request.ownerUrl): Promise<Row[]> =>
    asSuperuser(url, async (client) => (await client.query(text)).rows as Row[])
  return { request, ask, appUrl: at(app.url), rootUrl: at(superuserUrl) }
}

const tables = `select tablename from pg_tables where schemaname = 'public' order by 1`
const applied = 'select name, hash, applied_at::text from schema_migrations order by name'
const known = (await readMigrations()).map(({ name }) => name)

test('HO-03 an empty database gets all migrations, in their order, and a second time nothing', async () => {
  const { request, ask } = await emptyDatabase()
  expect(await migrate(request)).toEqual(known)
  const before = await ask(applied)
  expect(before).toHaveLength(known.length)
  expect(await migrate(request)).toEqual([])
  expect(await ask(applied)).toEqual(before)
})

test('HO-03 several that start at once migrate once', async () => {
  const { request, ask } = await emptyDatabase()
  const ran = await Promise.all([1, 2, 3].map(() => prepareDatabase(request)))
  expect(ran.filter((names) => names.length > 0)).toEqual([known])
  expect(await ask(applied)).toHaveLength(known.length)
})

test('HO-03 a migration that was changed after it was applied is refused, and nothing happens', async () => {
  const { request, ask } = await emptyDatabase()
  await migrate(request)
  await ask(`update schema_migrations set hash = 'edited' where name = '${known[0]}'`)
  await ask('create table left_alone ()')
  await expect(migrate({ ...request, also: async (run) => void (await run('drop table left_alone')) })).rejects.toThrow(
    `Migration ${known[0]} was changed after it was applied; write a new one instead.`,
  )
  expect(await ask(tables)).toContainEqual({ tablename: 'left_alone' })
})

test('HO-03 a database of a newer version is refused', async () => {
  const { request, ask } = await emptyDatabase()
  await migrate(request)
  await ask(`insert into schema_migrations (name, hash) values ('9999-from-the-future.sql', 'x')`)
  await expect(migrate(request)).rejects.toThrow(
    'The database has migration 9999-from-the-future.sql, which this version does not know: it belongs to a newer version.',
  )
})

test('HO-03 what fails in the mirrors leaves no migration behind', async () => {
  const { request, ask } = await emptyDatabase()
  await expect(migrate({ ...request, also: () => Promise.reject(new Error('half way')) })).rejects.toThrow('half way')
  expect(await ask(tables)).toEqual([])
})

test('HO-03 a role that does not exist leaves no migration behind', async () => {
  const { request, ask } = await emptyDatabase()
  await expect(migrate({ ...request, appRole: 'nobody_of_that_name' })).rejects.toThrow('does not exist')
  expect(await ask(tables)).toEqual([])
})

test('HO-03 killed with -9 in the middle of its tables it leaves nothing, and the next one does it all', async () => {
  const { request, ask, rootUrl } = await emptyDatabase()
  // The migration stands still at one of its tables long enough to be killed there.
  await ask(
    `create function stand_still() returns event_trigger language plpgsql as $$ begin
       if exists (select from pg_event_trigger_ddl_commands() where object_identity = 'public.role_permissions') then perform pg_sleep(60); end if;
     end $$;
     create event trigger stand_still on ddl_command_end when tag in ('CREATE TABLE') execute function stand_still()`,
    rootUrl,
  )
  const program = `import { migrate } from '@gatehouse/server/ground/db/migrate'\nawait migrate(JSON.parse(process.argv[1]))`
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', program, JSON.stringify(request)], {
    cwd: join(import.meta.dirname, '../../../..'),
    stdio: 'inherit',
  })
  const asleep = `select from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`
  await expect.poll(async () => (await ask(asleep, rootUrl)).length).toBe(1)
  child.kill('SIGKILL')
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL'])
  // PostgreSQL notices that nobody is there when it next wants to say something; a minute of sleep is cut short here.
  await ask(
    `select pg_terminate_backend(pid, 60000) from pg_stat_activity where datname = current_database() and wait_event = 'PgSleep'`,
    rootUrl,
  )
  await ask('drop event trigger stand_still', rootUrl)
  expect(await ask(tables)).toEqual([])
  expect(await migrate(request)).toEqual(known)
})

test('HO-03 a line that breaks while migrating is an error and not the end of the process', async () => {
  const { request, ask, rootUrl } = await emptyDatabase()
  const broken = migrate({
    ...request,
    also: async (run) => {
      await ask(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'gatehouse-migrate' and datname = current_database()`,
        rootUrl,
      )
      await run('select 1')
    },
  })
  await expect(broken).rejects.toThrow(/terminat|not queryable/)
  expect(await ask(tables)).toEqual([])
})

test('HO-03 whether a schema is of this version is told without the owner', async () => {
  const { request, ask, appUrl } = await emptyDatabase()
  const database = openDatabase({ url: appUrl, max_connections: 1, ...unhurried.database })
  undo.push(() => database.close())
  const isCurrent = () => schemaIsCurrent(database.reader)
  expect(await isCurrent()).toBe(false)
  await migrate(request)
  expect(await isCurrent()).toBe(true)
  await ask(`revoke select on schema_migrations from ${request.appRole}`)
  expect(await isCurrent()).toBe(false)
  await migrate(request)
  await ask(`insert into schema_migrations (name, hash) values ('9999-newer.sql', 'x')`)
  expect(await isCurrent()).toBe(false)
  await ask(`delete from schema_migrations where name in ('9999-newer.sql', '${known.at(-1)}')`)
  expect(await isCurrent()).toBe(false)
})

test('HO-03 a schema check that cannot reach the database says so instead of guessing', async () => {
  const database = openDatabase({ url: 'postgres://app:x@127.0.0.1:1/gatehouse' })
  undo.push(() => database.close())
  await expect(schemaIsCurrent(database.reader)).rejects.toMatchObject({ code: 'dependency_unavailable' })
})
