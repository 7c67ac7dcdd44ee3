import { createHash } from 'node:crypto'
import type { Operation } from '../../contract/src/operation.ts'
import { operations } from '../../contract/src/operations.ts'
import { type PublicKey, parsePublicKey } from '../../server/src/fleet/ssh-keys/ssh-public-key.ts'
import { fixedId } from '../../server/src/ground/kernel/ids.ts'
import { type Sending, seeded } from '../live-server.ts'
import { newKeyLine } from '../ssh-key-lines.ts'
import { onAccessGrants } from './access-grant-calls.ts'
import { onAllocations } from './allocation-calls.ts'
import { onNodes } from './node-calls.ts'
import { onNodeTasks } from './node-task-calls.ts'
import { onOperatorCredentials } from './operator-credential-calls.ts'
import type { RightfulCall } from './rightful-call.ts'
import { onSharedRuntimes } from './shared-runtime-calls.ts'

const { org, project, user } = seeded
const ofOrg = { org_id: org.aurora }
const ofProject = { project_id: project.aurora }
const inOrg = { type: 'organization', tenant_id: org.aurora }
const because = { reason: 'because' }

/** The three scopes of policy: who writes there, and a constraint that stands there once `writeConstraints` has run. */
const policyScopes = {
  of_platform: { person: 'ada', params: {}, key: 'authorization.break_glass_single_person', value: true },
  of_organization: { person: 'alice', params: ofOrg, key: 'tenancy.invitation_ttl_seconds', value: 7200 },
  of_project: { person: 'alice', params: ofProject, key: 'tenancy.invitation_ttl_seconds', value: 7200 },
}
/** What the platform has no value of when it begins: the only one that can be ended there. */
const endable = 'authorization.role_disable_grace_window_seconds'
export const constraintOf = (scope: string) => fixedId('constraint', `sweep ${scope}`)

/** One constraint at each scope, and one that is none of theirs (`foreign`): what a sweep over constraints finds. */
export const writeConstraints = (sql: (text: string, values: unknown[]) => Promise<unknown>): Promise<unknown> =>
  sql(
    `insert into policy_constraints (constraint_id, version, key, scope_type, tenant_id, project_id, actions, condition, time_zone, is_locked, state, created_at)
     select id, 1, 'sweep', scope_type, tenant_id, project_id, '{allocation.create}', '{"in": {"region": ["nowhere"]}}', 'UTC', false, 'active', now()
       from unnest($1::uuid[], '{global,tenant,project,tenant}'::text[], $2::uuid[], $3::uuid[]) as c (id, scope_type, tenant_id, project_id)`,
    [
      ['of_platform', 'of_organization', 'of_project', 'foreign'].map(constraintOf),
      [null, org.aurora, null, org.borealis],
      [null, null, project.aurora, null],
    ],
  )

const rule = { actions: ['allocation.create'], condition: { in: { region: ['nowhere'] } } }
const onPolicy = Object.entries(policyScopes).flatMap(([scope, { person, params, key, value }]): [string, RightfulCall][] => {
  const one = { person, params: { ...params, constraint_id: constraintOf(scope) } }
  return [
    [`policy.value.list_${scope}`, { person, params }],
    [`policy.value.set_${scope}`, { person, params: { ...params, key }, body: { value, ...because } }],
    [`policy.value.remove_${scope}`, { person, params: { ...params, key: person === 'ada' ? endable : key }, body: because }],
    [`policy.constraint.list_${scope}`, { person, params }],
    [`policy.constraint.create_${scope}`, { person, params, body: { key: 'new', ...rule, ...because } }],
    [`policy.constraint.read_${scope}`, one],
    [`policy.constraint.list_versions_${scope}`, one],
    [`policy.constraint.update_${scope}`, { ...one, body: { ...rule, expected_version: 1, ...because } }],
    [`policy.constraint.delete_${scope}`, { ...one, body: because }],
  ]
})

/** Into the scope of that name; `foreign` is another tenant's and `accept` waits for somebody of it. */
export const invitationOf = (name: string) => fixedId('invitation', `sweep ${name}`)

export const writeInvitations = (sql: (text: string, values: unknown[]) => Promise<unknown>): Promise<unknown> =>
  sql(
    `insert into invitations (id, tenant_id, project_id, email, role_version_id, inviter_user_id, created_at, ends_at)
     select i.id, i.tenant_id, i.project_id, i.email, d.current_version_id, $5, now(), now() + interval '1 day'
       from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[]) as i (id, tenant_id, project_id, email)
       join role_definitions d on d.is_builtin and d.name = case when i.project_id is null then 'tenant_viewer' else 'project_viewer' end`,
    [
      ['of_organization', 'of_project', 'foreign', 'accept'].map(invitationOf),
      [org.aurora, org.aurora, org.borealis, org.aurora],
      [null, project.aurora, null, null],
      ['sweep@mail.example', 'sweep@mail.example', 'sweep@mail.example', 'bella@borealis.example'],
      user('alice'),
    ],
  )

/** Keys that can be ended, and a next one that may be used. */
const kidOf = (name: string) => `sweep-${name}`
export const writeSigningKeys = async (sql: (text: string, values: unknown[]) => Promise<unknown>): Promise<void> => {
  await sql(
    `insert into signing_keys (kid, alg, custody, envelope_key_id, state, created_at, activated_at, grace_until)
     select kid, 'HS256', 'envelope_key', 'test', 'grace', now(), now(), now() + interval '1 day' from unnest($1::text[]) as k (kid)`,
    [['retire', 'revoke'].map(kidOf)],
  )
  await sql(`update signing_keys set created_at = now() - interval '1 day' where state = 'staged'`, [])
}

const onInvitations = [
  { scope: 'of_organization', person: 'alice', params: ofOrg, offer: { email: 'new@mail.example', role_name: 'tenant_viewer' } },
  { scope: 'of_project', person: 'amara', params: ofProject, offer: { email: 'agnes@aurora.example', role_name: 'project_viewer' } },
].flatMap(({ scope, person, params, offer }): [string, RightfulCall][] => [
  [`invitation.create_${scope}`, { person, params, body: { ...offer, ...because } }],
  [`invitation.list_${scope}`, { person, params }],
  [`invitation.end_${scope}`, { person, params: { ...params, invitation_id: invitationOf(scope) }, body: because }],
])

/** Of each scope a custom role with two versions, and a binding to the first; `foreign` is another tenant's. */
export const roleOf = (name: string) => fixedId('role', `sweep ${name}`)
export const bindingOf = (name: string) => fixedId('binding', `sweep ${name}`)
const roleScopes = {
  of_organization: { person: 'alice', params: ofOrg, member: 'arne', key: 'tenant.read' },
  of_project: { person: 'amara', params: ofProject, member: 'axel', key: 'storage.read' },
}

export const writeRoles = async (sql: (text: string, values: unknown[]) => Promise<unknown>): Promise<void> => {
  for (const [name, tier, scope, member, key] of [
    ['of_organization', 'tenant', org.aurora, 'arne', 'tenant.read'],
    ['of_project', 'project', project.aurora, 'axel', 'storage.read'],
    ['foreign', 'tenant', org.borealis, 'bryn', 'tenant.read'],
  ] as const) {
    const versions = [1, 2].map((version) => fixedId('role_version', `sweep ${name} ${version}`))
    // One statement: the role and its current version need each other.
    await sql(
      `with role as (
         insert into role_definitions (id, scope_type, ${tier}_id, name, is_builtin, current_version_id, created_at)
         values ($1, $2, $3, 'sweep', false, $5, now()) returning id
       ), version as (
         insert into role_definition_versions (id, role_definition_id, version, created_at)
         select v.id, role.id, v.version, now() from role, unnest(array[$4, $5]::uuid[], '{1,2}'::int[]) as v (id, version) returning id
       )
       insert into role_permissions (role_version_id, permission_key) select id, $6 from version`,
      [roleOf(name), tier, scope, ...versions, key],
    )
    await sql(
      `insert into ${tier}_role_bindings (id, ${tier}_id, principal_type, principal_id, role_version_id, created_at) values ($1, $2, 'user', $3, $4, now())`,
      [bindingOf(name), scope, user(member), versions[0]],
    )
  }
}

/** `active` and `disabled` in the seeded project, each with a key of that name; `foreign` is another tenant's. */
export const serviceAccountOf = (name: string) => fixedId('service account', `sweep ${name}`)
export const keyOf = (name: string) => fixedId('service account key', `sweep ${name}`)
/** The secret of each of these keys. */
const sweepSecret = `ghsa_${'s'.repeat(49)}`
const sweepClient = { client_id: keyOf('active'), client_secret: sweepSecret }
const sweepSalt = Buffer.alloc(16)

export const writeServiceAccounts = async (sql: (text: string, values: unknown[]) => Promise<unknown>): Promise<void> => {
  const names = ['active', 'disabled', 'foreign']
  await sql(
    `insert into service_accounts (id, org_id, project_id, name, slug, created_at, state, disabled_at, disabled_by, disable_reason)
     select s.id, s.org_id, s.project_id, 'Sweep', 'sweep-' || s.name, now(), case s.name when 'disabled' then 'disabled' else 'active' end,
            case s.name when 'disabled' then now() end, case s.name when 'disabled' then $5::uuid end, case s.name when 'disabled' then 'x' end
       from unnest($1::text[], $2::uuid[], $3::uuid[], $4::uuid[]) as s (name, id, org_id, project_id)`,
    [
      names,
      names.map(serviceAccountOf),
      [org.aurora, org.aurora, org.borealis],
      [project.aurora, project.aurora, project.borealis],
      user('alice'),
    ],
  )
  await sql(
    `insert into service_account_keys (id, service_account_id, salt, secret_hash, epoch, created_at, created_by)
     select k.id, k.account_id, $4, $5, i.epoch, now(), $3
       from unnest($1::uuid[], $2::uuid[]) as k (id, account_id) cross join installation i`,
    [
      names.map(keyOf),
      names.map(serviceAccountOf),
      user('alice'),
      sweepSalt,
      createHash('sha256').update(sweepSalt).update(sweepSecret).digest(),
    ],
  )
}

/** A person's own (`own`), the automation's of the seeded project, and another's that nobody here may know of. */
export const sshKeyOf = (name: string) => fixedId('ssh key', `sweep ${name}`)
export const writeSshKeys = async (sql: (text: string, values: unknown[]) => Promise<unknown>): Promise<void> => {
  for (const [name, owner, org_id, project_id] of [
    ['own', user('asha'), null, null],
    ['of_project', null, org.aurora, project.aurora],
    ['foreign', user('bella'), null, null],
    ['foreign_project', null, org.borealis, project.borealis],
  ] as const) {
    const key = parsePublicKey(newKeyLine()) as PublicKey
    await sql(
      `insert into ssh_public_keys (id, user_id, org_id, project_id, name, key_type, bits, blob, fingerprint, created_at, created_by_type, created_by)
       values ($1, $2, $3, $4, 'Sweep', $5, $6, $7, $8, now(), 'user', $9)`,
      [sshKeyOf(name), owner, org_id, project_id, key.key_type, key.bits, key.blob, key.fingerprint, user('asha')],
    )
  }
}
/** Nobody has the other half of it. */
const sweepKey = { name: 'Sweep', public_key: newKeyLine() }
const onSshKeys: Readonly<Record<string, RightfulCall>> = {
  'ssh_key.list': { person: 'asha', params: {} },
  'ssh_key.create': { person: 'asha', params: {}, body: { ...sweepKey, ...because } },
  'ssh_key.delete': { person: 'asha', params: { ssh_key_id: sshKeyOf('own') }, body: because },
  'project.ssh_key.list': { person: 'axel', params: ofProject },
  'project.ssh_key.create': { person: 'asha', params: ofProject, body: { ...sweepKey, ...because } },
  'project.ssh_key.delete': { person: 'asha', params: { ...ofProject, ssh_key_id: sshKeyOf('of_project') }, body: because },
}

/** A token of each account; the key that signs must be there. */
export const tokenOf = (name: string) => fixedId('token', `sweep ${name}`)
export const writeTokens = (sql: (text: string, values: unknown[]) => Promise<unknown>): Promise<unknown> =>
  sql(
    `insert into issued_tokens (id, actor_type, actor_id, credential_id, org_id, project_id, typ, kid, audience, scope, epoch, issued_at, expires_at)
     select t.id, 'service_account', s.id, t.key_id, s.org_id, s.project_id, 'sa+jwt', k.kid, 'gpuaas-api', '{me.read}', 1, now(), now() + interval '1 h'
       from unnest($1::uuid[], $2::uuid[], $3::uuid[]) as t (id, account_id, key_id)
       join service_accounts s on s.id = t.account_id join signing_keys k on k.state = 'active'`,
    [['active', 'foreign'].map(tokenOf), ['active', 'foreign'].map(serviceAccountOf), ['active', 'foreign'].map(keyOf)],
  )

const ofAccount = { ...ofProject, service_account_id: serviceAccountOf('active') }
const ofKey = { ...ofAccount, key_id: keyOf('active') }
const onServiceAccounts: Readonly<Record<string, RightfulCall>> = {
  'service_account.create': { person: 'aldo', params: ofProject, body: { name: 'New', slug: 'new', ...because } },
  'service_account.list': { person: 'asha', params: ofProject },
  'service_account.read': { person: 'asha', params: ofAccount },
  'service_account.disable': { person: 'aldo', params: ofAccount, body: because },
  'service_account.enable': { person: 'aldo', params: { ...ofProject, service_account_id: serviceAccountOf('disabled') }, body: because },
  'service_account.delete': { person: 'aldo', params: ofAccount, body: because },
  'service_account.key.list': { person: 'asha', params: ofAccount },
  'service_account.key.create': { person: 'aldo', params: ofAccount, body: because },
  'service_account.key.rotate': { person: 'aldo', params: ofKey, body: because },
  'service_account.key.revoke': { person: 'aldo', params: ofKey, body: because },
}

const onRoles = Object.entries(roleScopes).flatMap(([scope, { person, params, member, key }]): [string, RightfulCall][] => {
  const one = { person, params: { ...params, role_id: roleOf(scope) } }
  const between = { from_version: 1, to_version: 2 }
  const binding = { principal_type: 'user', principal_id: user(member), role_id: roleOf(scope) }
  return [
    [`role.list_${scope}`, { person, params }],
    [`role.create_${scope}`, { person, params, body: { name: 'new-role', permissions: [key], ...because } }],
    [`role.read_${scope}`, one],
    [`role.versions_${scope}`, one],
    [`role.update_${scope}`, { ...one, body: { permissions: [key], expected_version: 2, ...because } }],
    [`role.delete_${scope}`, { ...one, body: because }],
    [`role.disable_${scope}`, { ...one, body: { mode: 'block_all_now', ...because } }],
    [`role.enable_${scope}`, { ...one, body: because }],
    [`role.preview_upgrade_${scope}`, { ...one, body: between }],
    [`role.upgrade_${scope}`, { ...one, body: { ...between, preview_hash: '0'.repeat(64), ...because } }],
    [`role_binding.list_${scope}`, { person, params }],
    [`role_binding.create_${scope}`, { person, params, body: { ...binding, ...because } }],
    [`role_binding.end_${scope}`, { person, params: { ...params, binding_id: bindingOf(scope) }, body: because }],
  ]
})
const builtin = { person: 'ada', params: { role_id: fixedId('role', 'tenant_billing_viewer') } }
const platformBinding = { principal_type: 'user', principal_id: user('bodo'), role_id: fixedId('role', 'platform_ops') }

/** One for each operation, in the seeded world; a new operation gets its line here, and every sweep then includes it. */
const calls: Readonly<Record<string, RightfulCall>> = {
  ...onAccessGrants,
  ...onAllocations,
  'audit_log.list_all': { person: 'otto', params: {} },
  'audit_log.list_of_organization': { person: 'alice', params: ofOrg },
  'audit_log.list_of_project': { person: 'amara', params: ofProject },
  'audit_log.verify': { person: 'otto', params: {} },
  'auth.service_account_token.issue': {
    person: 'amara',
    params: {},
    body: { service_account_id: serviceAccountOf('active'), key_id: keyOf('active'), client_secret: sweepSecret, ...because },
    actor_id: serviceAccountOf('active'),
  },
  'auth.token.list_of_project': { person: 'amara', params: ofProject },
  'auth.token.revoke': {
    person: 'amara',
    params: {},
    body: { ...ofProject, ...because },
    one_of: ['token_id', 'credential_id', 'actor', 'project_id', 'org_id', 'platform'],
  },
  'authz.decide': { person: 'anna', params: {}, body: { action: 'tenant.read', resource: inOrg } },
  'authz.decide_batch': { person: 'anna', params: {}, body: { questions: [{ action: 'tenant.read', resource: inOrg }] } },
  'authz.explain': { person: 'anna', params: {}, body: { action: 'tenant.read', resource: inOrg } },
  'invitation.accept': { person: 'bella', params: {}, body: { invitation_id: invitationOf('accept') } },
  ...Object.fromEntries(onInvitations),
  'me.invitation.list': { person: 'bella', params: {} },
  'me.permissions': { person: 'anna', params: {} },
  'me.read': { person: 'anna', params: {} },
  ...onNodes,
  'organization.create': { person: 'ada', params: {}, body: { name: 'New', slug: 'new', owner_user_id: user('anna'), ...because } },
  'organization.list': { person: 'anna', params: {} },
  'organization.member.list': { person: 'anna', params: ofOrg },
  'organization.member.remove': { person: 'alice', params: { ...ofOrg, user_id: user('arne') }, body: because },
  'organization.read': { person: 'anna', params: ofOrg },
  'organization.resume': { person: 'ada', params: ofOrg, body: because },
  'organization.suspend': { person: 'ada', params: ofOrg, body: because },
  'organization.update': { person: 'alice', params: ofOrg, body: { name: 'Renamed', ...because } },
  'oauth.token.introspect': {
    person: 'amara',
    params: {},
    body: { ...sweepClient, token: 'nobodys' },
    actor_id: serviceAccountOf('active'),
  },
  'oauth.token.issue': {
    person: 'amara',
    params: {},
    body: { ...sweepClient, grant_type: 'client_credentials' },
    actor_id: serviceAccountOf('active'),
  },
  'oauth.token.revoke': { person: 'amara', params: {}, body: { ...sweepClient, token: 'nobodys' }, actor_id: serviceAccountOf('active') },
  'policy.definition.list': { person: 'otto', params: {} },
  ...Object.fromEntries(onPolicy),
  'project.archive': { person: 'adam', params: ofProject, body: because },
  'project.create': { person: 'alice', params: ofOrg, body: { name: 'New', slug: 'new', owner_user_id: user('anna'), ...because } },
  'project.list': { person: 'adam', params: ofOrg },
  'project.member.add': { person: 'amara', params: ofProject, body: { user_id: user('anna'), role_name: 'project_viewer', ...because } },
  'project.member.list': { person: 'amara', params: ofProject },
  'project.member.remove': { person: 'amara', params: { ...ofProject, user_id: user('axel') }, body: because },
  'project.read': { person: 'amara', params: ofProject },
  'project.restore': { person: 'adam', params: ofProject, body: because },
  'project.update': { person: 'adam', params: ofProject, body: { name: 'Renamed', ...because } },
  'project.owner.appoint': { person: 'alice', params: ofProject, body: { user_id: user('anna'), ...because } },
  ...Object.fromEntries(onRoles),
  'role.disable_builtin': { ...builtin, body: { mode: 'block_all_now', ...because } },
  'ops.overview.read': { person: 'otto', params: {} },
  'ops.runbook.list': { person: 'otto', params: {} },
  'role.list_builtin': { person: 'otto', params: {} },
  'role.enable_builtin': { ...builtin, body: because },
  'role_binding.list_of_platform': { person: 'ada', params: {} },
  'role_binding.create_of_platform': { person: 'ada', params: {}, body: { ...platformBinding, ...because } },
  'role_binding.end_of_platform': { person: 'ada', params: { binding_id: fixedId('binding', 'otto') }, body: because },
  'signing_key.list': { person: 'ada', params: {} },
  'signing_key.retire': { person: 'ada', params: { kid: kidOf('retire') }, body: because },
  'signing_key.revoke': { person: 'ada', params: { kid: kidOf('revoke') }, body: because },
  'signing_key.rotate': { person: 'ada', params: {}, body: because },
  ...onNodeTasks,
  ...onServiceAccounts,
  ...onSharedRuntimes,
  ...onOperatorCredentials,
  ...onSshKeys,
  'user.disable': { person: 'ada', params: { user_id: user('bodo') }, body: because },
  'user.enable': { person: 'ada', params: { user_id: user('bodo') }, body: because },
  'user.list': { person: 'ada', params: {} },
  'user.read': { person: 'ada', params: { user_id: user('bodo') } },
}

/** Every operation of the API's door with its call; one without a call fails whoever sweeps. Nodes ask at another, with certificates. */
export const rightfulCalls = operations.flatMap((operation) => {
  if (operation.listener !== 'api') return []
  const call = calls[operation.id]
  if (!call) throw new Error(`${operation.id} has no rightful call in test/fuzz/rightful-calls.ts`)
  return [{ operation, ...call }]
})

export const pathOf = (template: string, params: Readonly<Record<string, string>>): string =>
  template.replaceAll(/:(\w+)|\{(\w+)\}/g, (_, colon: string | undefined, braced: string | undefined) =>
    encodeURIComponent(params[(colon ?? braced)!] ?? ''),
  )

/** How a body is sent to an operation: as JSON, or as the form of OAuth. */
export const sendingOf = ({ speaks }: Pick<Operation, 'speaks'>, body: Readonly<Record<string, unknown>> | undefined): Sending => {
  if (body === undefined) return {}
  return speaks === 'json' ? { body } : { raw: formOf(body), headers: { 'content-type': 'application/x-www-form-urlencoded' } }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))
export const formOf = (body: Readonly<Record<string, unknown>>): string =>
  Object.entries(body)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${encodeURIComponent(name.toWellFormed())}=${encodeURIComponent(textOf(value).toWellFormed())}`)
    .join('&')

/** Who shows a bearer token: nobody where a client says in the form who it is, since two ways at once are refused. */
export const bearerFor = ({ speaks }: Pick<Operation, 'speaks'>, person: string): string | null => (speaks === 'oauth' ? null : person)
