import { createHash, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Client } from 'pg'
import { readMigrations } from '../server/src/ground/db/migrate.ts'
import { mirrorCode, prepareDatabase } from '../server/src/process/prepare-database.ts'
import { asSuperuser, type TestPostgres } from './superuser.ts'

type Role = { role: string; password: string }

/** A migrated database that each test copies, and the two roles that use the copies. */
export type Template = { database: string; owner: Role; app: Role }

const at = (superuserUrl: string, database: string, { role, password }: Role): string =>
  Object.assign(new URL(superuserUrl), { pathname: `/${database}`, username: role, password }).href

const createTemplate = async ({ database, owner, app }: Template, client: Client, superuserUrl: string): Promise<void> => {
  await client.query(`create database ${database} owner ${owner.role}`)
  await prepareDatabase({ ownerUrl: at(superuserUrl, database, owner), appRole: app.role })
  // A template that nobody can enter is always free to be copied.
  await client.query(`alter database ${database} allow_connections false`)
}

/** Roles and a migrated database with names that nobody else has, so that a server that is not ours can be left as it was. */
export const makeTemplate = async (superuserUrl: string): Promise<Template> => {
  const suffix = randomBytes(4).toString('hex')
  const person = (name: string) => ({ role: `gatehouse_${name}_${suffix}`, password: randomBytes(12).toString('hex') })
  const template = { database: `gatehouse_template_${suffix}`, owner: person('owner'), app: person('app') }
  await asSuperuser(superuserUrl, async (client) => {
    for (const { role, password } of [template.owner, template.app]) await client.query(`create role ${role} login password '${password}'`)
    await createTemplate(template, client, superuserUrl)
  })
  return template
}

/** Makes it anew under the same names, because workers keep the names they began with. If that fails there is no template, never an old one. */
export const remakeTemplate = (template: Template, superuserUrl: string): Promise<void> =>
  asSuperuser(superuserUrl, async (client) => {
    await client.query(`drop database if exists ${template.database}`)
    await createTemplate(template, client, superuserUrl)
  })

/** Drops the template and its roles. Clones that a broken test left behind go too, or their owner could not be dropped. */
export const dropTemplate = ({ owner, app }: Template, superuserUrl: string): Promise<void> =>
  asSuperuser(superuserUrl, async (client) => {
    const { rows } = await client.query<{ datname: string }>(
      'select datname from pg_database join pg_roles on pg_roles.oid = datdba where rolname = $1',
      [owner.role],
    )
    for (const { datname } of rows) await client.query(`drop database ${datname} with (force)`)
    for (const { role } of [app, owner]) await client.query(`drop role ${role}`)
  })

export const described = ({ database, owner, app }: Template, superuserUrl: string, socket_folder: string | null): TestPostgres => {
  const named = (role: Role) => ({ role: role.role, url: at(superuserUrl, database, role) })
  return { superuserUrl, template: database, owner: named(owner), app: named(app), socket_folder }
}

// The code that turns the migrations into a template, and that makes the cluster around it.
const makers = [
  'server/src/process/prepare-database.ts',
  'server/src/ground/db/migrate.ts',
  'server/src/ground/db/embedded/initialise.ts',
  'server/src/ground/db/embedded/provision.ts',
  'test/template.ts',
  'test/cluster-cache.ts',
  'test/start-postgres.ts',
]

/** A hash of all that a template is made from: migrations, grants, the rows that the code mirrors, and the makers themselves. */
export const templateKey = async (extra: readonly unknown[] = []): Promise<string> => {
  const root = join(import.meta.dirname, '..')
  const statements: unknown[] = []
  await mirrorCode(async (text, values) => void statements.push([text, values]))
  const migrations = (await readMigrations()).map(({ name, hash }) => [name, hash])
  const texts = await Promise.all(['db/grants.sql', ...makers].map((file) => readFile(join(root, file), 'utf8')))
  return createHash('sha256')
    .update(JSON.stringify([migrations, statements, texts, extra]))
    .digest('hex')
    .slice(0, 32)
}
