import { inserting, type Tables } from './spelled.ts'

/** Beside the two that are there: one has a project and a member, the other has nothing. */
const sharedRuntime = (changed: Record<string, string> = {}) =>
  inserting('shared_app_runtimes', {
    ...{ id: ':new', org_id: ':aurora', app_slug: `'slurm'`, app_version: `'1'`, display_name: `'Other'`, runtime_backend: `'slurm'` },
    ...{ created_at: 'now()', created_by: ':ada', updated_at: 'now()' },
    ...changed,
  })
const attachment = (changed: Record<string, string> = {}) =>
  inserting('shared_runtime_attachments', {
    ...{ id: ':new', shared_runtime_id: ':runtime_2', org_id: ':aurora', project_id: ':training', contribution_policy: `'all'` },
    ...{ created_at: 'now()', created_by_type: `'user'`, created_by: ':ada', updated_at: 'now()' },
    ...changed,
  })
const detached = { detached_at: 'now()', detached_by_type: `'user'`, detached_by: ':ada', detach_reason: `'x'` }
const runtimeMember = (changed: Record<string, string> = {}) =>
  inserting('shared_runtime_members', {
    ...{ shared_runtime_id: ':runtime', name: `'other'`, role: `'worker'`, state: `'ready'`, reported_at: 'now()' },
    ...changed,
  })
const ofRuntime = { id: ':new', shared_runtime_id: ':runtime', epoch: '1', created_at: 'now()', created_by: ':ada' }
const operatorCredential = (changed: Record<string, string> = {}) =>
  inserting('shared_runtime_operator_credentials', {
    ...{ ...ofRuntime, salt: `decode(repeat('00', 16), 'hex')`, secret_hash: `decode(repeat('00', 32), 'hex')` },
    ...changed,
  })
const runtimeCredential = (changed: Record<string, string> = {}) =>
  inserting('shared_runtime_credentials', {
    ...{ ...ofRuntime, org_id: ':aurora', name: `'other'`, version: '1', envelope: `'{}'`, state: `'active'` },
    ...changed,
  })
const revokedCredential = { state: `'revoked'`, envelope: 'null', revoked_at: 'now()', revoked_by: ':ada', revoke_reason: `'x'` }
const delivery = (changed: Record<string, string> = {}) =>
  inserting('wrapped_deliveries', {
    ...{ id: ':new', kind: `'shared_runtime_credential'`, subject_id: ':new', org_id: ':aurora' },
    ...{ requester_type: `'shared_runtime_operator'`, requester_id: ':runtime', token_hash: `decode(repeat('01', 32), 'hex')`, epoch: '1' },
    ...{ created_at: 'now()', ends_at: `now() + interval '1 minute'`, state_since: 'now()' },
    ...changed,
  })

export const sharedRuntimes: Tables = {
  names: [
    'shared_app_runtimes',
    'shared_runtime_attachments',
    'shared_runtime_members',
    'shared_runtime_operator_credentials',
    'shared_runtime_credentials',
    'wrapped_deliveries',
  ],
  world: `
  ${sharedRuntime({ id: ':runtime', display_name: `'Runtime'` })};
  ${sharedRuntime({ id: ':runtime_2', display_name: `'Second'` })};
  ${attachment({ shared_runtime_id: ':runtime' })};
  ${runtimeMember({ name: `'member'` })};
  ${runtimeCredential({ name: `'left'` })};
  ${operatorCredential()};
  ${delivery({ token_hash: `decode(repeat('02', 32), 'hex')` })};`,
  refused: [
    ['MI-01', 'two runtimes of one name', 'shared_runtime_already_exists', sharedRuntime({ display_name: `'Runtime'` })],
    ['MI-01', 'a runtime of an app with a bad slug', 'shared_app_runtimes_app_slug_check', sharedRuntime({ app_slug: `'x_x'` })],
    ['MI-01', 'a runtime of no version', 'shared_app_runtimes_app_version_check', sharedRuntime({ app_version: `''` })],
    ['MI-01', 'a runtime without a name', 'shared_app_runtimes_display_name_check', sharedRuntime({ display_name: `''` })],
    [
      'MI-01',
      'a runtime that several tenants share',
      'shared_app_runtimes_operating_mode_check',
      sharedRuntime({ operating_mode: `'multi_tenant'` }),
    ],
    [
      'MI-01',
      'a runtime that is controlled from elsewhere',
      'shared_app_runtimes_control_plane_scope_check',
      sharedRuntime({ control_plane_scope: `'platform'` }),
    ],
    ['MI-01', 'a backend that there is not', 'shared_app_runtimes_runtime_backend_check', sharedRuntime({ runtime_backend: `'cron'` })],
    ['MI-01', 'a placement that is no object', 'shared_app_runtimes_placement_intent_check', sharedRuntime({ placement_intent: `'[]'` })],
    [
      'MI-05',
      'something delegated that nobody can delegate',
      'shared_app_runtimes_delegated_actions_check',
      sharedRuntime({ delegated_actions: `'{delete}'` }),
    ],
    [
      'MI-05',
      'more projects to attach than one may name',
      'shared_app_runtimes_eligible_project_ids_check',
      sharedRuntime({ eligible_project_ids: 'array(select gen_random_uuid() from generate_series(1, 201))' }),
    ],
    [
      'MI-05',
      'a contribution that nobody can let it say',
      'shared_app_runtimes_delegated_contribution_policy_check',
      sharedRuntime({ delegated_contribution_policy: `'most'` }),
    ],
    ['MI-01', 'a runtime of version nothing', 'shared_app_runtimes_version_check', sharedRuntime({ version: '0' })],
    ['MI-01', 'an unknown state of a runtime', 'shared_app_runtimes_state_check', sharedRuntime({ state: `'asleep'` })],
    [
      'MI-04',
      'an unknown state that was reported',
      'shared_app_runtimes_reported_state_check',
      sharedRuntime({ reported_state: `'disabled'` }),
    ],
    [
      'MI-04',
      'a report that is a story',
      'shared_app_runtimes_reported_message_check',
      sharedRuntime({ reported_message: `repeat('x', 501)` }),
    ],
    ['MI-04', 'a report before the first', 'shared_app_runtimes_reported_sequence_check', sharedRuntime({ reported_sequence: '-1' })],
    ['MI-04', 'members before the first', 'shared_app_runtimes_members_sequence_check', sharedRuntime({ members_sequence: '-1' })],
    ['MI-07', 'cursors that are not counted', 'shared_app_runtimes_cursor_version_check', sharedRuntime({ cursor_version: '0' })],
    ['MI-07', 'a runtime disabled by nobody', 'shared_app_runtimes_disabled_whole', sharedRuntime({ state: `'disabled'` })],
    [
      'MI-07',
      'a running runtime with the marks of a disabled one',
      'shared_app_runtimes_disabled_whole',
      sharedRuntime({ disabled_at: 'now()', disabled_by: ':ada', disable_reason: `'x'` }),
    ],
    ['MI-07', 'a runtime deleted by nobody', 'shared_app_runtimes_end_whole', sharedRuntime({ state: `'deleted'` })],
    ['MI-01', 'a project attached twice', 'attachment_already_exists', attachment({ shared_runtime_id: ':runtime' })],
    [
      'MI-01',
      'a contribution that there is not',
      'shared_runtime_attachments_contribution_policy_check',
      attachment({ contribution_policy: `'most'` }),
    ],
    [
      'MI-05',
      'a project attached by a service account',
      'shared_runtime_attachments_created_by_type_check',
      attachment({ created_by_type: `'service_account'` }),
    ],
    [
      'MI-05',
      'a project detached by a service account',
      'shared_runtime_attachments_detached_by_type_check',
      attachment({ ...detached, detached_by_type: `'service_account'` }),
    ],
    [
      'MI-07',
      'a project detached without a reason',
      'shared_runtime_attachments_end_whole',
      attachment({ ...detached, detach_reason: 'null' }),
    ],
    [
      'MI-01',
      'a runtime of another tenant',
      'shared_runtime_attachments_runtime',
      attachment({ org_id: ':borealis', project_id: ':inference' }),
    ],
    ['MI-01', 'a project of another tenant', 'shared_runtime_attachments_project', attachment({ project_id: ':inference' })],
    ['MI-04', 'a member without a name', 'shared_runtime_members_name_check', runtimeMember({ name: `''` })],
    ['MI-04', 'a member without a role', 'shared_runtime_members_role_check', runtimeMember({ role: `''` })],
    ['MI-04', 'an unknown state of a member', 'shared_runtime_members_state_check', runtimeMember({ state: `'asleep'` })],
    ['MI-02', 'a secret with little salt', 'shared_runtime_operator_credentials_salt_check', operatorCredential({ salt: `'salt'` })],
    [
      'MI-02',
      'a secret of an operator kept as it is',
      'shared_runtime_operator_credentials_secret_hash_check',
      operatorCredential({ secret_hash: `'ghro_'` }),
    ],
    ['MI-02', 'a credential of no epoch', 'shared_runtime_operator_credentials_epoch_check', operatorCredential({ epoch: '0' })],
    [
      'MI-02',
      'a credential of an operator revoked by nobody',
      'operator_credentials_revoked_whole',
      operatorCredential({ revoked_at: 'now()', revoke_reason: `'x'` }),
    ],
    ['MI-11', 'two secrets of one name', 'shared_runtime_credentials_one', runtimeCredential({ name: `'left'` })],
    ['MI-11', 'a secret with a bad name', 'shared_runtime_credentials_name_check', runtimeCredential({ name: `'Left'` })],
    ['MI-11', 'a version before the first', 'shared_runtime_credentials_version_check', runtimeCredential({ version: '0' })],
    ['MI-11', 'a secret of no epoch', 'shared_runtime_credentials_epoch_check', runtimeCredential({ epoch: '0' })],
    ['MI-11', 'an unknown state of a secret', 'shared_runtime_credentials_state_check', runtimeCredential({ state: `'lost'` })],
    ['MI-11', 'a secret without its envelope', 'shared_runtime_credentials_states', runtimeCredential({ envelope: 'null' })],
    [
      'MI-11',
      'a secret that was taken back and is still there',
      'shared_runtime_credentials_states',
      runtimeCredential({ ...revokedCredential, envelope: `'{}'` }),
    ],
    [
      'MI-11',
      'a secret taken back by nobody',
      'shared_runtime_credentials_states',
      runtimeCredential({ ...revokedCredential, revoked_by: 'null' }),
    ],
    ['MI-11', 'a secret delivered at no time', 'shared_runtime_credentials_states', runtimeCredential({ state: `'delivered'` })],
    ['MI-11', 'one token for two deliveries', 'wrapped_deliveries_by_token', delivery({ token_hash: `decode(repeat('02', 32), 'hex')` })],
    ['MI-11', 'a delivery of an unknown kind', 'wrapped_deliveries_kind_check', delivery({ kind: `'parcel'` })],
    ['MI-11', 'a delivery for somebody unknown', 'wrapped_deliveries_requester_type_check', delivery({ requester_type: `'anybody'` })],
    ['MI-11', 'a token kept as it is', 'wrapped_deliveries_token_hash_check', delivery({ token_hash: `'ghwd_'` })],
    ['MI-11', 'a delivery of no epoch', 'wrapped_deliveries_epoch_check', delivery({ epoch: '0' })],
    ['MI-11', 'a delivery that ends before it begins', 'wrapped_deliveries_check', delivery({ ends_at: 'now()' })],
    ['MI-11', 'an unknown state of a delivery', 'wrapped_deliveries_state_check', delivery({ state: `'lost'` })],
  ],
  allowed: [
    [
      'a project attached again after it was detached, and to several runtimes',
      `update shared_runtime_attachments set detached_at = now(), detached_by_type = 'user', detached_by = :ada, detach_reason = 'x';
     ${attachment()}; ${attachment({ shared_runtime_id: ':runtime' })}`,
    ],
    [
      'the name of a secret again when it was taken back, and for another runtime',
      `${runtimeCredential({ name: `'left'`, shared_runtime_id: ':runtime_2' })}; ${runtimeCredential({ name: `'left'`, ...revokedCredential })}`,
    ],
    [
      'the name of a runtime again when it is deleted, and in another organization',
      `${sharedRuntime({ display_name: `'Runtime'`, org_id: ':borealis' })};
     update shared_app_runtimes set state = 'deleted', deleted_at = now(), deleted_by = :ada, delete_reason = 'x' where id = :runtime;
     ${sharedRuntime({ display_name: `'Runtime'` })}`,
    ],
  ],
}
