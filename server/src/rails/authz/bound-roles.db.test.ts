import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { expect, test } from 'vitest'
import { openDatabase } from '#ground/db/database.ts'
import { sql } from '#ground/db/statement.ts'
import { fixedId } from '#ground/kernel/ids.ts'
import { seedDevelopment } from '#process/seed-development.ts'
import { fixture } from '../../../../test/fixture.ts'
import { databaseFixture } from '../../../../test/postgres.ts'
import { asSuperuser } from '../../../../test/superuser.ts'
import { unhurried } from '../../../../test/unhurried.ts'
import { projectRoleNames, tenantRoleNames } from './bound-roles.ts'

const clone = databaseFixture(async (clone) => {
  await seedDevelopment({ databaseUrl: clone.appUrl, issuer: 'http://127.0.0.1:8091', keys: `first:${'k'.repeat(43)}` })
})
const database = fixture(
  () => openDatabase({ url: clone.appUrl, max_connections: 2, ...unhurried.database }),
  (opened) => opened.close(),
)

/** Past every rule of the code, as the owner. */
const force = (text: string) => asSuperuser(clone.ownerUrl, (client) => client.query(text))
const aurora = fixedId('org', 'aurora')
const training = fixedId('project', 'aurora/training')
const user = (name: string) => fixedId('user', name)

const Names = Exactly({ tenant: Type.Array(Type.String()), project: Type.Array(Type.String()) })
const namesOf = (username: string) =>
  database.reader.one(sql(Names)`
    select ${tenantRoleNames('o.id', 'u.id')} as tenant, ${projectRoleNames('p.id', 'u.id')} as project
      from users u, organizations o, projects p where u.id = ${user(username)} and o.id = ${aurora} and p.id = ${training}`)

const bind = (tier: 'tenant' | 'project', username: string, role: string, expires_at: string) =>
  force(
    `insert into ${tier}_role_bindings (id, ${tier}_id, principal_type, principal_id, role_version_id, created_at, expires_at)
       select gen_random_uuid(), '${tier === 'tenant' ? aurora : training}', 'user', '${user(username)}', current_version_id, now(), ${expires_at}
         from role_definitions where name = '${role}'`,
  )

test('RP-21 the names of the roles that are bound, in their order, for each tier its own', async () => {
  expect(await namesOf('amara')).toEqual({ tenant: ['tenant_member'], project: ['project_owner'] })
  await bind('tenant', 'amara', 'tenant_viewer', `now() + interval '1 hour'`)
  await bind('tenant', 'amara', 'tenant_billing_viewer', 'null')
  await bind('project', 'amara', 'project_viewer', `now() + interval '1 hour'`)
  expect(await namesOf('amara')).toEqual({
    tenant: ['tenant_billing_viewer', 'tenant_member', 'tenant_viewer'],
    project: ['project_owner', 'project_viewer'],
  })
})

test('RP-21 what has ended, or was taken, has no name', async () => {
  await bind('tenant', 'axel', 'tenant_viewer', `now() - interval '1 second'`)
  await bind('project', 'axel', 'project_member', `now() - interval '1 second'`)
  expect(await namesOf('axel')).toEqual({ tenant: ['tenant_member'], project: ['project_viewer'] })
  await force(`update project_role_bindings set deleted_at = now(), delete_reason = 'test' where principal_id = '${user('axel')}'`)
  expect(await namesOf('axel')).toEqual({ tenant: ['tenant_member'], project: [] })
})

test('RP-21 a disabled role is still bound, and keeps its name', async () => {
  await bind('tenant', 'alice', 'tenant_billing_viewer', 'null')
  const before = await namesOf('alice')
  expect(before.tenant).toContain('tenant_billing_viewer')
  await force(`update role_definitions set state = 'disabled' where name = 'tenant_billing_viewer'`)
  expect(await namesOf('alice')).toEqual(before)
})
