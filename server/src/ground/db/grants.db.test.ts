import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { describe, expect, inject, test } from 'vitest'
import { databaseFixture } from '../../../../test/postgres.ts'
import { asSuperuser } from '../../../../test/superuser.ts'
import { migrate } from './migrate.ts'

const clone = databaseFixture()

const asApp = (text: string) => asSuperuser(clone.appUrl, (client) => client.query(text))
const asOwner = <Row>(text: string): Promise<Row[]> =>
  asSuperuser(clone.ownerUrl, async (client) => (await client.query(text)).rows as Row[])

/** What the application may do, by hand: r read, a add, w change, d delete. */
const expected: Record<string, string> = {
  allocation_access_grants: 'raw',
  allocation_devices: 'raw',
  allocation_ssh_public_keys: 'raw',
  allocations: 'raw',
  audit_heads: 'raw',
  audit_logs: 'ra',
  epochs: 'raw',
  idempotency_keys: 'rawd',
  installation: 'rw',
  installation_secrets: 'raw',
  invitations: 'raw',
  issued_tokens: 'rawd',
  node_authorities: 'raw',
  node_certificates: 'raw',
  node_enrolments: 'raw',
  node_events: 'rad',
  node_tasks: 'raw',
  nodes: 'raw',
  organizations: 'raw',
  platform_role_bindings: 'raw',
  policy_constraints: 'raw',
  policy_definitions: 'r',
  policy_values: 'raw',
  project_memberships: 'raw',
  project_role_bindings: 'raw',
  projects: 'raw',
  role_definition_versions: 'raw',
  role_definitions: 'raw',
  role_permissions: 'raw',
  schema_migrations: 'r',
  service_account_keys: 'raw',
  service_accounts: 'raw',
  shared_app_runtimes: 'raw',
  shared_runtime_attachments: 'raw',
  shared_runtime_credentials: 'raw',
  shared_runtime_members: 'rawd',
  shared_runtime_operator_credentials: 'raw',
  signing_keys: 'raw',
  ssh_public_keys: 'raw',
  ssh_sessions: 'raw',
  task_signers: 'raw',
  tenant_memberships: 'raw',
  tenant_role_bindings: 'raw',
  token_cutoffs: 'raw',
  used_proofs: 'rad',
  users: 'raw',
  wrapped_deliveries: 'rawd',
}

test('the application has exactly these rights, and no other on any table', async () => {
  const role = new URL(clone.appUrl).username
  const letters = ['select r', 'insert a', 'update w', 'delete d', 'truncate D', 'references x', 'trigger t']
    .map((pair) => pair.split(' '))
    .map(([right, letter]) => `case when has_table_privilege('${role}', oid, '${right}') then '${letter}' else '' end`)
  const rows = await asOwner<{ name: string; rights: string }>(
    `select relname as name, ${letters.join(' || ')} as rights from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v', 'm', 'f') order by relname`,
  )
  expect(Object.fromEntries(rows.map(({ name, rights }) => [name, rights]))).toEqual(expected)
})

test('the application reads the last number of a token, and gives or sets none', async () => {
  const role = new URL(clone.appUrl).username
  const letters = ['select r', 'usage u', 'update w']
    .map((pair) => pair.split(' '))
    .map(([right, letter]) => `case when has_sequence_privilege('${role}', oid, '${right}') then '${letter}' else '' end`)
  const rows = await asOwner<{ name: string; rights: string }>(
    `select relname as name, ${letters.join(' || ')} as rights from pg_class where relnamespace = 'public'::regnamespace and relkind = 'S'`,
  )
  expect(rows).toEqual([{ name: 'issued_tokens_number_seq', rights: 'r' }])
})

describe('the application cannot', () => {
  test.each([
    'update audit_logs set action = action',
    'update audit_logs set metadata = metadata where false',
    'delete from audit_logs',
    'truncate audit_logs',
    'alter table audit_logs disable trigger all',
    'delete from users',
    'delete from tenant_memberships',
    'delete from project_role_bindings',
    'delete from role_definitions',
    'delete from policy_values',
    'delete from policy_constraints',
    'delete from epochs',
    'delete from invitations',
    'truncate idempotency_keys',
    `select setval('issued_tokens_number_seq', 1)`,
    `select nextval('issued_tokens_number_seq')`,
    'update policy_definitions set bounds = bounds',
    'insert into schema_migrations (name, hash) values ($$x$$, $$x$$)',
    'create table mine ()',
    'create view mine as select 1',
    'create function mine() returns int language sql as $$ select 1 $$',
    'create schema mine',
    'drop table users',
    'drop schema public cascade',
    'alter table users add column mine text',
    'alter table users owner to current_user',
    'create trigger mine before insert on users for each row execute function require_role_fits()',
    'drop function require_role_fits() cascade',
    'create role mine',
    'create extension pgcrypto',
    `grant select on users to public`,
  ])('%s', async (text) => {
    const refused = asApp(text)
    // A grant of what one does not own is only a warning in PostgreSQL; it is told by what it changed.
    if (text.startsWith('grant')) {
      await refused.catch(() => {})
      const [row] = await asOwner<{ acl: string }>(`select relacl::text as acl from pg_class where oid = 'users'::regclass`)
      return expect(row!.acl).not.toMatch(/[{,]=/)
    }
    await expect(refused).rejects.toThrow(/permission denied|must be owner/)
  })
})

test('rights that somebody gave by hand are gone after the next migration', async () => {
  const role = `"${new URL(clone.appUrl).username}"`
  await asOwner(`grant delete, truncate on audit_logs, users to ${role}`)
  await asApp('delete from audit_logs')
  await migrate({ ownerUrl: clone.ownerUrl, appRole: new URL(clone.appUrl).username })
  await expect(asApp('delete from audit_logs')).rejects.toThrow('permission denied')
})

test('HO-03 a role of any name can be the application', async () => {
  const name = `app "$&" $$ ${randomUUID()}`
  const { superuserUrl } = inject('postgres')
  const quoted = pg.escapeIdentifier(name)
  await asSuperuser(superuserUrl, (client) => client.query(`create role ${quoted}`))
  try {
    await migrate({ ownerUrl: clone.ownerUrl, appRole: name })
    const [row] = await asSuperuser(
      clone.ownerUrl,
      async (client) => (await client.query(`select has_table_privilege($1, 'audit_logs', 'insert') as may`, [name])).rows,
    )
    expect(row).toEqual({ may: true })
  } finally {
    await asSuperuser(clone.ownerUrl.replace(/\/\/[^@]+@/, superuserUrl.match(/\/\/[^@]+@/)![0]), (client) =>
      client.query(`drop owned by ${quoted}; drop role ${quoted}`),
    )
  }
})
