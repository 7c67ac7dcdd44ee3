import { decide } from '@gatehouse/contract/decisions'
import pg from 'pg'
import { describe, expect, test } from 'vitest'
import { newId } from '#ground/kernel/ids.ts'
import { roleIdOf, roleVersionIdOf } from '#rails/authz/catalogue.ts'
import {
  caseFiles,
  casesIn,
  constraintOf,
  type DecisionCase,
  type Given,
  type GivenTier,
  known,
  placeOf,
  resourceTypeOf,
} from '../../../../cases/decision-case.ts'
import { serverFixture } from '../../../../test/live-server.ts'

const live = serverFixture()

type Tables = 'tenant' | 'project'
interface World {
  person: string
  tenant: string
  project: string
  /** Also his, and not what is asked about. */
  other_tenant: string
  other_project: string
  /** Of whom the row speaks: the person, a service account, or a runtime's operator. */
  actor: { type: 'user' | 'service_account' | 'shared_runtime_operator'; id: string }
}

/** Where the service account of a row lives, if one could stand so: its project bounds it whether or not it shows a token. */
const homeOf = ({ actor, token, platform, tenant, project }: Given): 'here' | 'next door' | 'abroad' | null => {
  if (actor?.type !== 'service_account' || !token || token.actions || platform || tenant?.is_member || project?.permissions) return null
  if (builtinsOf(project).some((name) => !['project_member', 'project_viewer'].includes(name))) return null
  const { tenant_id, project_id } = token
  if (project?.is_member) return tenant_id === 'here' && project_id === 'here' ? 'here' : null
  if (project_id !== 'elsewhere') return null
  return tenant_id === 'here' ? 'next door' : tenant_id === 'elsewhere' ? 'abroad' : null
}

const onList = [
  'tenant.shared_runtime.read',
  'shared_runtime.report',
  'shared_runtime.credential.deliver',
  'shared_runtime.allocation.read',
]
const delegable: Record<string, string> = { 'shared_runtime.attach': 'attach', 'shared_runtime.detach': 'detach' }

/** Whether a runtime could be so that its operator stands as a row says: what it shows as a token, its own record says alike. */
const isOfRuntime = ({ actor, token, platform, tenant, elevations }: Given): boolean => {
  const { permissions = [], disabled_permissions } = tenant ?? {}
  return (
    actor?.type === 'shared_runtime_operator' &&
    (tenant?.is_member === true || actor.is_disabled === true) &&
    token?.tenant_id !== undefined &&
    token.shared_runtime_id === 'here' &&
    !(token.actions ?? token.project_id ?? platform ?? elevations ?? disabled_permissions) &&
    onList.every((key) => permissions.includes(key)) &&
    permissions.every((key) => onList.includes(key) || key in delegable)
  )
}

/** Of the rows those that tables and the API can say today; why not, of the others. */
const whyNot = ({ given }: DecisionCase): string | null => {
  const { actor, token, elevations, platform, tenant, project, resource, constraints = [], unspeakable } = given
  if (resource?.relations?.some((relation) => relation !== 'self'))
    return 'these worlds have nothing but people that a relation could be to'
  if (actor?.type === 'shared_runtime_operator') return isOfRuntime(given) ? null : 'no operator stands so, or its token alone says so'
  if (elevations) return 'elevations have no record yet'
  if (actor?.type === 'service_account' && homeOf(given) === null) return 'no service account stands so, or its token alone says so'
  if (actor?.type === 'service_account') return null
  if ((actor?.type ?? 'user') !== 'user' || token) return 'these machines have no record yet'
  if (platform?.permissions) return 'there is no custom role of the platform'
  if (project?.is_member && !tenant?.is_member) return 'nobody is in a project without being in its tenant'
  if (unspeakable) return 'JSON cannot spell it'
  const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value)
  return constraints.every(({ condition = {} }) => isObject(condition)) ? null : 'the table takes objects only'
}

const spelled = (value: unknown): string => {
  if (Array.isArray(value)) return `array[${value.map(spelled).join(', ')}]::text[]`
  if (typeof value === 'object' && value !== null) return pg.escapeLiteral(JSON.stringify(value))
  return typeof value === 'string' ? pg.escapeLiteral(value) : `${value ?? null}`
}
/** A statement as text: a world is written by one message, or most of the time would go into sending. */
const insert = (table: string, row: Record<string, unknown>) =>
  `insert into ${table} (${Object.keys(row).join(', ')}) values (${Object.values(row).map(spelled).join(', ')})`
const sets = (row: object) =>
  Object.entries(row)
    .map(([column, value]) => `${column} = ${spelled(value)}`)
    .join(', ')
const now = () => new Date().toISOString()
const ended = () => ({ deleted_at: now(), delete_reason: 'over' })

const belongs = (table: Tables, scope: string, user_id: string, end: object = {}) =>
  insert(`${table}_memberships`, { id: newId('membership'), [`${table}_id`]: scope, user_id, created_at: now(), ...end })
const isBound = (table: Tables, scope: string, principal_id: string, role_version_id: string, end: object = {}, principal_type = 'user') =>
  insert(`${table}_role_bindings`, {
    id: newId('binding'),
    [`${table}_id`]: scope,
    principal_type,
    principal_id,
    role_version_id,
    created_at: now(),
    ...end,
  })
const isBoundToPlatform = (principal_id: string, name: string, end: object = {}) =>
  insert('platform_role_bindings', {
    id: newId('binding'),
    principal_type: 'user',
    principal_id,
    role_definition_id: roleIdOf(name as never),
    created_at: now(),
    ...end,
  })

/** Of a disabled role, how: at once, or for new bindings only, with a grace for the others. */
const disabledAs = ({ grace }: GivenTier) =>
  grace ? { disable_mode: 'block_new_only', grace_until: new Date(Date.now() + (grace === 'running' ? hour : -hour)).toISOString() } : {}
const hour = 3_600_000

interface CustomRole {
  keys: readonly string[]
  state?: object
  /** Of a later version, which is the current one. */
  newer?: readonly string[] | undefined
  ends_by?: string
}
const hasCustomRole = (table: Tables, scope: string, person: string, { keys, state, newer, ends_by }: CustomRole) => {
  const [id, version, later] = [newId('role'), newId('role_version'), newId('role_version')]
  const versions = [{ id: version, keys }, ...(newer ? [{ id: later, keys: newer }] : [])]
  const definition = {
    id,
    scope_type: table,
    [`${table}_id`]: scope,
    name: `custom-${id}`,
    is_builtin: false,
    current_version_id: versions.at(-1)!.id,
    created_at: now(),
  }
  return [
    insert('role_definitions', definition),
    ...versions.flatMap((each, at) => [
      insert('role_definition_versions', { id: each.id, role_definition_id: id, version: at + 1, created_at: now() }),
      ...each.keys.map((permission_key) => insert('role_permissions', { role_version_id: each.id, permission_key })),
    ]),
    isBound(table, scope, person, version),
    // Bound while it was active and there: nobody is bound to what is disabled or has ended.
    ...(state ? [`update role_definitions set ${sets(state)} where id = '${id}'`] : []),
    ...(ends_by
      ? [`update role_definitions set deleted_at = now(), delete_reason = 'over', deleted_by_user_id = '${ends_by}' where id = '${id}'`]
      : []),
  ]
}

const founded = ({ tenant, project }: Pick<World, 'tenant' | 'project'>, given: Given = {}) => {
  const state = given.tenant?.is_suspended ? 'suspended' : 'active'
  return [
    insert('organizations', { id: tenant, type: 'enterprise', name: 'Org', slug: `o-${tenant}`, state, created_at: now() }),
    hasProject(tenant, project, given.project?.is_archived ? 'archived' : 'active'),
  ]
}
const hasProject = (org_id: string, id: string, state = 'active') =>
  insert('projects', { id, org_id, name: 'Project', slug: `p-${id}`, state, created_at: now() })

const rule = (scope: string, place: Pick<World, Tables>, document: object, more: object = {}) =>
  insert('policy_constraints', {
    constraint_id: newId('constraint'),
    version: 1,
    ...(scope === 'tenant' ? { tenant_id: place.tenant } : scope === 'project' ? { project_id: place.project } : {}),
    created_at: now(),
    ...document,
    ...more,
  })

const builtinsOf = ({ roles = [], disabled_roles = [] }: GivenTier = {}) => [...roles, ...disabled_roles]
const standsAs = (table: Tables, scope: string, person: string, given: GivenTier = {}) => [
  ...(given.is_member ? [belongs(table, scope, person)] : []),
  ...builtinsOf(given).map((name) => isBound(table, scope, person, roleVersionIdOf(name as never))),
  ...(given.permissions ? hasCustomRole(table, scope, person, { keys: given.permissions, newer: given.newer_permissions }) : []),
  ...(given.disabled_permissions
    ? hasCustomRole(table, scope, person, {
        keys: given.disabled_permissions,
        newer: given.newer_permissions,
        state: { state: 'disabled', ...disabledAs(given) },
      })
    : []),
]

const everyGroup = ['tenant.*', 'project.*', 'allocation.*', 'storage.*', 'terminal.*', 'workload.*', 'platform.*', 'me.*']
const always = { key: 'elsewhere', actions: everyGroup, condition: {}, time_zone: 'UTC', is_locked: true, state: 'active' }

/** What is of no account: rows of other tenants and projects, ended rows, bindings past their end, roles that were deleted. */
const beside = ({ person, tenant, project, other_tenant, other_project }: World, given: Given) => {
  const far = { tenant: other_tenant, project: newId('project') }
  const isOver = { replaced_at: now(), delete_reason: 'over' }
  const elsewhere = [
    ['tenant', far.tenant],
    ['project', far.project],
    ['project', other_project],
  ] as const
  const here = [
    ['tenant', tenant, ['tenant.read', 'tenant.update']],
    ['project', project, ['storage.read', 'storage.write', 'allocation.create']],
  ] as const
  return [
    ...founded(far),
    hasProject(tenant, other_project),
    ...elsewhere.flatMap(([table, scope]) => [
      belongs(table, scope, person),
      isBound(table, scope, person, roleVersionIdOf(`${table}_owner`)),
    ]),
    rule('tenant', far, { scope_type: 'tenant', ...always }),
    rule('project', far, { scope_type: 'project', ...always }),
    rule('project', { tenant, project: other_project }, { scope_type: 'project', ...always }),
    ...['global', 'tenant', 'project'].map((scope_type) => rule(scope_type, { tenant, project }, { scope_type, ...always }, isOver)),
    isBoundToPlatform(person, 'platform_superadmin', ended()),
    ...here.flatMap(([table, scope, keys]) => {
      const owner = roleVersionIdOf(`${table}_owner`)
      // Owners have no end.
      const admin = roleVersionIdOf(`${table}_admin`)
      const isHis = builtinsOf(given[table]).includes(`${table}_admin`)
      return [
        belongs(table, scope, person, ended()),
        isBound(table, scope, person, owner, ended()),
        ...(isHis ? [] : [isBound(table, scope, person, admin, { expires_at: '2020-01-01T00:00:00Z' })]),
        ...hasCustomRole(table, scope, person, { keys, ends_by: person }),
      ]
    }),
  ]
}

/** Built-in roles are everybody's: they are disabled while a row is asked, and then again not. */
const flip = (given: Given, state: 'active' | 'disabled') =>
  [given.platform, given.tenant, given.project].flatMap((tier) => {
    if (!tier?.disabled_roles) return []
    const { disable_mode, grace_until } = state === 'disabled' ? disabledAs(tier) : {}
    const values = `state = '${state}', disable_mode = ${spelled(disable_mode)}, grace_until = ${spelled(grace_until)}`
    return [`update role_definitions set ${values} where is_builtin and name = any(${spelled(tier.disabled_roles)})`]
  })

const livesAs = (id: string, given: Given, { person, tenant, project, other_tenant, other_project }: World): string[] => {
  const home = homeOf(given)
  const abroad = newId('project')
  const [org_id, project_id] = home === 'here' ? [tenant, project] : home === 'next door' ? [tenant, other_project] : [other_tenant, abroad]
  const disabled = given.actor?.is_disabled
    ? { state: 'disabled', disabled_at: now(), disabled_by: person, disable_reason: 'left' }
    : { state: 'active' }
  return [
    ...(home === 'abroad' ? [hasProject(other_tenant, abroad)] : []),
    insert('service_accounts', { id, org_id, project_id, name: 'Robot', slug: 'robot', created_at: now(), ...disabled }),
    ...builtinsOf(given.project).map((name) => isBound('project', project, id, roleVersionIdOf(name as never), {}, 'service_account')),
  ]
}

/** A runtime as its operator's row says, and beside it one of the same organization that may everything everywhere. */
const operates = (id: string, given: Given, { person, tenant, project, other_tenant, other_project }: World): string[] => {
  const org_id = given.token?.tenant_id === 'here' ? tenant : other_tenant
  const ended = { deleted_at: now(), deleted_by: person, delete_reason: 'over', state: 'deleted' }
  const rests = { disabled_at: now(), disabled_by: person, disable_reason: 'rests', state: 'disabled' }
  // The rows leave one that is gone its membership, to show that it does not matter; one that rests has none.
  const state = !given.actor?.is_disabled ? { state: 'running' } : given.tenant?.is_member ? ended : rests
  const uuids = (ids: readonly string[]) => `{${ids.join(',')}}`
  const runtime = (of: object, delegated: readonly string[], eligible: readonly string[]) =>
    insert('shared_app_runtimes', {
      ...{ app_slug: 'slurm', app_version: '1', display_name: newId('name'), runtime_backend: 'slurm' },
      ...{ delegated_actions: delegated, eligible_project_ids: uuids(eligible) },
      ...{ created_at: now(), created_by: person, updated_at: now(), ...of },
    })
  const attached = (shared_runtime_id: string, of: string, project_id: string, end: object = {}) =>
    insert('shared_runtime_attachments', {
      ...{ id: newId('attachment'), shared_runtime_id, org_id: of, project_id, contribution_policy: 'all' },
      ...{ created_at: now(), created_by_type: 'user', created_by: person, updated_at: now(), ...end },
    })
  const detached = { detached_at: now(), detached_by_type: 'user', detached_by: person, detach_reason: 'over' }
  const neighbour = newId('shared_runtime')
  const delegated = (given.tenant?.permissions ?? []).flatMap((key) => delegable[key] ?? [])
  const isHere = org_id === tenant
  return [
    runtime({ id, org_id, ...state }, delegated, given.project?.is_eligible ? [project] : isHere ? [other_project] : []),
    ...(isHere ? [attached(id, tenant, project, detached), attached(id, tenant, other_project)] : []),
    ...(given.project?.is_member && isHere ? [attached(id, tenant, project)] : []),
    runtime({ id: neighbour, org_id: tenant, state: 'running' }, ['attach', 'detach'], [project, other_project]),
    attached(neighbour, tenant, project),
  ]
}

/** The row as rows of tables, in one transaction. */
const written = async ({ action, given }: Pick<DecisionCase, 'action' | 'given'>): Promise<World> => {
  const [person, tenant, project] = [newId('user'), newId('org'), newId('project')]
  const type = (given.actor?.type ?? 'user') as World['actor']['type']
  const isMachine = type !== 'user'
  const actor = { type, id: isMachine ? newId('machine') : person }
  const world: World = { person, tenant, project, other_tenant: newId('org'), other_project: newId('project'), actor }
  const user = { id: person, username: person, oidc_issuer: live.issuer.issuer, oidc_subject: person, created_at: now() }
  const disabled = given.actor?.is_disabled && !isMachine ? { disabled_at: now(), disabled_by: person, disable_reason: 'left' } : {}
  const statements = [
    insert('users', { ...user, ...disabled }),
    ...founded(world, given),
    ...builtinsOf(given.platform).map((name) => isBoundToPlatform(person, name)),
    ...(isMachine ? [] : [...standsAs('tenant', tenant, person, given.tenant), ...standsAs('project', project, person, given.project)]),
    ...(given.constraints ?? []).map((each, index) => {
      const { constraint_id: _id, version: _version, ...document } = constraintOf(action, each, index)
      return rule(each.scope, world, document)
    }),
    ...beside(world, given),
    ...(type === 'service_account' ? livesAs(actor.id, given, world) : []),
    ...(type === 'shared_runtime_operator' ? operates(actor.id, given, world) : []),
    ...flip(given, 'disabled'),
  ]
  await live.sql(['begin', ...statements, 'commit'].join('; '))
  return world
}

const cleared = (given: Given) =>
  live.sql([...flip(given, 'active'), `delete from policy_constraints where scope_type = 'global'`].join('; '))

const asked = async ({ action, given }: Pick<DecisionCase, 'action' | 'given'>, { person, tenant, project, actor }: World) => {
  const place = placeOf(known(action), given)
  const isSelf = given.resource?.relations?.includes('self')
  // Who is disabled cannot ask; a superadmin asks about him, and about machines.
  const caller = given.actor?.is_disabled || actor.type !== 'user' ? 'ada' : person
  const { status, body } = await live.ask(caller, decide, {
    body: {
      ...(caller === person ? {} : { actor }),
      action,
      resource: {
        type: resourceTypeOf(known(action), given),
        ...(isSelf ? { id: person } : {}),
        ...(given.resource?.shared_runtime_id ? { id: given.resource.shared_runtime_id === 'here' ? actor.id : newId('elsewhere') } : {}),
        ...(place === 'platform' ? {} : { tenant_id: tenant }),
        ...(place === 'project' ? { project_id: project } : {}),
      },
      // Where he asks from would be taken for the address, if none is said.
      attributes: { source_ip: null, ...given.attributes },
    },
  })
  const { decision, reason_code, applied_scope, policy_source } = body
  return { status, decision, reason_code, applied_scope, policy_source }
}

const askable = (file: string) => casesIn(file).filter((row) => whyNot(row) === null)

describe.each(caseFiles.filter((file) => askable(file).length > 0))('%s', (file) => {
  for (const row of askable(file))
    test(`${row.proves} ${row.because}`, async () => {
      const world = await written(row)
      try {
        expect(await asked(row, world)).toEqual({ status: 200, ...row.expect })
      } finally {
        await cleared(row.given)
      }
    })
})

test('DE-02 most rows are asked through the API, and each that is not has a reason', () => {
  const cases = caseFiles.flatMap(casesIn)
  const { asked: rows, ...left } = Object.fromEntries(
    [...Map.groupBy(cases, (row) => whyNot(row) ?? 'asked')].map(([why, { length }]) => [why, length]),
  )
  expect(rows).toBeGreaterThanOrEqual(530)
  expect(left).toEqual({
    'these worlds have nothing but people that a relation could be to': 49,
    'elevations have no record yet': 43,
    'no operator stands so, or its token alone says so': 24,
    'no service account stands so, or its token alone says so': 26,
    'these machines have no record yet': 12,
    'JSON cannot spell it': 6,
    'the table takes objects only': 3,
    'there is no custom role of the platform': 1,
  })
})

describe('what lies beside a world would matter if it were part of it', () => {
  const stranger = { action: 'tenant.read', given: {} }
  const member = { action: 'tenant.read', given: { tenant: { is_member: true, roles: ['tenant_member'] } } }
  const revived = (table: string, person: string, column: string) =>
    live.sql(`update ${table} set deleted_at = null, delete_reason = null where ${column} = $1 and deleted_at is not null`, [person])

  test('DE-19 D2(f) an ended membership with an ended binding counts again when both are brought back', async () => {
    const world = await written(stranger)
    expect(await asked(stranger, world)).toMatchObject({ reason_code: 'membership_missing' })
    await revived('tenant_memberships', world.person, 'user_id')
    expect(await asked(stranger, world)).toMatchObject({ reason_code: 'permission_denied' })
    await live.sql('update tenant_role_bindings set expires_at = null where principal_id = $1', [world.person])
    expect(await asked(stranger, world)).toMatchObject({ decision: 'allow', applied_scope: 'tenant' })
  })

  test('DE-19 D2(f) an ended platform binding counts again when it is brought back', async () => {
    const world = await written(stranger)
    await revived('platform_role_bindings', world.person, 'principal_id')
    expect(await asked(stranger, world)).toMatchObject({ decision: 'allow', applied_scope: 'global' })
  })

  test('DE-19 D2(e) the rule of another tenant counts where it is moved here', async () => {
    const world = await written(member)
    expect(await asked(member, world)).toMatchObject({ decision: 'allow' })
    await live.sql('update policy_constraints set tenant_id = $1 where tenant_id = $2', [world.tenant, world.other_tenant])
    expect(await asked(member, world)).toMatchObject({ reason_code: 'policy_constraint_denied', applied_scope: 'tenant' })
  })
})
