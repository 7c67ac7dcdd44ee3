import { randomBytes } from 'node:crypto'
import { afterEach, describe, expect, inject, test } from 'vitest'
import { openDatabase } from '#ground/db/database.ts'
import { databaseFixture } from '../../../test/postgres.ts'
import { asSuperuser } from '../../../test/superuser.ts'
import { unhurried } from '../../../test/unhurried.ts'
import { ConfigRefused, parseConfig } from '../config.ts'
import { seedDevelopment } from './seed-development.ts'
import { requireFitDatabase } from './start-checks.ts'

const { superuserUrl } = inject('postgres')
const roles: string[] = []
const clone = databaseFixture()
const asRoot = (text: string) =>
  asSuperuser(Object.assign(new URL(superuserUrl), { pathname: new URL(clone.ownerUrl).pathname }).href, (client) => client.query(text))
afterEach(async () => {
  const owner = new URL(clone.ownerUrl).username
  for (const role of roles.splice(0)) await asRoot(`reassign owned by ${role} to ${owner}; drop owned by ${role}; drop role ${role}`)
})

/** One more application role, with everything that the usual one may do. */
const newRole = async (): Promise<{ role: string; url: string }> => {
  const [role, password] = [`gatehouse_try_${randomBytes(4).toString('hex')}`, 'secret']
  await asRoot(`create role ${role} login password '${password}'; grant ${new URL(clone.appUrl).username} to ${role}`)
  roles.push(role)
  return { role, url: Object.assign(new URL(clone.appUrl), { username: role, password }).href }
}

const check = async (profile: 'production' | 'development', url: string, ownerUrl?: string): Promise<string> => {
  const config = parseConfig({
    GATEHOUSE_PROFILE: profile,
    GATEHOUSE_OIDC_ISSUERS: JSON.stringify([{ issuer: 'https://id.example', audience: 'gatehouse-api' }]),
    GATEHOUSE_KEY_ENCRYPTION_KEYS: `one:${'k'.repeat(43)}`,
    GATEHOUSE_CHECKPOINT_FILE: '/nonexistent/checkpoints.jsonl',
    GATEHOUSE_PUBLIC_URL: 'https://gatehouse.example',
    DATABASE_URL: url,
    DATABASE_OWNER_URL: ownerUrl,
  })
  const database = openDatabase({ url, max_connections: 1, ...unhurried.database })
  try {
    await requireFitDatabase(config, database)
    return 'fit'
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigRefused)
    return (error as Error).message
  } finally {
    await database.close()
  }
}

const owns = 'The role in DATABASE_URL owns the tables or is a superuser; production needs one that owns nothing.'
const anotherVersion = 'The database schema is not that of this version; set DATABASE_OWNER_URL so that the server can migrate it.'

test('HO-03 a migrated database and a role that owns nothing are fit, with the owner at hand or without', async () => {
  expect(await check('production', clone.appUrl)).toBe('fit')
  expect(await check('production', clone.appUrl, clone.ownerUrl)).toBe('fit')
})

describe('HO-03 production refuses as application', () => {
  test('HO-03 the owner of the tables', async () => {
    expect(await check('production', clone.ownerUrl)).toBe(owns)
    expect(await check('development', clone.ownerUrl)).toBe('fit')
  })

  test('HO-03 a superuser', async () => {
    const root = Object.assign(new URL(superuserUrl), { pathname: new URL(clone.ownerUrl).pathname }).href
    expect(await check('production', root)).toBe(owns)
  })

  test('HO-03 a member of the owner, whether it inherits or not', async () => {
    const { role, url } = await newRole()
    expect(await check('production', url)).toBe('fit')
    await asRoot(`grant ${new URL(clone.ownerUrl).username} to ${role}; alter role ${role} noinherit`)
    // Without inheritance its grants through the usual role do not reach it, so it gets its own.
    await asRoot(`grant select on all tables in schema public to ${role}`)
    expect(await check('production', url)).toBe(owns)
  })

  test('HO-03 a role that owns one table only', async () => {
    const { role, url } = await newRole()
    await asRoot(`create table aside (); alter table aside owner to ${role}`)
    expect(await check('production', url)).toBe(owns)
    await asRoot('drop table aside')
  })

  test('HO-03 a role that owns the database, and with it may drop what lies in its schema', async () => {
    const { role, url } = await newRole()
    const { pathname } = new URL(clone.ownerUrl)
    await asRoot(`alter database ${pathname.slice(1)} owner to ${role}`)
    expect(await check('production', url)).toBe(owns)
    await asRoot(`alter database ${pathname.slice(1)} owner to ${new URL(clone.ownerUrl).username}`)
  })
})

test('HO-03 a schema of another version is refused without the owner, and brought up to date with him', async () => {
  await asRoot(
    `delete from schema_migrations where name = '9999-newer.sql'; insert into schema_migrations (name, hash) values ('9999-newer.sql', 'x')`,
  )
  expect(await check('production', clone.appUrl)).toBe(anotherVersion)
  expect(await check('development', clone.appUrl)).toBe(anotherVersion)
  await asRoot(`delete from schema_migrations where name = '9999-newer.sql'`)
  expect(await check('production', clone.appUrl)).toBe('fit')
})

test('HO-03 an empty database is refused in the same words', async () => {
  const name = `gatehouse_test_${randomBytes(6).toString('hex')}`
  await asRoot(`create database ${name} owner ${new URL(clone.ownerUrl).username}`)
  const at = (url: string) => Object.assign(new URL(url), { pathname: `/${name}` }).href
  expect(await check('production', at(clone.appUrl))).toBe(anotherVersion)
  expect(await check('production', at(clone.appUrl), at(clone.ownerUrl))).toBe('fit')
  await asRoot(`drop database ${name} with (force)`)
})

test('HO-03 production refuses a database with seeded people; development is made for it', async () => {
  await seedDevelopment({ databaseUrl: clone.appUrl, issuer: 'http://127.0.0.1:8091', keys: `first:${'k'.repeat(43)}` })
  expect(await check('production', clone.appUrl)).toBe('This database holds seeded development people; production refuses it.')
  expect(await check('production', clone.appUrl, clone.ownerUrl)).toContain('seeded development people')
  expect(await check('development', clone.appUrl)).toBe('fit')
  // One is enough, disabled or not.
  await asRoot(`update users set is_seeded = false where username <> 'otto'`)
  expect(await check('production', clone.appUrl)).toContain('seeded development people')
})
