import { inserting, type Tables } from './spelled.ts'

export const policyValue = (scope: string, tenant: string, of: string, key = 'test.key', version = 1) =>
  `insert into policy_values (id, key, scope_type, tenant_id, project_id, value, version, created_at) values (:new, '${key}', '${scope}', ${tenant}, ${of}, '1', ${version}, now())`
export const constraint = (scope: string, tenant: string, of: string, changed: Record<string, string> = {}) =>
  inserting('policy_constraints', {
    ...{ scope_type: `'${scope}'`, tenant_id: tenant, project_id: of, constraint_id: ':new', version: '1', key: `'night'` },
    ...{
      actions: `'{allocation.create}'`,
      condition: `'{}'`,
      time_zone: `'UTC'`,
      is_locked: 'true',
      state: `'active'`,
      created_at: 'now()',
    },
    ...changed,
  })
const tenantConstraint = (changed: Record<string, string>) => constraint('tenant', ':aurora', 'null', changed)

export const policies: Tables = {
  names: ['policy_definitions', 'policy_values', 'policy_constraints'],
  world: `
  insert into policy_definitions (key, type, purpose, scopes, direction) values ('test.key', 'integer', 'A test.', '{global,tenant,project}', 'most_specific');
  insert into policy_values (id, key, scope_type, value, version, created_at) values (:new, 'test.key', 'global', '1', 1, now());
  ${constraint('global', 'null', 'null', { constraint_id: ':rule' })};`,
  refused: [
    [
      '',
      'a policy of an unknown type',
      'policy_definitions_type_check',
      `update policy_definitions set type = 'text' where key = 'test.key'`,
    ],
    [
      '',
      'a policy with a bad key',
      'policy_definitions_key_check',
      `insert into policy_definitions values ('Key', 'integer', 'x', null, '{}', '{}', 'global')`,
    ],
    [
      '',
      'a policy of an unknown scope',
      'policy_definitions_scopes_check',
      `update policy_definitions set scopes = '{region}' where key = 'test.key'`,
    ],
    [
      '',
      'a policy of an unknown direction',
      'policy_definitions_direction_check',
      `update policy_definitions set direction = 'up' where key = 'test.key'`,
    ],
    ['', 'two current values of one key at one scope', 'policy_values_one_current', policyValue('global', 'null', 'null')],
    [
      '',
      'two values of one version',
      'policy_values_version_once',
      policyValue('global', 'null', 'null').replace('created_at)', 'created_at, replaced_at)').replace(', now())', ', now(), now())'),
    ],
    ['', 'a global value with a tenant', 'policy_values_scope', policyValue('global', ':aurora', 'null')],
    ['', "a tenant's value without its tenant", 'policy_values_scope', policyValue('tenant', 'null', 'null')],
    ['', "a project's value with a tenant", 'policy_values_scope', policyValue('project', ':aurora', ':training')],
    ['', 'a value at an unknown scope', 'policy_values_scope_type_check', policyValue('region', 'null', ':training')],
    ['', 'a value of an undefined key', 'policy_values_key_fkey', policyValue('global', 'null', 'null', 'no.such')],
    ['', 'a version of a value below one', 'policy_values_version_check', policyValue('tenant', ':aurora', 'null', 'test.key', 0)],

    ['DE-10', 'a constraint that allows', 'policy_constraints_effect_check', tenantConstraint({ effect: `'allow'` })],
    ['DE-10', 'a constraint without actions', 'policy_constraints_actions_check', tenantConstraint({ actions: `'{}'` })],
    ['DE-10', 'a condition that is none', 'policy_constraints_condition_check', tenantConstraint({ condition: `'[]'` })],
    ['DE-10', 'a constraint without a zone', 'policy_constraints_time_zone_check', tenantConstraint({ time_zone: `''` })],
    ['DE-10', 'an empty description', 'policy_constraints_description_check', tenantConstraint({ description: `''` })],
    ['DE-10', 'a constraint with a bad key', 'policy_constraints_key_check', tenantConstraint({ key: `'Night'` })],
    ['DE-10', 'a constraint with a key too long', 'policy_constraints_key_check', tenantConstraint({ key: `repeat('k', 101)` })],
    ['DE-10', 'an unknown state of a constraint', 'policy_constraints_state_check', tenantConstraint({ state: `'paused'` })],
    ['DE-10', 'a version of a constraint below one', 'policy_constraints_version_check', tenantConstraint({ version: '0' })],
    ['DE-11', 'a constraint at an unknown scope', 'policy_constraints_scope_type_check', constraint('region', 'null', ':training')],
    ['DE-11', 'a global constraint with a tenant', 'policy_constraints_scope', constraint('global', ':aurora', 'null')],
    ['DE-11', "a tenant's constraint without its tenant", 'policy_constraints_scope', constraint('tenant', 'null', 'null')],
    ['DE-11', "a project's constraint with a tenant", 'policy_constraints_scope', constraint('project', ':aurora', ':training')],
    ['DE-11', 'one key twice at one scope', 'constraint_already_exists', constraint('global', 'null', 'null')],
    [
      'DE-11',
      'two current versions of one constraint',
      'policy_constraints_one_current',
      constraint('tenant', ':aurora', 'null', { constraint_id: ':rule', version: '2' }),
    ],
    [
      'DE-11',
      'a constraint half ended',
      'policy_constraints_end_whole',
      `update policy_constraints set delete_reason = 'x' where constraint_id = :rule`,
    ],
  ],
  allowed: [
    [
      'a constraint of one key at each scope',
      `${constraint('tenant', ':aurora', 'null')}; ${constraint('tenant', ':borealis', 'null')}; ${constraint('project', 'null', ':training')}`,
    ],
    [
      'a key again when its constraint has ended',
      `update policy_constraints set replaced_at = now(), delete_reason = 'x' where constraint_id = :rule; ${constraint('global', 'null', 'null')}`,
    ],
    ['a value of one key at each scope', `${policyValue('tenant', ':aurora', 'null')}; ${policyValue('project', 'null', ':training')}`],
  ],
}
