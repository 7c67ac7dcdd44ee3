import type pg from 'pg'
import { describe, expect, test } from 'vitest'
import { databaseFixture } from '../../../../test/postgres.ts'
import { asSuperuser } from '../../../../test/superuser.ts'
import { allTables } from '../../../../test/tables/all-tables.ts'
import { constraint, policyValue } from '../../../../test/tables/policies.ts'
import { projectBinding, tenantBinding } from '../../../../test/tables/roles.ts'
import { spelled } from '../../../../test/tables/spelled.ts'

// As the owner, past every rule of the code: what is refused here is refused whatever bug stands above it.

const world = allTables.map((each) => each.world).join('')
const refused = allTables.flatMap((each) => each.refused)
const allowed = allTables.flatMap((each) => each.allowed)
const tables = allTables.flatMap((each) => each.names)

const clone = databaseFixture(async (clone) => {
  await asSuperuser(clone.ownerUrl, async (client) => void (await client.query(spelled(`begin; ${world} commit`))))
})

/** Runs the statements as the owner, with deferred constraints looked at too, and takes them back. */
const attempt = (text: string): Promise<void> =>
  asSuperuser(clone.ownerUrl, async (client: pg.Client) => {
    await client.query('begin')
    await client.query(spelled(text))
    await client.query('set constraints all immediate')
    await client.query('rollback')
  })

const violatedBy = async (text: string): Promise<string> => {
  try {
    await attempt(text)
  } catch (error) {
    const { constraint, message } = error as { constraint?: string; message: string }
    return constraint ?? message
  }
  return 'nothing'
}

describe('the tables refuse', () => {
  test.each(refused)('%s %s', async (_proves, _what, constraint, text) => {
    expect(await violatedBy(text)).toBe(constraint)
  })
})

describe('the tables allow', () => {
  test.each(allowed)('RP-27 %s', async (_what, text) => {
    expect(await violatedBy(text)).toBe('nothing')
  })
})

const ask = <Row>(text: string, values: unknown[] = []): Promise<Row[]> =>
  asSuperuser(clone.ownerUrl, async (client) => (await client.query(text, values)).rows as Row[])

// Each is wider than the primary key, so nothing can violate it alone; foreign keys point at it.
const onlyPointedAt = [
  ...['projects_of_org', 'role_definition_versions_of_definition', 'service_accounts_in_project', 'allocations_in_project'],
  ...['shared_app_runtimes_of_org', 'allocations_on_its_node'],
]

test('RP-27 every check and every unique index of these tables is among the refusals above', async () => {
  const rows = await ask<{ name: string }>(
    `select conname as name from pg_constraint where conrelid = any($1::regclass[]) and contype = 'c'
      union select indexrelid::regclass::text from pg_index where indrelid = any($1::regclass[]) and indisunique and not indisprimary`,
    [tables],
  )
  const tried = new Set(refused.map(([, , constraint]) => constraint))
  expect(rows.length).toBeGreaterThan(40)
  expect(rows.map(({ name }) => name).filter((name) => !tried.has(name) && !onlyPointedAt.includes(name))).toEqual([])
})

test('RP-27 every foreign key of these tables refuses what is not there', async () => {
  const rows = await ask<{ relation: string; name: string; column: string }>(
    `select conrelid::regclass::text as relation, conname as name, attname as column
       from pg_constraint join pg_attribute on attrelid = conrelid and attnum = conkey[1] and attgenerated = ''
      where conrelid = any($1::regclass[]) and contype = 'f' and cardinality(conkey) = 1 order by 1, 2`,
    [tables],
  )
  expect(rows.length).toBeGreaterThan(25)
  // A row that ends, ends wholly; these columns go with the one who ended it.
  const companions: Record<string, string> = {
    deleted_by: `, deleted_at = now(), delete_reason = 'x'`,
    deleted_by_user_id: `, deleted_at = now(), delete_reason = 'x'`,
    disabled_by: `, disabled_at = now(), disable_reason = 'x'`,
    'service_accounts disabled_by': `, state = 'disabled', disabled_at = now(), disable_reason = 'x'`,
    'service_accounts deleted_by': `, state = 'deleted', deleted_at = now(), delete_reason = 'x'`,
    'shared_app_runtimes disabled_by': `, state = 'disabled', disabled_at = now(), disable_reason = 'x'`,
    'shared_app_runtimes deleted_by': `, state = 'deleted', deleted_at = now(), delete_reason = 'x'`,
    'shared_runtime_credentials revoked_by': `, state = 'revoked', envelope = null, revoked_at = now(), revoke_reason = 'x'`,
    retired_by: `, status = 'retired', retired_at = now(), retire_reason = 'x'`,
    revoked_by: `, revoked_at = now(), revoke_reason = 'x'`,
    'node_certificates enrolment_id': `, certificate = 'x'`,
    'allocations node_id': `, state = 'active', username_on_node = 'gh-abcdef'`,
    ended_by: `, state = 'retired', ended_at = now(), end_reason = 'x'`,
    'role_definitions disabled_by': `, state = 'disabled', disabled_at = now(), disable_reason = 'x'`,
  }
  // What else the row must be so that nothing but the foreign key is in the way.
  const where: Record<string, string> = {
    'role_definitions tenant_id': 'id = :auditor',
    'role_definitions project_id': 'id = :builder',
    role_definitions: 'id = :auditor',
    projects: 'id = :inference',
    tenant_role_bindings: 'role_version_id = :v_tenant_owner',
    project_role_bindings: 'role_version_id = :v_project_owner',
    role_definition_versions: 'id = :auditor_2',
    role_permissions: 'role_version_id = :auditor_1',
    policy_values: `key = 'test.key' and scope_type = 'global'`,
    'policy_values tenant_id': `key = 'test.key' and scope_type = 'tenant'`,
    'policy_values project_id': `key = 'test.key' and scope_type = 'project'`,
    shared_app_runtimes: 'id = :runtime_2',
    ssh_public_keys: 'user_id is not null',
    task_signers: `state = 'active'`,
    'allocations node_id': `id = :allocation`,
    policy_constraints: `scope_type = 'global'`,
    'policy_constraints tenant_id': `scope_type = 'tenant'`,
    'policy_constraints project_id': `scope_type = 'project'`,
  }
  const before = `insert into role_definition_versions (id, role_definition_id, version, created_at) values (:auditor_2, :auditor, 2, now());
    ${tenantBinding('aurora', 'bob', 'v_tenant_owner')}; ${projectBinding('training', 'bob', 'v_project_owner')};
    ${policyValue('tenant', ':aurora', 'null')}; ${policyValue('project', 'null', ':training')};
    ${constraint('tenant', ':aurora', 'null')}; ${constraint('project', 'null', ':training')};`
  const wrong: string[] = []
  for (const { relation, name, column } of rows) {
    const which = where[`${relation} ${column}`] ?? where[relation] ?? 'true'
    const value = column === 'key' ? `'no.such'` : ':nowhere'
    const got = await violatedBy(
      `${before} update ${relation} set ${column} = ${value}${companions[`${relation} ${column}`] ?? companions[column] ?? ''} where ${which}`,
    )
    // The rule that a role must fit looks first, and finds no role.
    const expected = /_role_bindings$/.test(relation) && column.startsWith('role_') ? 'role_not_assignable' : name
    if (got !== expected) wrong.push(`${relation}.${column}: ${got} instead of ${expected}`)
  }
  expect(wrong).toEqual([])
})
