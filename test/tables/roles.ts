import type { Tables } from './spelled.ts'

const custom = (role: string, version: string, tier: 'tenant' | 'project', scope: string, forServiceAccounts = false) => `
  insert into role_definitions (id, scope_type, ${tier}_id, name, is_builtin, is_assignable_to_service_accounts, current_version_id, created_at)
    values (:${role}, '${tier}', :${scope}, '${role}', false, ${forServiceAccounts}, :${version}, now());
  insert into role_definition_versions (id, role_definition_id, version, created_at) values (:${version}, :${role}, 1, now());`
const role = (scope: string, owner: string, name: string, more = '', values = '') => `
  insert into role_definitions (id, scope_type, tenant_id, project_id, name, is_builtin, current_version_id, created_at${more})
    values (:nowhere, '${scope}', ${owner}, '${name}', false, :auditor_2, now()${values});
  insert into role_definition_versions (id, role_definition_id, version, created_at) values (:auditor_2, :nowhere, 1, now())`
const builtin = (scope: string, owner: string) => role(scope, owner, 'new-builtin').replace('false', 'true')
const platformBinding = (principal: string, role_id: string, type = 'user') =>
  `insert into platform_role_bindings (id, principal_type, principal_id, role_definition_id, created_at) values (:new, '${type}', :${principal}, :${role_id}, now())`
export const tenantBinding = (tenant: string, principal: string, version: string, type = 'user') =>
  `insert into tenant_role_bindings (id, tenant_id, principal_type, principal_id, role_version_id, created_at) values (:new, :${tenant}, '${type}', :${principal}, :${version}, now())`
export const projectBinding = (of: string, principal: string, version: string, type = 'user') =>
  `insert into project_role_bindings (id, project_id, principal_type, principal_id, role_version_id, created_at) values (:new, :${of}, '${type}', :${principal}, :${version}, now())`

const ended = (role_id: string) =>
  `update role_definitions set deleted_at = now(), deleted_by_user_id = :ada, delete_reason = 'x' where id = :${role_id}`
const disabled = (role_id: string) =>
  `update role_definitions set state = 'disabled', disable_mode = 'block_all_now' where id = :${role_id}`
const bindingsEnded = (tier: 'tenant' | 'project') => `update ${tier}_role_bindings set deleted_at = now(), delete_reason = 'x'`
const bornEnded = (binding: string) =>
  binding.replace('created_at)', 'created_at, deleted_at, delete_reason)').replace('now())', "now(), now(), 'x')")

export const roles: Tables = {
  names: [
    'role_definitions',
    'role_definition_versions',
    'role_permissions',
    'platform_role_bindings',
    'tenant_role_bindings',
    'project_role_bindings',
  ],
  world: `
  ${custom('auditor', 'auditor_1', 'tenant', 'aurora')}
  ${custom('stranger', 'stranger_1', 'tenant', 'borealis')}
  ${custom('builder', 'builder_1', 'project', 'training')}
  ${custom('robot', 'robot_1', 'project', 'training', true)}
  insert into role_permissions (role_version_id, permission_key) values (:auditor_1, 'tenant.audit.read');
  insert into platform_role_bindings (id, principal_type, principal_id, role_definition_id, created_at)
    values (:new, 'user', :ada, :superadmin, now());
  insert into tenant_role_bindings (id, tenant_id, principal_type, principal_id, role_version_id, created_at)
    values (:new, :aurora, 'user', :ada, :auditor_1, now());
  insert into project_role_bindings (id, project_id, principal_type, principal_id, role_version_id, created_at)
    values (:new, :training, 'user', :ada, :builder_1, now());`,
  refused: [
    ['RP-27', 'a tier that there is not', 'role_definitions_scope_type_check', builtin('region', 'null, null')],
    ['RP-27', 'a role with a bad name', 'role_definitions_name_check', role('tenant', ':aurora, null', 'Bad Name')],
    ['RP-27', 'an unknown state of a role', 'role_definitions_state_check', role('tenant', ':aurora, null', 'x', ', state', ", 'gone'")],
    ['RP-27', 'a custom tenant role without its tenant', 'role_definitions_owner', role('tenant', 'null, null', 'x')],
    ['RP-27', 'a custom project role without its project', 'role_definitions_owner', role('project', 'null, null', 'x')],
    ['RP-27', 'a custom role of two owners', 'role_definitions_owner', role('project', ':aurora, :training', 'x')],
    ['RP-27', 'a custom tenant role owned by a project', 'role_definitions_owner', role('tenant', 'null, :training', 'x')],
    ['RP-27', 'a custom platform role', 'role_definitions_owner', role('platform', 'null, null', 'x')],
    ['RP-27', 'a built-in with an owner', 'role_definitions_owner', builtin('tenant', ':aurora, null')],
    ['RP-27', 'a custom role in a tenant that there is not', 'role_definitions_tenant_id_fkey', role('tenant', ':nowhere, null', 'x')],
    ['RP-27', 'a custom role in a project that there is not', 'role_definitions_project_id_fkey', role('project', 'null, :nowhere', 'x')],
    [
      'RP-27',
      'a tenant role for service accounts',
      'role_definitions_service_accounts',
      role('tenant', ':aurora, null', 'x', ', is_assignable_to_service_accounts', ', true'),
    ],
    [
      'RP-27',
      'a built-in deleted',
      'role_definitions_builtin_stays',
      `update role_definitions set deleted_at = now(), deleted_by_user_id = :ada, delete_reason = 'x' where id = :tenant_owner`,
    ],
    ['RP-27', 'a role half deleted', 'role_definitions_end_whole', 'update role_definitions set deleted_at = now() where id = :auditor'],
    ['RP-27', 'a custom name twice in one scope', 'role_already_exists', role('tenant', ':aurora, null', 'auditor')],
    [
      'RP-27',
      'a description of nothing',
      'role_definitions_description_check',
      `update role_definitions set description = '' where id = :auditor`,
    ],
    [
      'RP-13',
      'an unknown way to disable a role',
      'role_definitions_disable_mode_check',
      `update role_definitions set state = 'disabled', disable_mode = 'slowly' where id = :auditor`,
    ],
    [
      'RP-13',
      'an active role with a way in which it is disabled',
      'role_definitions_disabled_whole',
      `update role_definitions set disable_mode = 'block_all_now' where id = :auditor`,
    ],
    [
      'RP-14',
      'a grace without an end',
      'role_definitions_disabled_whole',
      `update role_definitions set state = 'disabled', disable_mode = 'block_new_only' where id = :auditor`,
    ],
    [
      'RP-13',
      'a grace for what is blocked at once',
      'role_definitions_disabled_whole',
      `update role_definitions set state = 'disabled', disable_mode = 'block_all_now', grace_until = now() where id = :auditor`,
    ],
    [
      'RP-16',
      'an active role that the platform has disabled',
      'role_definitions_disabled_whole',
      'update role_definitions set is_disabled_by_platform = true where id = :auditor',
    ],
    [
      'RP-22',
      'two versions of one role for one person in a tenant',
      'tenant_role_bindings_one_per_role',
      `insert into role_definition_versions (id, role_definition_id, version, created_at) values (:auditor_2, :auditor, 2, now()); ${tenantBinding('aurora', 'ada', 'auditor_2')}`,
    ],
    [
      'RP-22',
      'two versions of one role for one person in a project',
      'project_role_bindings_one_per_role',
      `insert into role_definition_versions (id, role_definition_id, version, created_at) values (:auditor_2, :builder, 2, now()); ${projectBinding('training', 'ada', 'auditor_2')}`,
    ],
    [
      'RP-20',
      'an owner of a tenant until some day',
      'role_not_assignable',
      tenantBinding('aurora', 'bob', 'v_tenant_owner').replace('created_at)', 'created_at, expires_at)').replace('now())', 'now(), now())'),
    ],
    [
      'RP-20',
      'an owner of a project until some day',
      'role_not_assignable',
      projectBinding('training', 'bob', 'v_project_owner')
        .replace('created_at)', 'created_at, expires_at)')
        .replace('now())', 'now(), now())'),
    ],
    [
      'RP-27',
      'a built-in name twice',
      'role_definitions_one_builtin',
      builtin('tenant', 'null, null').replace('new-builtin', 'tenant_owner'),
    ],
    [
      'RP-27',
      'a current version of another definition',
      'role_definitions_current_version',
      'update role_definitions set current_version_id = :stranger_1 where id = :auditor',
    ],
    [
      'RP-27',
      'a current version that there is not',
      'role_definitions_current_version',
      'update role_definitions set current_version_id = :nowhere where id = :auditor',
    ],
    [
      'RP-27',
      'a current version taken away',
      'role_definitions_current_version',
      'delete from role_permissions where role_version_id = :robot_1; delete from role_definition_versions where id = :robot_1',
    ],
    [
      'RP-27',
      'a version of no definition',
      'role_definition_versions_role_definition_id_fkey',
      'insert into role_definition_versions (id, role_definition_id, version, created_at) values (:new, :nowhere, 1, now())',
    ],
    [
      'RP-27',
      'a version number twice',
      'role_definition_versions_once',
      'insert into role_definition_versions (id, role_definition_id, version, created_at) values (:new, :auditor, 1, now())',
    ],
    [
      'RP-27',
      'a version number below one',
      'role_definition_versions_version_check',
      'insert into role_definition_versions (id, role_definition_id, version, created_at) values (:new, :auditor, 0, now())',
    ],
    [
      'RP-27',
      'a permission that denies',
      'role_permissions_effect_check',
      `insert into role_permissions (role_version_id, permission_key, effect) values (:auditor_1, 'tenant.read', 'deny')`,
    ],
    [
      'RP-27',
      'a permission key with a wildcard',
      'role_permissions_permission_key_check',
      `insert into role_permissions (role_version_id, permission_key) values (:auditor_1, 'tenant.*')`,
    ],
    [
      'RP-27',
      'a permission of no version',
      'role_permissions_role_version_id_fkey',
      `insert into role_permissions (role_version_id, permission_key) values (:nowhere, 'tenant.read')`,
    ],
    [
      'RP-27',
      'a permission twice in one version',
      'role_permissions_pkey',
      `insert into role_permissions (role_version_id, permission_key) values (:auditor_1, 'tenant.audit.read')`,
    ],

    ['RP-27', 'an active platform binding twice', 'platform_role_bindings_one_active', platformBinding('ada', 'superadmin')],
    ['RP-27', 'a platform binding of nobody', 'platform_role_bindings_principal_id_fkey', platformBinding('nowhere', 'superadmin')],
    ['RP-27', 'a platform binding to no role', 'role_not_assignable', platformBinding('bob', 'nowhere')],
    ['RP-27', 'a platform binding to a tenant role', 'role_not_assignable', platformBinding('bob', 'tenant_owner')],
    ['RP-27', 'a platform binding to a custom role', 'role_not_assignable', platformBinding('bob', 'auditor')],
    ['RP-27', 'a platform binding of a service account', 'role_not_assignable', platformBinding('ada', 'superadmin', 'service_account')],
    [
      'RP-27',
      'a platform binding of a group',
      'platform_role_bindings_principal_type_check',
      platformBinding('ada', 'superadmin', 'group'),
    ],
    [
      'RP-27',
      'a platform binding ended without a reason',
      'platform_role_bindings_end_whole',
      'update platform_role_bindings set deleted_at = now()',
    ],
    ['RP-27', 'an active tenant binding twice', 'tenant_role_bindings_one_per_role', tenantBinding('aurora', 'ada', 'auditor_1')],
    ['RP-27', 'a tenant binding of nobody', 'tenant_role_bindings_principal_id_fkey', tenantBinding('aurora', 'nowhere', 'auditor_1')],
    ['RP-27', 'a tenant binding in no tenant', 'tenant_role_bindings_tenant_id_fkey', tenantBinding('nowhere', 'bob', 'v_tenant_owner')],
    ['RP-27', 'a tenant binding to no version', 'role_not_assignable', tenantBinding('aurora', 'bob', 'nowhere')],
    ['RP-27', 'a tenant binding to a project role', 'role_not_assignable', tenantBinding('aurora', 'bob', 'v_project_owner')],
    ['RP-27', 'a tenant binding to a platform role', 'role_not_assignable', tenantBinding('aurora', 'bob', 'v_superadmin')],
    ['RP-27', "a tenant binding to another tenant's custom role", 'role_not_assignable', tenantBinding('aurora', 'bob', 'stranger_1')],
    [
      'RP-27',
      'a tenant binding of a service account',
      'role_not_assignable',
      tenantBinding('aurora', 'sa', 'v_tenant_owner', 'service_account'),
    ],
    [
      'RP-27',
      'a tenant binding of a group',
      'tenant_role_bindings_principal_type_check',
      tenantBinding('aurora', 'ada', 'auditor_1', 'group'),
    ],
    [
      'RP-27',
      'a tenant binding ended without a reason',
      'tenant_role_bindings_end_whole',
      'update tenant_role_bindings set deleted_at = now()',
    ],
    [
      'RP-27',
      "a tenant binding moved to another tenant's role",
      'role_not_assignable',
      'update tenant_role_bindings set role_version_id = :stranger_1',
    ],
    [
      'RP-27',
      'a binding moved to another tenant with its role',
      'role_not_assignable',
      'update tenant_role_bindings set tenant_id = :borealis',
    ],
    ['RP-27', 'an active project binding twice', 'project_role_bindings_one_per_role', projectBinding('training', 'ada', 'builder_1')],
    [
      'RP-27',
      'a project binding in no project',
      'project_role_bindings_project_id_fkey',
      projectBinding('nowhere', 'bob', 'v_project_owner'),
    ],
    ['RP-27', 'a project binding to no version', 'role_not_assignable', projectBinding('training', 'bob', 'nowhere')],
    ['RP-27', 'a project binding to a tenant role', 'role_not_assignable', projectBinding('training', 'bob', 'v_tenant_owner')],
    ['RP-27', "a project binding to another project's role", 'role_not_assignable', projectBinding('inference', 'bob', 'builder_1')],
    ['RP-27', "a project binding to its tenant's custom role", 'role_not_assignable', projectBinding('training', 'bob', 'auditor_1')],
    [
      'RP-27',
      'a service account as project_owner',
      'role_not_assignable',
      projectBinding('training', 'sa', 'v_project_owner', 'service_account'),
    ],
    [
      'RP-27',
      'a service account with a custom role not meant for it',
      'role_not_assignable',
      projectBinding('training', 'sa', 'builder_1', 'service_account'),
    ],
    [
      'RP-12',
      'a binding to a role that has ended',
      'role_not_assignable',
      `${ended('builder')}; ${projectBinding('training', 'bob', 'builder_1')}`,
    ],
    [
      'RP-13',
      'a binding to a role that is disabled',
      'role_not_assignable',
      `${disabled('builder')}; ${projectBinding('training', 'bob', 'builder_1')}`,
    ],
    [
      'RP-13',
      'a founder as owner while that role is disabled',
      'role_not_assignable',
      `${disabled('tenant_owner')}; ${tenantBinding('aurora', 'bob', 'v_tenant_owner')}`,
    ],
    [
      'HO-09',
      'an ended binding brought back when its role has ended',
      'role_not_assignable',
      `${bindingsEnded('project')}; ${ended('builder')}; update project_role_bindings set deleted_at = null, delete_reason = null`,
    ],
    ['HO-09', 'an ended binding of the wrong tier', 'role_not_assignable', bornEnded(tenantBinding('aurora', 'bob', 'v_project_owner'))],
    [
      'RP-27',
      'a project binding of a group',
      'project_role_bindings_principal_type_check',
      projectBinding('training', 'ada', 'builder_1', 'group'),
    ],
    [
      'RP-27',
      'a project binding ended without a reason',
      'project_role_bindings_end_whole',
      'update project_role_bindings set deleted_at = now()',
    ],
    ['RP-27', 'a project binding of nobody', 'project_role_bindings_user', projectBinding('training', 'nowhere', 'v_project_viewer')],
    [
      'RP-23',
      'a project binding of a service account that is not there',
      'project_role_bindings_service_account',
      projectBinding('training', 'ada', 'v_project_viewer', 'service_account'),
    ],
    [
      'RP-23',
      "a project binding of another project's service account",
      'project_role_bindings_service_account',
      projectBinding('inference', 'sa', 'v_project_viewer', 'service_account'),
    ],
  ],
  allowed: [
    ['HO-09 the end of a binding whose role has ended', `${ended('builder')}; ${bindingsEnded('project')}`],
    ['HO-09 the end of a binding whose role is disabled', `${disabled('auditor')}; ${bindingsEnded('tenant')}`],
    [
      'HO-09 the end of a binding of an account whose role is for accounts no longer',
      `${projectBinding('training', 'sa', 'robot_1', 'service_account')}; update role_definitions set is_assignable_to_service_accounts = false where id = :robot; ${bindingsEnded('project')}`,
    ],
    [
      'HO-09 the history of a binding whose role has ended',
      `${ended('builder')}; ${bornEnded(projectBinding('training', 'bob', 'builder_1'))}`,
    ],
    [
      'a binding again after it ended',
      `update tenant_role_bindings set deleted_at = now(), delete_reason = 'x'; ${tenantBinding('aurora', 'ada', 'auditor_1')}`,
    ],
    [
      'the same built-in role in two tenants',
      `${tenantBinding('aurora', 'bob', 'v_tenant_owner')}; ${tenantBinding('borealis', 'bob', 'v_tenant_owner')}`,
    ],
    ['a service account with a built-in meant for it', projectBinding('training', 'sa', 'v_project_viewer', 'service_account')],
    ['a service account with a custom role meant for it', projectBinding('training', 'sa', 'robot_1', 'service_account')],
    ['the same custom name in another scope', role('tenant', ':borealis, null', 'auditor')],
    [
      'a custom name again when its role is deleted',
      `update role_definitions set deleted_at = now(), deleted_by_user_id = :ada, delete_reason = 'x' where id = :auditor; ${role('tenant', ':aurora, null', 'auditor')}`,
    ],
  ],
}
