import Type, { type Static, type TProperties } from 'typebox'
import { type ActorType, listOperation, operation } from './operation.ts'
import type { ProblemCode } from './problems.ts'
import { Exactly, Id, Instant, Named, Nullable, OneOf, Reason, Text } from './shapes.ts'

const maybe = Type.Optional

export const RoleName = Type.String({
  minLength: 1,
  maxLength: 63,
  pattern: '^[a-z][a-z0-9_-]*$',
  description: 'Lower-case letters, digits, `_` and `-`. A name that can be mistaken for a built-in role is refused.',
})
const PermissionKey = Type.String({
  minLength: 1,
  maxLength: 100,
  description: 'A key of the action registry that may be given at the tier of the role.',
})
const GivenPermission = Type.Union([PermissionKey, Exactly({ key: PermissionKey, effect: OneOf(['allow']) })])
const Permissions = Type.Array(GivenPermission, { minItems: 1, maxItems: 200 })
export type GivenPermission = Static<typeof GivenPermission>

export const disableModes = ['block_new_only', 'block_all_now'] as const
const Version = Type.Integer({ minimum: 1, maximum: 2_147_483_647 })

export const Role = Named('Role', {
  id: Id('role'),
  scope_type: OneOf(['platform', 'tenant', 'project']),
  org_id: Nullable(Id('org')),
  project_id: Nullable(Id('project')),
  name: RoleName,
  description: Nullable(Type.String()),
  is_builtin: Type.Boolean(),
  is_assignable_to_service_accounts: Type.Boolean(),
  state: OneOf(['active', 'disabled']),
  disable_mode: Nullable(OneOf(disableModes)),
  disabled_at: Nullable(Instant),
  grace_until: Nullable(Instant),
  version: Version,
  permissions: Type.Array(Type.String(), { description: 'Of the current version, what it includes expanded.' }),
  created_at: Instant,
})
export type Role = Static<typeof Role>

export const RoleVersion = Named('RoleVersion', {
  id: Id('role version'),
  role_id: Id('role'),
  version: Version,
  permissions: Type.Array(Type.String()),
  reason: Nullable(Type.String()),
  created_at: Instant,
  created_by: Nullable(Id('user')),
})
export type RoleVersion = Static<typeof RoleVersion>

/** Where roles are defined and bound. Each operation is declared once and made for both scopes. */
interface RoleScope<P extends TProperties, R extends string, D extends string> {
  readonly name: string
  readonly whose: string
  readonly path: string
  readonly params: P
  readonly read: R
  /** Who may look; nobody but people defines. */
  readonly readers: readonly ActorType[]
  readonly define: D
  readonly missing: ProblemCode
}
const scope = <P extends TProperties, const R extends string, const D extends string>(declared: RoleScope<P, R, D>) => declared
export const inOrganization = scope({
  name: 'of_organization',
  whose: 'an organization',
  path: '/api/v1/orgs/:org_id',
  params: { org_id: Id('org') },
  read: 'tenant.role.read',
  readers: ['user'],
  define: 'tenant.role.define',
  missing: 'organization_not_found',
})
export const inProject = scope({
  name: 'of_project',
  whose: 'a project',
  path: '/api/v1/projects/:project_id',
  params: { project_id: Id('project') },
  read: 'project.role.read',
  readers: ['user', 'service_account'],
  define: 'project.role.define',
  missing: 'project_not_found',
})

const role = { role_id: Id('role') }

const listIn = <P extends TProperties, R extends string, D extends string>({
  name,
  whose,
  path,
  params,
  read,
  readers,
  missing,
}: RoleScope<P, R, D>) =>
  listOperation({
    id: `role.list_${name}`,
    path: `${path}/roles`,
    summary: `The roles that can be bound in ${whose}: the built-in ones and its own.`,
    actors: readers,
    action: read,
    params,
    item: Role,
    problems: [missing],
  })

const createIn = <P extends TProperties, R extends string, D extends string>({
  name,
  whose,
  path,
  params,
  define,
  missing,
}: RoleScope<P, R, D>) =>
  operation({
    id: `role.create_${name}`,
    recorded_as: 'role.create',
    method: 'POST',
    path: `${path}/roles`,
    summary: `Define a role of ${whose}, with its first version.`,
    actors: ['user'],
    action: define,
    effect: 'change',
    params,
    body: Exactly({
      name: RoleName,
      description: maybe(Text(500)),
      permissions: Permissions,
      is_assignable_to_service_accounts: maybe(Type.Boolean()),
      reason: maybe(Reason),
    }),
    reply: Role,
    success: 201,
    problems: [missing, 'role_already_exists'],
  })

const readIn = <P extends TProperties, R extends string, D extends string>({
  name,
  whose,
  path,
  params,
  read,
  readers,
  missing,
}: RoleScope<P, R, D>) =>
  operation({
    id: `role.read_${name}`,
    method: 'GET',
    path: `${path}/roles/:role_id`,
    summary: `One role that can be bound in ${whose}.`,
    actors: readers,
    action: read,
    effect: 'read',
    params: { ...params, ...role },
    reply: Role,
    problems: [missing, 'role_not_found'],
  })

const versionsIn = <P extends TProperties, R extends string, D extends string>({
  name,
  path,
  params,
  read,
  readers,
  missing,
}: RoleScope<P, R, D>) =>
  listOperation({
    id: `role.versions_${name}`,
    path: `${path}/roles/:role_id/versions`,
    summary: 'Every version of a role, the first one first; also of a role that was deleted.',
    actors: readers,
    action: read,
    params: { ...params, ...role },
    item: RoleVersion,
    problems: [missing, 'role_not_found'],
  })

const updateIn = <P extends TProperties, R extends string, D extends string>({ name, path, params, define, missing }: RoleScope<P, R, D>) =>
  operation({
    id: `role.update_${name}`,
    recorded_as: 'role.update',
    method: 'PATCH',
    path: `${path}/roles/:role_id`,
    summary: 'Append a version to a role. Bindings stay on the version they were given.',
    actors: ['user'],
    action: define,
    effect: 'change',
    params: { ...params, ...role },
    body: Exactly({
      permissions: maybe(Permissions),
      description: maybe(Text(500)),
      is_assignable_to_service_accounts: maybe(Type.Boolean()),
      expected_version: Version,
      reason: Reason,
    }),
    reply: Exactly({
      ...Role.properties,
      bindings_on_older_versions: Type.Integer({ description: 'Active bindings that stay on an earlier version.' }),
    }),
    problems: [missing, 'role_not_found', 'role_immutable', 'version_conflict'],
  })

const deleteIn = <P extends TProperties, R extends string, D extends string>({ name, path, params, define, missing }: RoleScope<P, R, D>) =>
  operation({
    id: `role.delete_${name}`,
    recorded_as: 'role.delete',
    method: 'DELETE',
    path: `${path}/roles/:role_id`,
    summary: 'End a role. It takes no new binding, and those that it has give nothing any more.',
    actors: ['user'],
    action: define,
    effect: 'change',
    params: { ...params, ...role },
    body: Exactly({ reason: Reason }),
    problems: [missing, 'role_not_found', 'role_immutable'],
  })

export const Disabling = Exactly({
  mode: maybe(OneOf(disableModes)),
  reason: Reason,
})
export const Enabling = Exactly({ reason: Reason })
const disabling =
  '`block_new_only` (the mode when none is named) leaves bindings valid for the grace window of policy `authorization.role_disable_grace_window_seconds`; `block_all_now` ends their effect at once.'

const disableIn = <P extends TProperties, R extends string, D extends string>({
  name,
  path,
  params,
  define,
  missing,
}: RoleScope<P, R, D>) =>
  operation({
    id: `role.disable_${name}`,
    recorded_as: 'role.disable',
    method: 'POST',
    path: `${path}/roles/:role_id/disable`,
    summary: 'Stop a role from being given. A second time it can only be made stricter.',
    description: disabling,
    actors: ['user'],
    action: define,
    effect: 'change',
    params: { ...params, ...role },
    body: Disabling,
    reply: Role,
    problems: [missing, 'role_not_found', 'role_immutable', 'state_conflict'],
  })

const enableIn = <P extends TProperties, R extends string, D extends string>({ name, path, params, define, missing }: RoleScope<P, R, D>) =>
  operation({
    id: `role.enable_${name}`,
    recorded_as: 'role.enable',
    method: 'POST',
    path: `${path}/roles/:role_id/enable`,
    summary: 'Let a disabled role count again. What the platform disabled, the platform enables.',
    actors: ['user'],
    action: define,
    effect: 'change',
    params: { ...params, ...role },
    body: Enabling,
    reply: Role,
    problems: [missing, 'role_not_found', 'role_immutable', 'state_conflict'],
  })

export const listOrganizationRoles = listIn(inOrganization)
export const listProjectRoles = listIn(inProject)
export const createOrganizationRole = createIn(inOrganization)
export const createProjectRole = createIn(inProject)
export const readOrganizationRole = readIn(inOrganization)
export const readProjectRole = readIn(inProject)
export const listOrganizationRoleVersions = versionsIn(inOrganization)
export const listProjectRoleVersions = versionsIn(inProject)
export const updateOrganizationRole = updateIn(inOrganization)
export const updateProjectRole = updateIn(inProject)
export const deleteOrganizationRole = deleteIn(inOrganization)
export const deleteProjectRole = deleteIn(inProject)
export const disableOrganizationRole = disableIn(inOrganization)
export const disableProjectRole = disableIn(inProject)
export const enableOrganizationRole = enableIn(inOrganization)
export const enableProjectRole = enableIn(inProject)

const builtin = {
  actors: ['user'],
  action: 'platform.admin',
  effect: 'change',
  params: role,
  reply: Role,
} as const

export const listBuiltinRoles = listOperation({
  id: 'role.list_builtin',
  path: '/api/v1/admin/roles',
  summary: 'The built-in roles of every tier, with what they allow and whether they are disabled.',
  actors: ['user'],
  action: ['platform.ops.read', 'platform.admin'],
  item: Role,
  problems: [],
})

export const disableBuiltinRole = operation({
  ...builtin,
  id: 'role.disable_builtin',
  recorded_as: 'role.disable',
  method: 'POST',
  path: '/api/v1/admin/roles/:role_id/disable',
  summary: 'Stop a built-in role from being given. Who includes it keeps its permissions.',
  description: disabling,
  body: Disabling,
  problems: ['role_not_found', 'role_immutable', 'state_conflict', 'last_owner'],
})

export const enableBuiltinRole = operation({
  ...builtin,
  id: 'role.enable_builtin',
  recorded_as: 'role.enable',
  method: 'POST',
  path: '/api/v1/admin/roles/:role_id/enable',
  summary: 'Let a disabled built-in role count again.',
  body: Enabling,
  problems: ['role_not_found', 'role_immutable', 'state_conflict'],
})
