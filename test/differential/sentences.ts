import { type Draft, inProject, now } from './sentence-draft.ts'

export type Sentence = [title: string, answer: string, change: (draft: Draft) => unknown]

/** One sentence of the specification each: its title, the expected answer, and the rows and question that it is about. */
export const sentences: Sentence[] = [
  ['an owner may', 'allow project in_code', (d) => d.projectRole('project_owner')],
  ['a viewer may not', 'permission_denied project in_code', (d) => d.projectRole('project_viewer')],
  [
    'a tenant owner has no runtime access',
    'membership_missing project in_code',
    (d) => {
      d.tenantRole('tenant_owner')
      d.rows.project_memberships = []
    },
  ],
  [
    'a project membership needs one of the tenant',
    'membership_missing project in_code',
    (d) => {
      d.projectRole('project_owner')
      d.rows.tenant_memberships[0]!.deleted_at = now
    },
  ],
  [
    'an owner inherits what a member has',
    'allow tenant in_code',
    (d) => d.asks('tenant.shared_runtime.read', { project_id: null }) && d.tenantRole('tenant_owner'),
  ],
  [
    'an owner inherits nothing from who sees the bills',
    'permission_denied tenant in_code',
    (d) => d.asks('tenant.invoice.read') && d.tenantRole('tenant_owner'),
  ],
  [
    'a disabled person may nothing, superadmin too',
    'actor_disabled global in_code',
    (d) => {
      d.platformRole('platform_superadmin')
      d.rows.users[0]!.disabled_at = now
    },
  ],
  ['an unknown person is a disabled one', 'actor_disabled global in_code', (d) => d.rows.users.pop()],
  ['override reaches what is eligible', 'allow global in_code', (d) => d.asks('tenant.update') && d.platformRole('platform_superadmin')],
  [
    'override reaches no shell',
    'permission_denied project in_code',
    (d) => d.asks('terminal.connect') && d.platformRole('platform_superadmin'),
  ],
  [
    'override is stopped by no rule',
    'allow global in_code',
    (d) => {
      d.asks('project.member.invite')
      d.platformRole('platform_superadmin')
      d.rule({}, { actions: ['project.*'], is_locked: true })
    },
  ],
  ['a disabled custom role is named', 'role_disabled project in_code', (d) => d.custom(['allocation.create'], { state: 'disabled' })],
  [
    'a role that is disabled for new bindings only gives until its grace is over',
    'allow project in_code',
    (d) => d.custom(['allocation.create'], { state: 'disabled', grace_until: '2026-06-01T12:00:00.001Z' }),
  ],
  [
    'with its grace a disabled role ends',
    'role_disabled project in_code',
    (d) => d.custom(['allocation.create'], { state: 'disabled', grace_until: now }),
  ],
  [
    'a deleted custom role gives nothing',
    'permission_denied project in_code',
    (d) => d.custom(['allocation.create'], { deleted_at: now, state: 'disabled' }),
  ],
  [
    'a disabled role beside an active one does not matter',
    'allow project in_code',
    (d) => {
      d.custom(['allocation.create'], { state: 'disabled' })
      d.projectRole('project_member')
    },
  ],
  [
    'a key that no custom role may hold is not heard',
    'permission_denied project in_code',
    (d) => d.asks('project.role.define') && d.custom(['project.role.define']),
  ],
  [
    'override in a custom role is not heard',
    'permission_denied project in_code',
    (d) => d.asks('project.member.invite') && d.custom(['authorization.override.all']),
  ],
  [
    'a binding ends at its end',
    'permission_denied project in_code',
    (d) => {
      d.projectRole('project_owner')
      d.rows.project_role_bindings[0]!.expires_at = now
    },
  ],
  [
    'a binding holds until its end',
    'allow project in_code',
    (d) => {
      d.projectRole('project_owner')
      d.rows.project_role_bindings[0]!.expires_at = '2026-06-01T12:00:00.001Z'
    },
  ],
  ['who works in a project can read it', 'allow tenant in_code', (d) => d.asks('project.read')],
  ['one may leave', 'allow tenant in_code', (d) => d.asks('tenant.user.leave', { resource_type: 'user', resource_id: d.actor })],
  [
    'one may not make another leave',
    'permission_denied tenant in_code',
    (d) => d.asks('tenant.user.leave', { resource_type: 'user', resource_id: d.other }),
  ],
  [
    'an owner of an allocation manages who may enter it',
    'allow project in_code',
    (d) => d.asks('project.access_grant.manage', { relations: ['allocation_owner'] }),
  ],
  [
    'an owner of an allocation needs a membership',
    'membership_missing project in_code',
    (d) => {
      d.asks('project.access_grant.manage', { relations: ['allocation_owner'] })
      d.rows.project_memberships = []
    },
  ],
  [
    'an owner of an allocation does not release it by that',
    'permission_denied project in_code',
    (d) => d.asks('allocation.release', { relations: ['allocation_owner'] }),
  ],
  ['who was let in can leave again', 'allow project in_code', (d) => d.asks('project.access_grant.revoke_own', { relations: ['grantee'] })],
  [
    'who was let in lets nobody in',
    'permission_denied project in_code',
    (d) => d.asks('project.access_grant.manage', { relations: ['grantee', 'invitee'] }),
  ],
  [
    'what comes by a relation a rule can take away',
    'policy_constraint_denied tenant policy_values',
    (d) => d.asks('project.access_grant.revoke_own', { relations: ['grantee'] }) && d.rule({}, { actions: ['project.access_grant.*'] }),
  ],
  [
    'an invitation is the invitee’s, who is no member yet',
    'allow global in_code',
    (d) => {
      d.asks('me.invitation.accept', { relations: ['invitee'] })
      d.rows.tenant_memberships = []
      d.rule({}, { actions: ['me.*'], scope_type: 'global', tenant_id: null, is_locked: true, key: 'self' })
    },
  ],
  [
    'an invitation is nobody else’s',
    'permission_denied global in_code',
    (d) => d.asks('me.invitation.accept', { relations: ['grantee', 'allocation_owner'] }),
  ],
  [
    'a machine has no relations',
    'permission_denied project in_code',
    (d) => d.asks('allocation.ssh_keys.write', { relations: ['allocation_owner'] }) && d.robot('project_member'),
  ],
  [
    'no rule takes away what belongs to the person',
    'allow global in_code',
    (d) => d.asks('me.read', { resource_type: 'user', resource_id: d.actor }) && d.rule({}, { actions: ['me.read'] }),
  ],
  [
    'a token of another place does not reach',
    'scope_mismatch project in_code',
    (d) =>
      d.platformRole('platform_superadmin') &&
      d.asks('project.member.invite', { token: { tenant_id: d.other, project_id: null, actions: null } }),
  ],
  [
    'a project’s token reaches no action of the tenant',
    'scope_mismatch tenant in_code',
    (d) => d.tenantRole('tenant_owner') && d.asks('tenant.read', { token: { tenant_id: null, project_id: d.project, actions: null } }),
  ],
  [
    'a token’s empty list reaches nothing',
    'scope_mismatch project in_code',
    (d) => d.projectRole('project_owner') && d.asks('allocation.create', { token: { tenant_id: null, project_id: null, actions: [] } }),
  ],
  [
    'an elevation needs no membership',
    'allow tenant in_code elevated',
    (d) => {
      d.rows.tenant_memberships = []
      d.elevation()
    },
  ],
  [
    'an elevation works where all is suspended',
    'allow tenant in_code elevated',
    (d) => {
      d.rows.organizations[0]!.state = 'suspended'
      d.elevation()
    },
  ],
  ['an elevation is over at its end', 'permission_denied project in_code', (d) => d.elevation({ ends_at: now })],
  [
    'an elevation is not stopped by a plain rule',
    'allow tenant in_code elevated',
    (d) => {
      d.elevation()
      d.rule({})
    },
  ],
  [
    'an elevation is stopped by a locked rule',
    'policy_constraint_denied tenant policy_values',
    (d) => {
      d.elevation()
      d.rule({}, { is_locked: true })
    },
  ],
  [
    'a suspended tenant is frozen',
    'policy_constraint_denied tenant in_code',
    (d) => {
      d.projectRole('project_owner')
      d.rows.organizations[0]!.state = 'suspended'
      d.rows.projects[0]!.state = 'archived'
    },
  ],
  [
    'an archived project is frozen',
    'policy_constraint_denied project in_code',
    (d) => {
      d.projectRole('project_owner')
      d.rows.projects[0]!.state = 'archived'
      d.rule({})
    },
  ],
  [
    'what is frozen can be read',
    'allow project in_code',
    (d) => {
      d.asks('allocation.read')
      d.projectRole('project_owner')
      d.rows.organizations[0]!.state = 'suspended'
    },
  ],
  [
    'in a deleted tenant nobody is a member',
    'membership_missing project in_code',
    (d) => {
      d.projectRole('project_owner')
      d.rows.organizations[0]!.deleted_at = now
    },
  ],
  [
    'a project that lies elsewhere lies nowhere',
    'membership_missing project in_code',
    (d) => d.projectRole('project_owner') && d.asks('allocation.create', { tenant_id: d.other }),
  ],
  [
    'a project brings its tenant along',
    'allow project in_code',
    (d) => d.projectRole('project_owner') && d.asks('allocation.create', { tenant_id: null }),
  ],
  [
    'a narrower disabled rule is an exemption',
    'allow project in_code',
    (d) => {
      d.projectRole('project_owner')
      d.rule({}, { key: 'same' })
      d.rule({}, { key: 'same', state: 'disabled', ...inProject(d) })
    },
  ],
  [
    'from a locked rule nobody is exempted',
    'policy_constraint_denied tenant policy_values',
    (d) => {
      d.projectRole('project_owner')
      d.rule({}, { key: 'same', is_locked: true })
      d.rule({}, { key: 'same', state: 'disabled', ...inProject(d) })
    },
  ],
  [
    'a rule is chosen by key before it is asked what it covers',
    'allow project in_code',
    (d) => {
      d.projectRole('project_owner')
      d.rule({}, { key: 'same' })
      d.rule({}, { key: 'same', actions: ['storage.read'], ...inProject(d) })
    },
  ],
  [
    'what cannot be judged denies',
    'policy_constraint_denied tenant policy_values',
    (d) => {
      d.projectRole('project_owner')
      d.rule({ in: { region: ['eu-1'] } })
    },
  ],
  [
    'one false test settles it',
    'allow project in_code',
    (d) => {
      d.projectRole('project_owner')
      d.rule({ present: ['sku'], in: { sku: ['h100'] } })
    },
  ],
  [
    'not of unknown is unknown',
    'policy_constraint_denied tenant policy_values',
    (d) => {
      d.projectRole('project_owner')
      d.rule({ not: { in: { sku: ['h100'] } } })
    },
  ],
  [
    'an IPv4 address written as IPv6 is that IPv4 address',
    'policy_constraint_denied tenant policy_values',
    (d) => {
      d.projectRole('project_owner')
      d.question.attributes = { source_ip: '::ffff:10.0.0.1' }
      d.rule({ within: { source_ip: ['10.0.0.0/8'] } })
    },
  ],
  [
    'an IPv4 address lies in no IPv6 range',
    'allow project in_code',
    (d) => {
      d.projectRole('project_owner')
      d.question.attributes = { source_ip: '10.0.0.1' }
      d.rule({ within: { source_ip: ['::/0'] } })
    },
  ],
  [
    'hours may cross midnight, in the rule’s own zone',
    'policy_constraint_denied tenant policy_values',
    (d) => {
      d.projectRole('project_owner')
      d.question.attributes = { time: '2026-06-01T20:30:00Z' }
      d.rule({ between: { minute_of_day: [22 * 60, 6 * 60] }, in: { weekday: [1] } }, { time_zone: 'Europe/Berlin' })
    },
  ],
  [
    'equal hours are none',
    'allow project in_code',
    (d) => {
      d.projectRole('project_owner')
      d.rule({ between: { minute_of_day: [720, 720] } })
    },
  ],
  ['a service account may what its role gives and is fit for it', 'allow project in_code', (d) => d.robot('project_member')],
  [
    'a service account has of its role nothing that is not fit for it',
    'permission_denied project in_code',
    (d) => d.asks('project.access_grant.read') && d.robot('project_member'),
  ],
  [
    'a service account asks nothing of the tenant',
    'scope_mismatch tenant in_code',
    (d) => d.asks('tenant.read') && d.robot('project_member'),
  ],
  ['a service account reads its own project’s record', 'allow tenant in_code', (d) => d.asks('project.read') && d.robot()],
  [
    'a service account turns its key into a token without any role',
    'allow project in_code',
    (d) => d.asks('auth.token.issue') && d.robot(),
  ],
  [
    'what comes with being a service account counts in its project alone',
    'scope_mismatch project in_code',
    (d) => d.asks('auth.token.issue') && d.robot(undefined, { project_id: d.other }),
  ],
  [
    'a service account in another project is out of its scope',
    'scope_mismatch project in_code',
    (d) => d.robot('project_member', { project_id: d.other }),
  ],
  ['a disabled service account is disabled', 'actor_disabled global in_code', (d) => d.robot('project_member', { state: 'disabled' })],
  ['a deleted service account is nobody', 'actor_disabled global in_code', (d) => d.robot('project_member', { state: 'deleted' })],
  ['an operator reads its own runtime', 'allow tenant in_code', (d) => d.operator('tenant.shared_runtime.read')],
  [
    'an operator reaches no other runtime',
    'scope_mismatch tenant in_code',
    (d) => d.operator('tenant.shared_runtime.read') && d.asks('shared_runtime.report', { resource_id: d.other }),
  ],
  [
    'an operator has no token for another runtime',
    'scope_mismatch tenant in_code',
    (d) => d.operator('shared_runtime.token.issue') && d.asks('shared_runtime.token.issue', { resource_id: d.other }),
  ],
  ['an operator cannot list people', 'permission_denied tenant in_code', (d) => d.operator('tenant.user.read')],
  [
    'an operator sees nothing of a project that is not attached',
    'membership_missing tenant in_code',
    (d) => d.operator('shared_runtime.allocation.read', {}, d.project),
  ],
  ['the platform needs no attachment', 'permission_denied global in_code', (d) => d.operator('platform.ops.read', {}, d.project)],
  ['attaching must be delegated', 'permission_denied tenant in_code', (d) => d.operator('shared_runtime.attach', {}, d.project)],
  [
    'what is delegated is for projects on the list',
    'membership_missing tenant in_code',
    (d) => d.operator('shared_runtime.attach', { delegated_actions: ['attach'] }, d.project),
  ],
  [
    'an operator attaches what is on its list',
    'allow tenant in_code',
    (d) => d.operator('shared_runtime.attach', { delegated_actions: ['attach'], eligible_project_ids: [d.project] }, d.project),
  ],
  [
    'a disabled runtime’s operator is disabled',
    'actor_disabled global in_code',
    (d) => d.operator('shared_runtime.report', { state: 'disabled' }),
  ],
]
