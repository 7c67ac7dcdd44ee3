import { newId } from '../../server/src/ground/kernel/ids.ts'
import { type LiveServer, liveServer, seeded } from '../live-server.ts'
import { builtins, type Tier } from './law.ts'
import type { Role, Scope, State } from './state.ts'

/** A server to be tried, on the database that the test can look into. */
export interface Tried {
  readonly live: LiveServer
  readonly url: string
  readonly upgrades_by?: State['upgrades_by']
}

const graceWindow = '/api/v1/admin/policies/values/authorization.role_disable_grace_window_seconds'

/** A server that lets itself be asked often, and on which a role can be phased out. */
export const openForTrial = async (): Promise<LiveServer> => {
  const live = await liveServer()
  await live.setPolicy('rate_limit.api_requests_per_minute', 1_000_000)
  await live.setPolicy('auth.service_account_max_keys', 100)
  const { status } = await live.call('ada', 'PUT', graceWindow, { body: { value: 3600 } })
  if (status !== 200) throw new Error(`no grace window could be set: ${status}`)
  return live
}

type Standing = readonly [person: string, role: string]
const standing: Readonly<Record<string, { readonly tier: Tier; readonly org: string; readonly people: readonly Standing[] }>> = {
  north: {
    tier: 'tenant',
    org: 'north',
    people: [
      ['alice', 'tenant_owner'],
      ['adam', 'tenant_admin'],
      ['anna', 'tenant_member'],
      ['abel', 'tenant_billing_manager'],
      ['arne', 'tenant_viewer'],
      ['amara', 'tenant_member'],
      ['aldo', 'tenant_member'],
      ['asha', 'tenant_member'],
    ],
  },
  mill: {
    tier: 'project',
    org: 'north',
    people: [
      ['amara', 'project_owner'],
      ['aldo', 'project_admin'],
      ['asha', 'project_member'],
      ['anna', 'project_viewer'],
    ],
  },
  forge: {
    tier: 'project',
    org: 'north',
    people: [
      ['aldo', 'project_owner'],
      ['adam', 'project_admin'],
    ],
  },
  south: {
    tier: 'tenant',
    org: 'south',
    people: [
      ['bella', 'tenant_owner'],
      ['bruno', 'tenant_billing_viewer'],
    ],
  },
  quay: { tier: 'project', org: 'south', people: [['bella', 'project_owner']] },
}
/** Two who may override everywhere and belong nowhere; one of the platform’s operators; one to whom both tenants are strange. */
const outside = ['ada', 'grace', 'otto', 'bodo']

export const idOf = (person: string): string => seeded.user(person)

/** The product's own roles, with the ids that this database gave them. */
const ownRoles = async ({ sql }: LiveServer): Promise<Map<string, Role>> => {
  const rows = await sql<{ id: string; name: string }>(`select id, name from role_definitions where is_builtin`)
  const roles = builtins.map(({ name, tier, keys }): Role => {
    const id = rows.find((row) => row.name === name)!.id
    return { id, name, tier, scope: null, versions: [keys], state: 'active', by_platform: false, is_deleted: false }
  })
  return new Map(roles.map((role) => [role.id, role]))
}

const insertScopes = async ({ sql }: LiveServer, scopes: readonly Scope[]): Promise<void> => {
  for (const { id, name, tier, org } of scopes)
    if (tier === 'tenant')
      await sql(
        `insert into organizations (id, type, name, slug, created_at) values ($1::uuid, 'enterprise', $2, $2 || '-' || right($1::text, 12), now())`,
        [id, name],
      )
    else await sql(`insert into projects (id, org_id, name, slug, created_at) values ($1, $2, $3, $3, now())`, [id, org, name])
}

/** The same two tenants for every sequence, and yet new ones: nothing that an earlier sequence did is left in them. */
export const newWorld = async ({ live, upgrades_by = 'define' }: Tried): Promise<State> => {
  const roles = await ownRoles(live)
  const ids = new Map(Object.keys(standing).map((name) => [name, newId('scope') as string]))
  const scopes = Object.entries(standing).map(([name, { tier, org }]): Scope => ({ id: ids.get(name)!, name, tier, org: ids.get(org)! }))
  await insertScopes(live, scopes)
  const named = (name: string) => [...roles.values()].find((role) => role.name === name)!
  const bound = scopes.flatMap((scope) => standing[scope.name]!.people.map(([person, role]) => ({ scope, person, role: named(role) })))
  for (const tier of ['tenant', 'project'] as const) {
    const here = bound.filter(({ scope }) => scope.tier === tier)
    const values = [here.map(({ scope }) => scope.id), here.map(({ person }) => idOf(person)), here.map(({ role }) => role.id)]
    await live.sql(
      `with given as (select * from unnest($1::uuid[], $2::uuid[], $3::uuid[]) as g (scope, person, role)),
            joined as (insert into ${tier}_memberships (id, ${tier}_id, user_id, created_at)
                       select gen_random_uuid(), scope, person, now() from given)
       insert into ${tier}_role_bindings (id, ${tier}_id, principal_type, principal_id, role_version_id, created_at)
       select gen_random_uuid(), scope, 'user', person, d.current_version_id, now() from given join role_definitions d on d.id = role`,
      values,
    )
  }
  return {
    people: [...new Set([...bound.map(({ person }) => person), ...outside])],
    superadmins: new Set(['ada', 'grace']),
    scopes: new Map(scopes.map((scope) => [scope.id, scope])),
    members: new Map(scopes.map(({ id, name }) => [id, new Set(standing[name]!.people.map(([person]) => person))])),
    roles,
    bindings: bound.map(({ scope, person, role }) => ({ scope: scope.id, person, role: role.id, version: 1 })),
    invitations: new Map(),
    accounts: new Map(),
    upgrades_by,
  }
}

/** Who belongs where and is bound to what, as the tables say it: override hides its own user's roles from a look through the API. */
export const rowsOf = async ({ live }: Tried, state: State): Promise<string[]> => {
  const scopes = [...state.scopes.keys()]
  const rows = await live.sql<{ text: string }>(
    `select tenant_id || ' ' || user_id as text from tenant_memberships where tenant_id = any($1) and deleted_at is null
     union all select project_id || ' ' || user_id from project_memberships where project_id = any($1) and deleted_at is null
     union all select tenant_id || ' ' || principal_id || ' ' || b.role_definition_id || ' ' || v.version
       from tenant_role_bindings b join role_definition_versions v on v.id = b.role_version_id where tenant_id = any($1) and deleted_at is null
     union all select project_id || ' ' || principal_id || ' ' || b.role_definition_id || ' ' || v.version
       from project_role_bindings b join role_definition_versions v on v.id = b.role_version_id where project_id = any($1) and deleted_at is null`,
    [scopes],
  )
  return rows.map(({ text }) => text).sort()
}

export const rowsExpected = (state: State): string[] =>
  [
    ...[...state.members].flatMap(([scope, people]) => [...people].map((person) => `${scope} ${idOf(person)}`)),
    ...state.bindings.map(({ scope, person, role, version }) => `${scope} ${idOf(person)} ${role} ${version}`),
    ...[...state.accounts.values()].flatMap(({ id, scope, roles }) =>
      roles.map(({ role, version }) => `${scope} ${id} ${role} ${version}`),
    ),
  ].sort()
