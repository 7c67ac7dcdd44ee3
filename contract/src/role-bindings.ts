import Type, { type Static, type TProperties } from 'typebox'
import { type ActorType, listOperation, operation } from './operation.ts'
import type { ProblemCode } from './problems.ts'
import { inOrganization, inProject, RoleName } from './roles.ts'
import { Exactly, GivenInstant, Id, Instant, Named, Nullable, OneOf, Reason } from './shapes.ts'

const maybe = Type.Optional
const Version = Type.Integer({ minimum: 1, maximum: 2_147_483_647 })
const PrincipalType = OneOf(['user', 'service_account'])
export type PrincipalType = Static<typeof PrincipalType>

export const RoleBinding = Named('RoleBinding', {
  id: Id('binding'),
  principal_type: PrincipalType,
  principal_id: Id('principal'),
  role_id: Id('role'),
  role_name: RoleName,
  version: Version,
  created_at: Instant,
  created_by: Nullable(Id('user')),
  expires_at: Nullable(Instant),
})
export type RoleBinding = Static<typeof RoleBinding>

export const PlatformRoleBinding = Named('PlatformRoleBinding', {
  id: Id('binding'),
  principal_type: OneOf(['user']),
  principal_id: Id('principal'),
  username: Type.String(),
  role_id: Id('role'),
  role_name: RoleName,
  created_at: Instant,
  created_by: Nullable(Id('user')),
})
export type PlatformRoleBinding = Static<typeof PlatformRoleBinding>

/** Which role: by its id or by its name. */
const which = { role_id: maybe(Id('role')), role_name: maybe(RoleName) }
const binding = { binding_id: Id('binding') }
const Ending = Exactly({ reason: maybe(Reason) })

interface BindingScope<P extends TProperties, R extends string, A extends string> {
  readonly name: string
  readonly whose: string
  readonly path: string
  readonly params: P
  readonly read: R
  /** Who may give and take roles: by either key. */
  readonly assign: readonly A[]
  readonly readers: readonly ActorType[]
  readonly missing: ProblemCode
}

const listIn = <P extends TProperties, R extends string, A extends string>({
  name,
  whose,
  path,
  params,
  read,
  readers,
  missing,
}: BindingScope<P, R, A>) =>
  listOperation({
    id: `role_binding.list_${name}`,
    path: `${path}/role-bindings`,
    summary: `Who is bound to which role in ${whose}.`,
    actors: readers,
    action: read,
    params,
    item: RoleBinding,
    problems: [missing],
  })

const createIn = <P extends TProperties, R extends string, A extends string>(
  { name, path, params, assign, missing }: BindingScope<P, R, A>,
  more: readonly ProblemCode[],
) =>
  operation({
    id: `role_binding.create_${name}`,
    recorded_as: 'role_binding.create',
    method: 'POST',
    path: `${path}/role-bindings`,
    summary:
      'Bind a member, or in a project a service account, to a role that is within your own authority. Another version of a role that it has takes the place of the older.',
    actors: ['user'],
    action: assign,
    effect: 'change',
    params,
    body: Exactly({
      principal_type: PrincipalType,
      principal_id: Id('principal'),
      ...which,
      version: maybe(Version),
      expires_at: maybe(GivenInstant),
      reason: maybe(Reason),
    }),
    reply: RoleBinding,
    success: 201,
    problems: [missing, 'role_not_found', 'role_not_assignable', 'binding_already_exists', ...more],
  })

const endIn = <P extends TProperties, R extends string, A extends string>({ name, path, params, assign, missing }: BindingScope<P, R, A>) =>
  operation({
    id: `role_binding.end_${name}`,
    recorded_as: 'role_binding.end',
    method: 'DELETE',
    path: `${path}/role-bindings/:binding_id`,
    summary: "End a binding. An owner's is ended by an owner or the platform, and the last one by nobody.",
    actors: ['user'],
    action: assign,
    effect: 'change',
    params: { ...params, ...binding },
    body: Ending,
    problems: [missing, 'binding_not_found', 'last_owner'],
  })

const organization = { ...inOrganization, assign: ['tenant.role.assign'] } as const
const project = {
  ...inProject,
  // The second for service accounts alone.
  assign: ['project.role.assign', 'project.service_account.manage'],
} as const

export const listOrganizationBindings = listIn(organization)
export const listProjectBindings = listIn(project)
export const createOrganizationBinding = createIn(organization, ['not_tenant_member'])
export const createProjectBinding = createIn(project, ['not_project_member', 'service_account_not_found'])
export const endOrganizationBinding = endIn(organization)
export const endProjectBinding = endIn(project)

export const listPlatformBindings = listOperation({
  id: 'role_binding.list_of_platform',
  path: '/api/v1/admin/platform-roles/bindings',
  summary: 'Who is bound to which platform role.',
  actors: ['user'],
  action: 'platform.admin',
  item: PlatformRoleBinding,
  problems: [],
})

export const createPlatformBinding = operation({
  id: 'role_binding.create_of_platform',
  recorded_as: 'role_binding.create',
  method: 'POST',
  path: '/api/v1/admin/platform-roles/bindings',
  summary: 'Bind a person to a platform role.',
  actors: ['user'],
  action: 'platform.admin',
  effect: 'change',
  body: Exactly({ principal_type: PrincipalType, principal_id: Id('principal'), ...which, reason: maybe(Reason) }),
  reply: PlatformRoleBinding,
  success: 201,
  problems: ['role_not_found', 'role_not_assignable', 'user_not_found', 'binding_already_exists'],
})

export const endPlatformBinding = operation({
  id: 'role_binding.end_of_platform',
  recorded_as: 'role_binding.end',
  method: 'DELETE',
  path: '/api/v1/admin/platform-roles/bindings/:binding_id',
  summary: 'End a binding to a platform role; the last superadmin stays.',
  actors: ['user'],
  action: 'platform.admin',
  effect: 'change',
  params: binding,
  body: Ending,
  problems: ['binding_not_found', 'last_owner'],
})

export const appointProjectOwner = operation({
  id: 'project.owner.appoint',
  method: 'POST',
  path: '/api/v1/projects/:project_id/owner',
  summary: 'Give a project that has no active owner a new one, who is a member of the organization.',
  actors: ['user'],
  action: 'tenant.project.appoint_owner',
  effect: 'change',
  params: { project_id: Id('project') },
  body: Exactly({ user_id: Id('user'), reason: Reason }),
  reply: RoleBinding,
  success: 201,
  problems: ['project_not_found', 'not_tenant_member', 'role_not_assignable', 'state_conflict'],
})
