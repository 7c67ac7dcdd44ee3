import { expect, test } from 'vitest'
import { openDatabase } from '#ground/db/database.ts'
import { fixedId } from '#ground/kernel/ids.ts'
import type { Work } from '#ground/work/work.ts'
import { seedDevelopment } from '#process/seed-development.ts'
import { fixture } from '../../../../test/fixture.ts'
import { databaseFixture } from '../../../../test/postgres.ts'
import { asSuperuser } from '../../../../test/superuser.ts'
import { unhurried } from '../../../../test/unhurried.ts'
import { roleIdOf } from './catalogue.ts'
import { lockPlatform } from './platform-queries.ts'
import { superadmins } from './superadmins.ts'

const clone = databaseFixture(async (clone) => {
  await seedDevelopment({ databaseUrl: clone.appUrl, issuer: 'http://127.0.0.1:8091', keys: `first:${'k'.repeat(43)}` })
})
const database = fixture(
  () => openDatabase({ url: clone.appUrl, max_connections: 3, ...unhurried.database }),
  (opened) => opened.close(),
)

const user = (name: string) => fixedId('user', name)
const key = 'authorization.platform_role_source'
/** Past every rule of the code, as the owner. */
const force = (text: string) => asSuperuser(clone.ownerUrl, (client) => client.query(text))
const bind = (username: string) =>
  force(
    `insert into platform_role_bindings (id, principal_type, principal_id, role_definition_id, created_at)
       values (gen_random_uuid(), 'user', '${user(username)}', '${roleIdOf('platform_superadmin')}', now())`,
  )

// Ada is bound, and has no more of the column. Otto is bound to another role, Alice to none; Adam was a superadmin; Arne is disabled.
const people = ['ada', 'otto', 'alice', 'adam', 'arne']
const table = [
  ['"users_role"', ['adam', 'alice', 'otto']],
  ['"transition"', ['ada', 'alice']],
  ['"bindings"', ['ada']],
  ['"Bindings"', ['ada']],
  ['null', ['ada']],
] as const

test('RP-20 RP-25 who is a superadmin by each source; by bindings where it cannot be read or is missing', async () => {
  for (const username of ['adam', 'arne']) await bind(username)
  await force(`update platform_role_bindings set deleted_at = now(), delete_reason = 'test' where principal_id = '${user('adam')}'`)
  await force(`update users set role = case when username in ('otto', 'alice', 'adam', 'arne') then 'admin' else 'user' end`)
  await force(`update users set disabled_at = now(), disabled_by = id, disable_reason = 'test' where username = 'arne'`)
  const found = () =>
    database.transaction('read', async (tx) => {
      const ids = await superadmins({ tx } as unknown as Work)
      return people.filter((name) => ids.includes(user(name))).sort()
    })
  for (const [source, expected] of table) {
    await force(`update policy_values set value = '${source}' where key = '${key}' and replaced_at is null`)
    expect([source, await found()]).toEqual([source, expected])
  }
  await force(`update policy_values set value = '"users_role"', replaced_at = now() where key = '${key}'`)
  expect(await found()).toEqual(['ada'])
})

test('RP-20 two who would change the authority over the platform do it one after the other', async () => {
  const order: string[] = []
  const [held, asked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const first = database.transaction('write', async (tx) => {
    expect(await tx.one(lockPlatform())).toEqual({ locked: true })
    held.resolve()
    await asked.promise
    order.push('the first is done')
  })
  await held.promise
  const second = database.transaction('write', async (tx) => {
    await tx.one(lockPlatform())
    order.push('the second begins')
  })
  const isWaiting = async () => {
    const { rows } = await force(
      `select from pg_locks l join pg_database d on d.oid = l.database
        where d.datname = current_database() and l.locktype = 'advisory' and not l.granted`,
    )
    return rows.length > 0
  }
  await expect.poll(isWaiting).toBe(true)
  asked.resolve()
  await Promise.all([first, second])
  expect(order).toEqual(['the first is done', 'the second begins'])
})
