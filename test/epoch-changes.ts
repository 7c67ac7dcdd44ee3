import { newId } from '../server/src/ground/kernel/ids.ts'
import { seeded } from './live-server.ts'

const { org, project, user } = seeded

export const id = {
  user: newId('user'),
  account: newId('service account'),
  key: newId('service account key'),
  role: newId('role'),
  version: newId('role_version'),
  project: newId('project'),
  runtime: newId('shared runtime'),
  org: newId('org'),
}
export const roleOf = (name: string) => `(select current_version_id from role_definitions where name = '${name}' and is_builtin)`
const ended = `deleted_at = now(), delete_reason = 'test'`
const bound = (tier: string, principal: string, version: string) =>
  `insert into ${tier}_role_bindings (id, ${tier}_id, principal_type, principal_id, role_version_id, created_at)
   values (gen_random_uuid(), '${tier === 'tenant' ? org.aurora : project.aurora}', 'user', '${principal}', ${version}, now())`
export const role = (scope: string, owner: string) => `
  with r as (
    insert into role_definitions (id, scope_type, ${scope}_id, name, is_builtin, current_version_id, created_at)
    values ('${id.role}', '${scope}', '${owner}', 'own', false, '${id.version}', now()))
  insert into role_definition_versions (id, role_definition_id, version, created_at) values ('${id.version}', '${id.role}', 1, now())`
export const unrole = [
  `delete from role_definitions where id = '${id.role}'`,
  `delete from role_definition_versions where id = '${id.version}'`,
]
const value = (scope: string, column: string, owner: string) =>
  `insert into policy_values (id, key, scope_type${column}, value, version, created_at)
   values (gen_random_uuid(), 'tenancy.invitation_ttl_seconds', '${scope}'${owner}, '7200', 99, now())`
const rule = (scope: string, column: string, owner: string) =>
  `insert into policy_constraints (constraint_id, version, key, scope_type${column}, actions, condition, time_zone, is_locked, state, created_at)
   values (gen_random_uuid(), 1, 'test', '${scope}'${owner}, '{tenant.read}', '{}', 'UTC', false, 'active', now())`
export const account = `insert into service_accounts (id, org_id, project_id, name, slug, created_at)
  values ('${id.account}', '${org.aurora}', '${project.aurora}', 'n', 'n', now())`
export const runtime = `insert into shared_app_runtimes (id, org_id, app_slug, app_version, display_name, runtime_backend, created_at, created_by, updated_at)
  values ('${id.runtime}', '${org.aurora}', 's', '1', 'n', 'slurm', now(), '${user('ada')}', now())`
export const unruntime = `delete from shared_app_runtimes where id = '${id.runtime}'`
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
export const rows: readonly Changes[] = [
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
