import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { beforeEach, describe, expect, test } from 'vitest'
import { barrier } from '../../../test/faults/statement-faults.ts'
import { seeded, serverFixture } from '../../../test/live-server.ts'
import { declaredSources, keptSources } from '../../../test/replicas/kept-sources.ts'
import type { Tx } from '../db/database.ts'
import { type Statement, sql } from '../db/statement.ts'
import { newId } from '../kernel/ids.ts'
import { platformScope } from './moment.ts'

const live = serverFixture()

const { org, project, user } = seeded
const scopes = { [org.aurora]: 'aurora', [org.borealis]: 'borealis', [platformScope]: 'platform' }

const epochs = async () => {
  const rows = await live.sql<{ id: string; value: string; stamp: string }>('select id, value, stamp from epochs')
  return new Map(rows.map(({ id, value, stamp }) => [id, { value: Number(value), stamp }]))
}
/** Which epochs an act moves, and by how much. */
const movedBy = async (act: () => Promise<unknown>): Promise<Record<string, number>> => {
  const before = await epochs()
  await act()
  const moved = [...(await epochs())].flatMap(([id, { value, stamp }]) => {
    const was = before.get(id)
    expect(was?.stamp === stamp, 'a stamp moves with its figure').toBe(was?.value === value)
    return was?.value === value ? [] : [[scopes[id] ?? id, value - (was?.value ?? 0)] as const]
  })
  return Object.fromEntries(moved)
}
const moved = (text: string, values: unknown[] = []) => movedBy(() => live.sql(text, values))
const inOne = async (end: 'commit' | 'rollback', ...texts: string[]) => {
  for (const text of ['begin', ...texts, end]) await live.sql(text)
}

const id = {
  user: newId('user'),
  account: newId('service account'),
  key: newId('service account key'),
  role: newId('role'),
  version: newId('role_version'),
  project: newId('project'),
  runtime: newId('shared runtime'),
  org: newId('org'),
}
const roleOf = (name: string) => `(select current_version_id from role_definitions where name = '${name}' and is_builtin)`
const ended = `deleted_at = now(), delete_reason = 'test'`
const bound = (tier: string, principal: string, version: string) =>
  `insert into ${tier}_role_bindings (id, ${tier}_id, principal_type, principal_id, role_version_id, created_at)
   values (gen_random_uuid(), '${tier === 'tenant' ? org.aurora : project.aurora}', 'user', '${principal}', ${version}, now())`
const role = (scope: string, owner: string) => `
  with r as (
    insert into role_definitions (id, scope_type, ${scope}_id, name, is_builtin, current_version_id, created_at)
    values ('${id.role}', '${scope}', '${owner}', 'own', false, '${id.version}', now()))
  insert into role_definition_versions (id, role_definition_id, version, created_at) values ('${id.version}', '${id.role}', 1, now())`
const unrole = [`delete from role_definitions where id = '${id.role}'`, `delete from role_definition_versions where id = '${id.version}'`]
const value = (scope: string, column: string, owner: string) =>
  `insert into policy_values (id, key, scope_type${column}, value, version, created_at)
   values (gen_random_uuid(), 'tenancy.invitation_ttl_seconds', '${scope}'${owner}, '7200', 99, now())`
const rule = (scope: string, column: string, owner: string) =>
  `insert into policy_constraints (constraint_id, version, key, scope_type${column}, actions, condition, time_zone, is_locked, state, created_at)
   values (gen_random_uuid(), 1, 'test', '${scope}'${owner}, '{tenant.read}', '{}', 'UTC', false, 'active', now())`
const account = `insert into service_accounts (id, org_id, project_id, name, slug, created_at)
  values ('${id.account}', '${org.aurora}', '${project.aurora}', 'n', 'n', now())`
const runtime = `insert into shared_app_runtimes (id, org_id, app_slug, app_version, display_name, runtime_backend, created_at, created_by, updated_at)
  values ('${id.runtime}', '${org.aurora}', 's', '1', 'n', 'slurm', now(), '${user('ada')}', now())`
const unruntime = `delete from shared_app_runtimes where id = '${id.runtime}'`
const cutOff = (type: string, subject: string, owner: string) =>
  `insert into token_cutoffs (id, subject_type, subject_id, org_id, issued_before, created_at, created_by, reason)
   values (gen_random_uuid(), '${type}', ${subject}, ${owner}, now(), now(), 'test', 'epochs')`
const owned = {
  global: ['', '', 'platform'],
  tenant: [', tenant_id', `, '${org.aurora}'`, 'aurora'],
  project: [', project_id', `, '${project.aurora}'`, 'aurora'],
} as const
const ownedScopes = Object.keys(owned) as (keyof typeof owned)[]

interface Changes {
  readonly table: string
  readonly what: string
  readonly where: string
  readonly before?: string[]
  readonly insert: string
  readonly update: string
  /** Writes a row as it was. */
  readonly nothing: string
  readonly delete: string
  readonly after?: string[]
}
const plain = (
  table: string,
  what: string,
  where: string,
  insert: string,
  picked: string,
  change: string,
  rest: Partial<Changes> = {},
): Changes => ({
  table,
  what,
  where,
  insert,
  update: `update ${table} set ${change} where ${picked}`,
  nothing: `update ${table} set id = id where ${picked}`,
  delete: `delete from ${table} where ${picked}`,
  ...rest,
})

/** A row of every kind: how it comes, changes, stays and goes, and whose epoch that moves. */
const rows: readonly Changes[] = [
  plain(
    'organizations',
    'an organization',
    id.org,
    `insert into organizations (id, type, name, slug, created_at) values ('${id.org}', 'enterprise', 'n', 'n', now())`,
    `id = '${id.org}'`,
    `state = 'suspended'`,
  ),
  plain(
    'projects',
    'a project',
    'aurora',
    `insert into projects (id, org_id, name, slug, created_at) values ('${id.project}', '${org.aurora}', 'n', 'n', now())`,
    `id = '${id.project}'`,
    `state = 'archived'`,
  ),
  plain(
    'tenant_memberships',
    'a membership of an organization',
    'aurora',
    `insert into tenant_memberships (id, tenant_id, user_id, created_at) values (gen_random_uuid(), '${org.aurora}', '${user('bodo')}', now())`,
    `tenant_id = '${org.aurora}' and user_id = '${user('bodo')}'`,
    ended,
  ),
  plain(
    'project_memberships',
    'a membership of a project',
    'aurora',
    `insert into project_memberships (id, project_id, user_id, created_at) values (gen_random_uuid(), '${project.aurora}', '${user('bodo')}', now())`,
    `project_id = '${project.aurora}' and user_id = '${user('bodo')}'`,
    ended,
  ),
  plain(
    'platform_role_bindings',
    'a binding on the platform',
    'platform',
    `insert into platform_role_bindings (id, principal_type, principal_id, role_definition_id, created_at)
     select gen_random_uuid(), 'user', '${user('bodo')}', id, now() from role_definitions where name = 'platform_ops'`,
    `principal_id = '${user('bodo')}'`,
    ended,
  ),
  plain(
    'tenant_role_bindings',
    'a binding in an organization',
    'aurora',
    bound('tenant', user('bodo'), roleOf('tenant_viewer')),
    `tenant_id = '${org.aurora}' and principal_id = '${user('bodo')}'`,
    ended,
  ),
  plain(
    'project_role_bindings',
    'a binding in a project',
    'aurora',
    bound('project', user('bodo'), roleOf('project_viewer')),
    `project_id = '${project.aurora}' and principal_id = '${user('bodo')}'`,
    ended,
  ),
  plain(
    'service_accounts',
    'a service account',
    'aurora',
    account,
    `id = '${id.account}'`,
    `state = 'disabled', disabled_at = now(), disabled_by = '${user('ada')}', disable_reason = 'test'`,
  ),
  plain(
    'shared_app_runtimes',
    'a shared runtime',
    'aurora',
    runtime,
    `id = '${id.runtime}'`,
    `state = 'disabled', disabled_at = now(), disabled_by = '${user('ada')}', disable_reason = 'test'`,
  ),
  plain(
    'shared_runtime_attachments',
    'an attachment',
    'aurora',
    `insert into shared_runtime_attachments (id, shared_runtime_id, org_id, project_id, contribution_policy, created_at, created_by_type, created_by, updated_at)
     values (gen_random_uuid(), '${id.runtime}', '${org.aurora}', '${project.aurora}', 'all', now(), 'user', '${user('ada')}', now())`,
    `shared_runtime_id = '${id.runtime}'`,
    `detached_at = now(), detached_by_type = 'system', detach_reason = 'test'`,
    { before: [runtime], after: [unruntime] },
  ),
  plain(
    'token_cutoffs',
    'a cut-off in an organization',
    'aurora',
    cutOff('project', `'${project.aurora}'`, `'${org.aurora}'`),
    `reason = 'epochs'`,
    `issued_before = issued_before - interval '1 s'`,
  ),
  plain(
    'token_cutoffs',
    'a cut-off of the whole platform',
    'platform',
    cutOff('platform', 'null', 'null'),
    `reason = 'epochs'`,
    `issued_before = issued_before - interval '1 s'`,
  ),
  plain(
    'signing_keys',
    'a signing key',
    'platform',
    `insert into signing_keys (kid, alg, custody, envelope_key_id, state, created_at, activated_at, grace_until)
     values ('epoch-test-key', 'HS256', 'envelope_key', 'test', 'grace', now(), now(), now() + interval '1 day')`,
    `kid = 'epoch-test-key'`,
    `state = 'revoked', ended_at = now()`,
    { nothing: `update signing_keys set kid = kid where kid = 'epoch-test-key'` },
  ),
  ...(
    [
      ['tenant', org.aurora],
      ['project', project.aurora],
    ] as const
  ).map(([scope, owner]) =>
    plain('role_definitions', `a role of a ${scope}`, 'aurora', role(scope, owner), `id = '${id.role}'`, `state = 'disabled'`, {
      // Each row needs the other, until the transaction ends.
      delete: `with v as (delete from role_definition_versions where id = '${id.version}') delete from role_definitions where id = '${id.role}'`,
    }),
  ),
  {
    table: 'role_permissions',
    what: 'a permission of a role of a tenant',
    where: 'aurora',
    before: [role('tenant', org.aurora)],
    insert: `insert into role_permissions (role_version_id, permission_key) values ('${id.version}', 'tenant.read')`,
    update: `update role_permissions set permission_key = 'tenant.update' where role_version_id = '${id.version}'`,
    nothing: `update role_permissions set permission_key = permission_key where role_version_id = '${id.version}'`,
    delete: `delete from role_permissions where role_version_id = '${id.version}'`,
    after: ['begin', ...unrole, 'commit'],
  },
  ...ownedScopes.map((scope) =>
    plain(
      'policy_values',
      `a policy value, ${scope}`,
      owned[scope][2],
      value(scope, owned[scope][0], owned[scope][1]),
      'version = 99',
      'replaced_at = now()',
      // Of what is global there is one already.
      scope === 'global'
        ? {
            before: [`update policy_values set replaced_at = now() where key = 'tenancy.invitation_ttl_seconds'`],
            after: [`update policy_values set replaced_at = null where key = 'tenancy.invitation_ttl_seconds'`],
          }
        : {},
    ),
  ),
  ...ownedScopes.map((scope) =>
    plain(
      'policy_constraints',
      `a constraint, ${scope}`,
      owned[scope][2],
      rule(scope, owned[scope][0], owned[scope][1]),
      `key = 'test'`,
      `state = 'disabled'`,
      { nothing: `update policy_constraints set key = key where key = 'test'` },
    ),
  ),
]

describe('a change moves the epoch of its scope', () => {
  test.for(rows)('DE-19 $table: $what that comes, changes and goes, and no other', async (row) => {
    for (const text of row.before ?? []) await live.sql(text)
    const once = { [row.where]: 1 }
    expect(await movedBy(() => inOne('rollback', row.insert))).toEqual({})
    expect(await moved(row.insert)).toEqual(once)
    expect(await moved(row.nothing)).toEqual({})
    expect(await movedBy(() => inOne('rollback', row.update))).toEqual({})
    expect(await moved(row.update)).toEqual(once)
    expect(await movedBy(() => inOne('rollback', row.delete))).toEqual({})
    expect(await moved(row.delete)).toEqual(once)
    for (const text of row.after ?? []) await live.sql(text)
  })

  test('DE-19 what is built in concerns the platform', async () => {
    expect(await moved(`update role_definitions set state = 'disabled' where name = 'tenant_viewer'`)).toEqual({ platform: 1 })
    expect(await moved(`update role_definitions set state = 'active' where name = 'tenant_viewer'`)).toEqual({ platform: 1 })
    expect(await moved(`insert into role_permissions values (${roleOf('tenant_viewer')}, 'tenant.update')`)).toEqual({ platform: 1 })
    expect(
      await moved(`delete from role_permissions where permission_key = 'tenant.update' and role_version_id = ${roleOf('tenant_viewer')}`),
    ).toEqual({
      platform: 1,
    })
  })

  test('DE-19 a new person moves none; what changes about him, and his end, moves that of the platform', async () => {
    const picked = `where id = '${id.user}'`
    expect(
      await moved(`insert into users (id, username, oidc_issuer, oidc_subject, created_at) values ('${id.user}', 'n', 'i', 's', now())`),
    ).toEqual({})
    expect(await moved(`update users set username = 'other' ${picked}`)).toEqual({})
    for (const change of [
      `disabled_at = now(), disabled_by = '${user('ada')}', disable_reason = 'test'`,
      'disabled_at = null, disabled_by = null, disable_reason = null',
      `oidc_subject = 'another'`,
      `oidc_issuer = 'another'`,
      `role = 'admin'`,
      `email = 'a@b.example'`,
      'email_verified = true',
    ])
      expect(await moved(`update users set ${change} ${picked}`)).toEqual({ platform: 1 })
    expect(await moved(`delete from users ${picked}`)).toEqual({ platform: 1 })
  })

  test('DE-19 a new key of a service account moves none, nor does its use; its end, and all that its secret is held against, moves that of its tenant', async () => {
    const picked = `where id = '${id.key}'`
    await live.sql(account)
    const bytes = (count: number) => `decode(repeat('00', ${count}), 'hex')`
    expect(
      await moved(`insert into service_account_keys (id, service_account_id, salt, secret_hash, epoch, created_at, created_by)
                   values ('${id.key}', '${id.account}', ${bytes(16)}, ${bytes(32)}, 1, now(), '${user('ada')}')`),
    ).toEqual({})
    expect(await moved(`update service_account_keys set last_used_at = now() ${picked}`)).toEqual({})
    for (const change of [
      'expires_at = now()',
      'epoch = epoch + 1',
      `revoked_at = now(), revoked_by = '${user('ada')}', revoke_reason = 'test'`,
      `salt = decode(repeat('11', 16), 'hex')`,
      `secret_hash = decode(repeat('11', 32), 'hex')`,
      `salt = null, secret_hash = null, alg = 'ES256', public_jwk = '{}'`,
      `alg = 'EdDSA'`,
      `public_jwk = '{"kty":"OKP"}'`,
    ])
      expect(await moved(`update service_account_keys set ${change} ${picked}`)).toEqual({ aurora: 1 })
    expect(await moved(`delete from service_account_keys ${picked}`)).toEqual({ aurora: 1 })
    await live.sql(`delete from service_accounts where id = '${id.account}'`)
  })

  test('DE-19 MI-02 likewise a credential of a runtime’s operator', async () => {
    const [runtime, key] = [newId('shared runtime'), newId('operator credential')]
    await live.sql(
      `insert into shared_app_runtimes (id, org_id, app_slug, app_version, display_name, runtime_backend, created_at, created_by, updated_at)
       values ($1, $2, 'epochs', '1', '${runtime}', 'ray', now(), $3, now())`,
      [runtime, org.aurora, user('ada')],
    )
    const [table, picked] = ['shared_runtime_operator_credentials', `where id = '${key}'`]
    const bytes = (count: number) => `decode(repeat('00', ${count}), 'hex')`
    expect(
      await moved(`insert into ${table} (id, shared_runtime_id, salt, secret_hash, epoch, created_at, created_by)
                   values ('${key}', '${runtime}', ${bytes(16)}, ${bytes(32)}, 1, now(), '${user('ada')}')`),
    ).toEqual({})
    expect(await moved(`update ${table} set last_used_at = now() ${picked}`)).toEqual({})
    for (const change of [
      'expires_at = now()',
      'epoch = epoch + 1',
      `revoked_at = now(), revoked_by = '${user('ada')}', revoke_reason = 'test'`,
      `salt = decode(repeat('11', 16), 'hex')`,
      `secret_hash = decode(repeat('11', 32), 'hex')`,
    ])
      expect([change, await moved(`update ${table} set ${change} ${picked}`)]).toEqual([change, { aurora: 1 }])
    expect(await moved(`delete from ${table} ${picked}`)).toEqual({ aurora: 1 })
    await live.sql('delete from shared_app_runtimes where id = $1', [runtime])
  })

  test('DE-19 MI-05 what a runtime reports of itself moves none; what its operator may, and whether it is one, moves that of its tenant', async () => {
    const picked = `where id = '${id.runtime}'`
    await live.sql(runtime)
    for (const change of [
      `state = 'running', reported_state = 'running', reported_sequence = 1, reported_at = now()`,
      'members_sequence = 1, members_reported_at = now()',
      `display_name = 'other', version = version + 1, cursor_version = cursor_version + 1`,
    ])
      expect(await moved(`update shared_app_runtimes set ${change} ${picked}`)).toEqual({})
    const ada = `'${user('ada')}'`
    for (const change of [
      `delegated_actions = '{attach}'`,
      `eligible_project_ids = array['${project.aurora}'::uuid]`,
      `state = 'disabled', disabled_at = now(), disabled_by = ${ada}, disable_reason = 'over'`,
      `state = 'deleted', deleted_at = now(), deleted_by = ${ada}, delete_reason = 'over'`,
    ])
      expect(await moved(`update shared_app_runtimes set ${change} ${picked}`)).toEqual({ aurora: 1 })
    await live.sql(unruntime)
  })

  test('DE-19 that the installation begins another epoch moves that of the platform, and a checkpoint moves none', async () => {
    expect(await moved('update installation set checkpoint_number = checkpoint_number + 1')).toEqual({})
    expect(await moved('update installation set epoch = epoch + 1')).toEqual({ platform: 1 })
    expect(await moved('update installation set epoch = epoch - 1')).toEqual({ platform: 1 })
  })

  test('DE-19 a new token moves none; its end moves that of its tenant, or of the platform where it has none', async () => {
    for (const [tenant, where] of [
      [`'${org.aurora}'`, 'aurora'],
      ['null', 'platform'],
    ] as const) {
      expect(
        await moved(`insert into issued_tokens (id, actor_type, actor_id, org_id, typ, kid, audience, scope, epoch, issued_at, expires_at)
                     select '${id.key}', 'platform_operator', gen_random_uuid(), ${tenant}, 'po+jwt', kid, 'a', '{}', 1, now(), now() + interval '1 h'
                       from signing_keys where state = 'active'`),
      ).toEqual({})
      const picked = `where id = '${id.key}'`
      expect(
        await moved(`update issued_tokens set revoked_at = now(), revoked_by = '${user('ada')}', revoke_reason = 'test' ${picked}`),
      ).toEqual({ [where]: 1 })
      expect(await moved(`delete from issued_tokens ${picked}`)).toEqual({ [where]: 1 })
    }
  })

  test('DE-19 many changes in one transaction move each epoch once', async () => {
    const many = () =>
      inOne(
        'commit',
        `update organizations set name = name || '.'`,
        `update organizations set name = name || '.'`,
        `update projects set name = name || '.'`,
        `update tenant_memberships set created_at = created_at + interval '1 second'`,
        `update platform_role_bindings set created_at = created_at + interval '1 second'`,
      )
    expect(await movedBy(many)).toEqual({ aurora: 1, borealis: 1, platform: 1 })
  })

  test('DE-19 what is moved from one tenant to another moves both', async () => {
    await live.sql(`insert into projects (id, org_id, name, slug, created_at) values ('${id.project}', '${org.aurora}', 'n', 'n', now())`)
    expect(await moved(`update projects set org_id = '${org.borealis}' where id = '${id.project}'`)).toEqual({
      aurora: 1,
      borealis: 1,
      // Where a project lies is kept for all.
      platform: 1,
    })
    await live.sql(`delete from projects where id = '${id.project}'`)
  })

  test('DE-19 a version of a role that somebody renumbers moves the epoch of its tenant', async () => {
    await live.sql(role('tenant', org.aurora))
    expect(await moved(`update role_definition_versions set version = 7 where id = '${id.version}'`)).toEqual({ aurora: 1 })
    await live.sql('begin')
    for (const text of unrole) await live.sql(text)
    await live.sql('commit')
  })

  test('DE-19 a change that was taken back to a savepoint does not count, and what came after it does', async () => {
    const rename = (name: string, slug: string) => `update organizations set name = '${name}' where slug = '${slug}'`
    const partly = () => inOne('commit', 'savepoint s', rename('x', 'aurora'), 'rollback to s', rename('y', 'borealis'))
    expect(await movedBy(partly)).toEqual({ borealis: 1 })
    const checked = () =>
      inOne('commit', rename('a', 'aurora'), 'savepoint s', 'set constraints all immediate', 'rollback to s', rename('b', 'aurora'))
    expect(await movedBy(checked)).toEqual({ aurora: 1 })
  })
})

describe('no table is forgotten', () => {
  const tablesRead = async () => {
    const asked: string[] = []
    const note = (statement: Statement<unknown>) => void asked.push(statement.text)
    const tx = {
      now: '',
      one: async (statement: Statement<unknown>) => {
        note(statement)
        return {}
      },
      maybe: async (statement: Statement<unknown>) => note(statement),
      many: async (statement: Statement<unknown>) => {
        note(statement)
        return []
      },
    } as unknown as Tx
    const sources = Object.values(await keptSources())
    expect(sources).toHaveLength(declaredSources())
    const key = {
      ...{ actor_id: id.user, tenant_id: id.org, project_id: id.project, key: 'k', issuer: 'i', subject: 's' },
      ...{ owner_id: id.account, key_id: id.key, org_id: id.org, jti: id.key },
    }
    for (const source of sources) await source.load(tx, [source.name === 'project tenant' ? id.project : key])
    expect(asked).toHaveLength(sources.length)
    return new Set(
      asked.flatMap((text) => [...text.matchAll(/(?<!distinct )\b(?:from|join)\s+([a-z_]+)(?!\w|\()/g)].map(([, table]) => table!)),
    )
  }

  test('DE-19 every table that something kept is read from moves an epoch at every kind of change', async () => {
    const triggers = await live.sql<{ table: string; kinds: string[]; is_deferred: boolean }>(`
      select t.tgrelid::regclass::text as table, bool_and(t.tgdeferrable and t.tginitdeferred) as is_deferred,
             array_agg(distinct k.kind order by k.kind) as kinds
        from pg_trigger t join (values (4, 'insert'), (8, 'delete'), (16, 'update')) as k (bit, kind) on t.tgtype & k.bit > 0
       where t.tgfoid = 'move_epoch_of_row'::regproc and t.tgenabled = 'O' group by 1`)
    const read = [...(await tablesRead())].sort()
    expect(read).toEqual(triggers.map(({ table }) => table).sort())
    expect(triggers.filter(({ is_deferred }) => !is_deferred)).toEqual([])
    const partly = triggers.filter(({ kinds }) => kinds.join() !== 'delete,insert,update')
    // Nobody keeps that a person, a key or a token is unknown; a version comes and goes with its role; there is one installation.
    expect(partly.map(({ table, kinds }) => `${table} ${kinds}`).sort()).toEqual([
      'installation update',
      'issued_tokens delete,update',
      'role_definition_versions update',
      'service_account_keys delete,update',
      'shared_runtime_operator_credentials delete,update',
      'users delete,update',
    ])
    // And each of them is tried above.
    const apart = [
      ...['users', 'role_definition_versions', 'service_account_keys', 'shared_runtime_operator_credentials'],
      ...['issued_tokens', 'installation'],
    ]
    expect(new Set([...rows.map(({ table }) => table), ...apart])).toEqual(new Set(read))
  })
})

describe('transactions that meet', () => {
  const Nothing = Exactly({})
  const pull = () => sql(Nothing)`set constraints all immediate`
  const rename = (slug: string) => sql(Exactly({ id: Type.String() }))`
    update projects set name = name || '.' where org_id = (select o.id from organizations o where o.slug = ${slug}) returning id`
  beforeEach(() => live.sql(`update projects set name = 'n'`))

  const crossing = (first: string, second: string, meet: () => Promise<void>) =>
    live.database.transaction('write', async (tx) => {
      tries += 1
      await tx.many(rename(first))
      await tx.many(pull())
      await meet()
      await tx.many(rename(second))
    })
  let tries = 0

  test('DE-19 two that want two epochs in opposite order both end, the loser by trying again', async () => {
    // Rows of their own to change, so that nothing but the epochs is fought over.
    tries = 0
    const meet = barrier(2)
    const before = await epochs()
    await Promise.all([crossing('aurora', 'borealis', meet), crossing('borealis', 'aurora', meet)])
    expect(tries).toBeGreaterThan(2)
    const after = await epochs()
    for (const tenant of [org.aurora, org.borealis]) expect(after.get(tenant)!.value - before.get(tenant)!.value).toBe(2)
  })

  test('DE-19 several that change two tenants at once all end, and those that came through are counted', async () => {
    const before = await epochs()
    const both = (slugs: readonly string[]) =>
      live.database.transaction('write', async (tx) => {
        for (const slug of slugs) await tx.many(member(slug))
      })
    const member = (slug: string) => sql(Exactly({ id: Type.String() }))`
      insert into tenant_memberships (id, tenant_id, user_id, created_at, deleted_at, delete_reason)
      select gen_random_uuid(), o.id, ${user('ada')}, now(), now(), 'test' from organizations o where o.slug = ${slug} returning id`
    const pairs = Array.from({ length: 6 }, (_, at) => both(at % 2 ? ['aurora', 'borealis'] : ['borealis', 'aurora']))
    const outcomes = await Promise.allSettled(pairs)
    const refused = outcomes.filter(({ status }) => status === 'rejected')
    // Where one lost every race it tried, it is told that the database was not there for it: nothing is half done.
    for (const each of refused) expect((each as PromiseRejectedResult).reason).toMatchObject({ code: 'dependency_unavailable' })
    const after = await epochs()
    for (const tenant of [org.aurora, org.borealis])
      expect(after.get(tenant)!.value - before.get(tenant)!.value).toBe(pairs.length - refused.length)
    expect(refused.length).toBeLessThan(pairs.length)
  })
})
