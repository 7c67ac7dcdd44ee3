import { expect, test } from 'vitest'
import { prepareDatabase } from '#process/prepare-database.ts'
import { builtinRoleNames, isForServiceAccounts, permissionsOf, roleIdOf, roleVersionIdOf, tierOf } from '#rails/authz/catalogue.ts'
import { databaseFixture } from '../../../../test/postgres.ts'
import { asSuperuser } from '../../../../test/superuser.ts'

const clone = databaseFixture()

const ask = <Row = Record<string, unknown>>(text: string): Promise<Row[]> =>
  asSuperuser(clone.ownerUrl, async (client) => {
    const answered: unknown = await client.query(text)
    return Array.isArray(answered) ? [] : (answered as { rows: Row[] }).rows
  })
const prepare = () => prepareDatabase({ ownerUrl: clone.ownerUrl, appRole: new URL(clone.appUrl).username })

const mirror = () =>
  ask(
    `select d.id, d.name, d.scope_type, d.scope_id, d.is_builtin, d.is_assignable_to_service_accounts, d.current_version_id, v.version,
            array(select permission_key from role_permissions p where p.role_version_id = v.id order by 1) as permissions
       from role_definitions d join role_definition_versions v on v.role_definition_id = d.id order by d.name`,
  )
const catalogue = builtinRoleNames
  .map((name) => ({
    id: roleIdOf(name) as string,
    name: name as string,
    scope_type: tierOf(name),
    scope_id: null,
    is_builtin: true,
    is_assignable_to_service_accounts: isForServiceAccounts(name),
    current_version_id: roleVersionIdOf(name) as string,
    version: 1,
    permissions: [...permissionsOf(name)].sort() as string[],
  }))
  .sort((a, b) => (a.name < b.name ? -1 : 1))

test('RP-04 the mirror of the built-in roles equals the catalogue', async () => {
  expect(await mirror()).toEqual(catalogue)
})

test('RP-28 a fresh database has the built-in roles, and nobody in them', async () => {
  expect(await ask('select name from role_definitions')).toHaveLength(13)
  expect(await ask('select id from users')).toEqual([])
  expect(await ask('select id from platform_role_bindings')).toEqual([])
})

test('RP-04 whatever was done to the mirror, the next start repairs it', async () => {
  const id = (name: (typeof builtinRoleNames)[number]) => `'${roleVersionIdOf(name)}'`
  await ask(`delete from role_permissions where role_version_id = ${id('tenant_owner')}`)
  await ask(`insert into role_permissions (role_version_id, permission_key) values (${id('tenant_viewer')}, 'tenant.role.assign_any')`)
  await ask(`insert into role_permissions (role_version_id, permission_key) values (${id('platform_user')}, 'authorization.override.all')`)
  await ask(`update role_definitions set name = 'renamed' where id = '${roleIdOf('tenant_admin')}'`)
  await ask(`update role_definitions set is_assignable_to_service_accounts = true where id = '${roleIdOf('project_owner')}'`)
  await ask(`update role_definitions set is_assignable_to_service_accounts = false where id = '${roleIdOf('project_viewer')}'`)
  expect(await mirror()).not.toEqual(catalogue)
  await prepare()
  expect(await mirror()).toEqual(catalogue)
})

test('RP-04 a built-in that was disabled stays disabled over a start', async () => {
  await ask(`update role_definitions set state = 'disabled' where name = 'tenant_viewer'`)
  await prepare()
  expect(await ask(`select name from role_definitions where state <> 'active'`)).toEqual([{ name: 'tenant_viewer' }])
})

test('RP-04 custom roles are not touched by a start', async () => {
  await ask(
    `begin;
     insert into organizations (id, type, name, slug, created_at) values ('0190a000-0000-7000-8000-000000000001', 'enterprise', 'A', 'a', now());
     insert into role_definitions (id, scope_type, tenant_id, name, is_builtin, current_version_id, created_at)
       values ('0190a000-0000-7000-8000-000000000002', 'tenant', '0190a000-0000-7000-8000-000000000001', 'mine', false, '0190a000-0000-7000-8000-000000000003', now());
     insert into role_definition_versions (id, role_definition_id, version, created_at)
       values ('0190a000-0000-7000-8000-000000000003', '0190a000-0000-7000-8000-000000000002', 1, now());
     insert into role_permissions (role_version_id, permission_key) values ('0190a000-0000-7000-8000-000000000003', 'tenant.read');
     commit`,
  )
  await prepare()
  expect(await ask(`select permission_key from role_permissions where role_version_id = '0190a000-0000-7000-8000-000000000003'`)).toEqual([
    { permission_key: 'tenant.read' },
  ])
})
