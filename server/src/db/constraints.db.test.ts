import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ClonedDatabase, cloneDatabase } from '../../../test/postgres.ts'
import { asSuperuser } from '../../../test/superuser.ts'
import { roleIdOf, roleVersionIdOf } from '../authz/catalogue.ts'
import { fixedId } from '../kernel/ids.ts'

// As the owner, past every rule of the code: what is refused here is refused whatever bug stands above it.

const id = (name: string) => fixedId('thing', name)
const nowhere = id('nowhere')
const names = {
  ...{
    ada: id('ada'),
    bob: id('bob'),
    aurora: id('aurora'),
    borealis: id('borealis'),
    training: id('training'),
    inference: id('inference'),
  },
  ...{
    auditor: id('auditor'),
    auditor_1: id('auditor_1'),
    auditor_2: id('auditor_2'),
    stranger: id('stranger'),
    stranger_1: id('stranger_1'),
  },
  ...{
    builder: id('builder'),
    builder_1: id('builder_1'),
    robot: id('robot'),
    robot_1: id('robot_1'),
    sa: id('sa'),
    nowhere,
    allocation: id('allocation'),
    machine: id('machine'),
    host: id('host'),
    rule: id('rule'),
    offer: id('offer'),
    runtime: id('runtime'),
    runtime_2: id('runtime_2'),
  },
  ...{ superadmin: roleIdOf('platform_superadmin'), tenant_owner: roleIdOf('tenant_owner') },
  ...{ v_superadmin: roleVersionIdOf('platform_superadmin'), v_tenant_owner: roleVersionIdOf('tenant_owner') },
  ...{ v_project_owner: roleVersionIdOf('project_owner'), v_project_viewer: roleVersionIdOf('project_viewer') },
}
/** `:name` is the id of that thing, `:new` a fresh one. */
const spelled = (text: string) =>
  text.replaceAll(/:([a-z]\w*)/g, (_, name: string) =>
    name === 'new' ? 'gen_random_uuid()' : `'${names[name as keyof typeof names] ?? `no such name: ${name}`}'`,
  )

const custom = (role: string, version: string, tier: 'tenant' | 'project', scope: string, forServiceAccounts = false) => `
  insert into role_definitions (id, scope_type, ${tier}_id, name, is_builtin, is_assignable_to_service_accounts, current_version_id, created_at)
    values (:${role}, '${tier}', :${scope}, '${role}', false, ${forServiceAccounts}, :${version}, now());
  insert into role_definition_versions (id, role_definition_id, version, created_at) values (:${version}, :${role}, 1, now());`

const constraint = (scope: string, tenant: string, of: string, changed: Record<string, string> = {}) => {
  const values = {
    constraint_id: ':new',
    version: '1',
    key: `'night'`,
    actions: `'{allocation.create}'`,
    condition: `'{}'`,
    time_zone: `'UTC'`,
    is_locked: 'true',
    state: `'active'`,
    created_at: 'now()',
    ...changed,
  }
  return `insert into policy_constraints (scope_type, tenant_id, project_id, ${Object.keys(values).join(', ')})
    values ('${scope}', ${tenant}, ${of}, ${Object.values(values).join(', ')})`
}

const invitation = (changed: Record<string, string> = {}) => {
  const values = {
    id: ':new',
    tenant_id: ':aurora',
    email: `'ann@mail.example'`,
    role_version_id: ':auditor_1',
    inviter_user_id: ':ada',
    created_at: 'now()',
    ends_at: 'now()',
    ...changed,
  }
  return `insert into invitations (${Object.keys(values).join(', ')}) values (${Object.values(values).join(', ')})`
}

const serviceAccount = (id: string, of: string, org_id: string, slug: string, changed: Record<string, string> = {}) => {
  const values = {
    id: `:${id}`,
    org_id: `:${org_id}`,
    project_id: `:${of}`,
    name: `'Robot'`,
    slug: `'${slug}'`,
    created_at: 'now()',
    ...changed,
  }
  return `insert into service_accounts (${Object.keys(values).join(', ')}) values (${Object.values(values).join(', ')})`
}
const serviceAccountKey = (changed: Record<string, string> = {}) => {
  const bytes = (count: number) => `decode(repeat('00', ${count}), 'hex')`
  const values = {
    id: ':new',
    service_account_id: ':sa',
    salt: bytes(16),
    secret_hash: bytes(32),
    epoch: '1',
    created_at: 'now()',
    created_by: ':ada',
    ...changed,
  }
  return `insert into service_account_keys (${Object.keys(values).join(', ')}) values (${Object.values(values).join(', ')})`
}

const issuedToken = (changed: Record<string, string> = {}) => {
  const values = {
    id: ':new',
    actor_type: `'service_account'`,
    actor_id: ':sa',
    credential_id: ':new',
    org_id: ':aurora',
    project_id: ':training',
    typ: `'sa+jwt'`,
    kid: `'active-key'`,
    audience: `'gpuaas-api'`,
    scope: `'{}'`,
    epoch: '1',
    issued_at: 'now()',
    expires_at: `now() + interval '1 hour'`,
    ...changed,
  }
  return `insert into issued_tokens (${Object.keys(values).join(', ')}) values (${Object.values(values).join(', ')})`
}
const tokenCutoff = (changed: Record<string, string> = {}) => {
  const values = {
    id: ':new',
    subject_type: `'actor'`,
    subject_id: ':sa',
    org_id: ':aurora',
    issued_before: 'now()',
    created_at: 'now()',
    created_by: `'x'`,
    reason: `'x'`,
    ...changed,
  }
  return `insert into token_cutoffs (${Object.keys(values).join(', ')}) values (${Object.values(values).join(', ')})`
}

const sshKey = (changed: Record<string, string> = {}) => {
  const values = {
    id: ':new',
    user_id: ':ada',
    name: `'Laptop'`,
    key_type: `'ssh-ed25519'`,
    bits: '256',
    blob: `repeat('A', 68)`,
    fingerprint: `'SHA256:' || repeat('A', 43)`,
    created_at: 'now()',
    created_by_type: `'user'`,
    created_by: ':ada',
    ...changed,
  }
  return `insert into ssh_public_keys (${Object.keys(values).join(', ')}) values (${Object.values(values).join(', ')})`
}
const projectSshKey = (changed: Record<string, string> = {}) =>
  sshKey({ user_id: 'null', org_id: ':aurora', project_id: ':training', ...changed })
/** Another key than the one that is there. */
const otherPrint = { fingerprint: `'SHA256:' || repeat('B', 43)` }

/** On no node yet. */
const allocation = (changed: Record<string, string> = {}) => {
  const values = {
    id: ':new',
    org_id: ':aurora',
    project_id: ':training',
    name: `'Run'`,
    requested_by_type: `'user'`,
    requested_by: ':ada',
    region: `'eu-1'`,
    sku: `'h100'`,
    gpus: '1',
    state_since: 'now()',
    epoch: '1',
    created_at: 'now()',
    ...changed,
  }
  return `insert into allocations (${Object.keys(values).join(', ')}) values (${Object.values(values).join(', ')})`
}
const allocationKey = (changed: Record<string, string> = {}) => {
  const values = {
    id: ':new',
    allocation_id: ':allocation',
    ssh_key_id: '(select id from ssh_public_keys where user_id = :ada)',
    epoch: '1',
    created_at: 'now()',
    created_by: ':ada',
    ...changed,
  }
  return `insert into allocation_ssh_public_keys (${Object.keys(values).join(', ')}) values (${Object.values(values).join(', ')})`
}
const accessGrant = (changed: Record<string, string> = {}) => {
  const values = {
    id: ':new',
    allocation_id: ':allocation',
    project_id: ':training',
    grantee_user_id: ':ada',
    ssh_key_id: '(select id from ssh_public_keys where user_id = :ada)',
    epoch: '1',
    created_at: 'now()',
    created_by: ':ada',
    updated_at: 'now()',
    ...changed,
  }
  return `insert into allocation_access_grants (${Object.keys(values).join(', ')}) values (${Object.values(values).join(', ')})`
}
/** Not the one that is there. */
const endedGrant = { ended_at: 'now()', end_cause: `'revoked'` }
const onNode = { state: `'active'`, node_id: ':machine', username_on_node: `'gh-abcdef'` }
const aNode = `insert into nodes (id, name, region, sku, gpus, created_at) values (:machine, 'machine', 'eu-1', 'h100', 8, now())`

const inserting = (table: string, values: Record<string, string>) =>
  `insert into ${table} (${Object.keys(values).join(', ')}) values (${Object.values(values).join(', ')})`
const node = (changed: Record<string, string> = {}) =>
  inserting('nodes', {
    ...{ id: ':new', name: `'other'`, region: `'eu-1'`, sku: `'h100'`, gpus: '8', created_at: 'now()', created_by: ':ada' },
    ...changed,
  })
const nodeEnrolment = (changed: Record<string, string> = {}) =>
  inserting('node_enrolments', {
    ...{ id: ':new', node_id: ':host', secret_hash: `decode(repeat('00', 32), 'hex')`, epoch: '1' },
    ...{ created_at: 'now()', created_by: ':ada', expires_at: `now() + interval '15 minutes'` },
    ...changed,
  })
const nodeCertificate = (changed: Record<string, string> = {}) =>
  inserting('node_certificates', {
    ...{
      serial: `md5(cast(random() as text))`,
      node_id: ':host',
      thumbprint: `repeat('b', 64)`,
      key_thumbprint: `repeat('a', 64)`,
      public_key: `'AAAA'`,
    },
    ...{ epoch: '1', issued_at: 'now()', expires_at: `now() + interval '1 day'` },
    ...changed,
  })
const nodeAuthority = (changed: Record<string, string> = {}) =>
  inserting('node_authorities', {
    ...{ id: ':new', certificate: `'x'`, envelope: `'{}'`, created_at: 'now()', ends_at: `now() + interval '1 day'` },
    ...changed,
  })

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

/** One in its grace, of which there may be several. */
const taskSigner = (changed: Record<string, string> = {}) =>
  inserting('task_signers', {
    ...{ kid: `repeat('c', 43)`, version: '3', certificate: `'x'`, envelope: `'{}'`, epoch: '1', state: `'grace'` },
    ...{ created_at: 'now()', activated_at: 'now()', grace_until: 'now()' },
    ...changed,
  })
const activeSigner = { kid: `repeat('a', 43)`, version: '1', state: `'active'`, grace_until: 'null' }
const stagedSigner = { kid: `repeat('b', 43)`, version: '2', state: `'staged'`, activated_at: 'null', grace_until: 'null' }
/** One that waits for the node. */
const nodeTask = (changed: Record<string, string> = {}) =>
  inserting('node_tasks', {
    ...{ id: ':new', node_id: ':host', type: `'allocation.provision_user'`, allocation_id: ':allocation', org_id: ':aurora' },
    ...{ params: `'{}'`, generation: '1', kid: `repeat('a', 43)`, signature: `repeat('s', 86)`, correlation_id: `'x'` },
    ...{ created_at: 'now()', expires_at: `now() + interval '1 hour'` },
    ...changed,
  })

const sshSession = (changed: Record<string, string> = {}) =>
  inserting('ssh_sessions', {
    ...{ id: ':new', node_id: ':host', session_id: `'x.1'`, allocation_id: ':allocation', fingerprint: `'SHA256:' || repeat('a', 43)` },
    ...{ user_ids: `'{}'`, grant_ids: `'{}'`, started_at: 'now()' },
    ...changed,
  })

const publicKey = (changed: Record<string, string> = {}) =>
  serviceAccountKey({ salt: 'null', secret_hash: 'null', alg: `'ES256'`, public_jwk: `'{}'`, ...changed })
const usedProof = (changed: Record<string, string> = {}) => {
  const values = { kind: `'dpop'`, subject: `'x'`, jti_hash: `decode(repeat('00', 32), 'hex')`, expires_at: 'now()', ...changed }
  return `insert into used_proofs (${Object.keys(values).join(', ')}) values (${Object.values(values).join(', ')})`
}

/** One in its grace: of those that sign and wait there is at most one each. */
const signingKey = (changed: Record<string, string> = {}) => {
  const values = {
    kid: `'another-key'`,
    alg: `'ES256'`,
    public_jwk: `'{}'`,
    custody: `'envelope'`,
    envelope: `'{}'`,
    state: `'grace'`,
    created_at: 'now()',
    activated_at: 'now()',
    grace_until: 'now()',
    ...changed,
  }
  return `insert into signing_keys (${Object.keys(values).join(', ')}) values (${Object.values(values).join(', ')})`
}
const activeKey = { state: `'active'`, grace_until: 'null' }
const stagedKey = { ...activeKey, state: `'staged'`, activated_at: 'null' }

const world = `
  insert into users (id, username, oidc_issuer, oidc_subject, created_at)
    values (:ada, 'ada', 'https://id.example', 'ada', now()), (:bob, 'bob', 'https://id.example', 'bob', now());
  insert into organizations (id, type, name, slug, created_at)
    values (:aurora, 'enterprise', 'Aurora', 'aurora', now()), (:borealis, 'enterprise', 'Borealis', 'borealis', now());
  insert into projects (id, org_id, name, slug, created_at)
    values (:training, :aurora, 'Training', 'training', now()), (:inference, :borealis, 'Inference', 'inference', now());
  insert into tenant_memberships (id, tenant_id, user_id, created_at) values (:new, :aurora, :ada, now());
  insert into project_memberships (id, project_id, user_id, created_at) values (:new, :training, :ada, now());
  ${custom('auditor', 'auditor_1', 'tenant', 'aurora')}
  ${custom('stranger', 'stranger_1', 'tenant', 'borealis')}
  ${custom('builder', 'builder_1', 'project', 'training')}
  ${custom('robot', 'robot_1', 'project', 'training', true)}
  insert into role_permissions (role_version_id, permission_key) values (:auditor_1, 'tenant.audit.read');
  ${serviceAccount('sa', 'training', 'aurora', 'robot')};
  ${serviceAccountKey()};
  insert into platform_role_bindings (id, principal_type, principal_id, role_definition_id, created_at)
    values (:new, 'user', :ada, :superadmin, now());
  insert into tenant_role_bindings (id, tenant_id, principal_type, principal_id, role_version_id, created_at)
    values (:new, :aurora, 'user', :ada, :auditor_1, now());
  insert into project_role_bindings (id, project_id, principal_type, principal_id, role_version_id, created_at)
    values (:new, :training, 'user', :ada, :builder_1, now());
  insert into policy_definitions (key, type, purpose, scopes, direction) values ('test.key', 'integer', 'A test.', '{global,tenant,project}', 'most_specific');
  insert into policy_values (id, key, scope_type, value, version, created_at) values (:new, 'test.key', 'global', '1', 1, now());
  ${constraint('global', 'null', 'null', { constraint_id: ':rule' })};
  ${invitation({ id: ':offer' })};
  ${signingKey({ kid: `'active-key'`, ...activeKey })};
  ${signingKey({ kid: `'staged-key'`, ...stagedKey })};
  ${issuedToken()};
  ${tokenCutoff()};
  ${sshKey()};
  ${projectSshKey()};
  ${allocation({ id: ':allocation' })};
  ${allocationKey()};
  ${accessGrant()};
  ${node({ id: ':host', name: `'host'` })};
  ${nodeEnrolment()};
  ${nodeCertificate({ thumbprint: `repeat('a', 64)` })};
  ${nodeAuthority()};
  ${taskSigner(activeSigner)};
  ${taskSigner(stagedSigner)};
  ${nodeTask()};
  ${sharedRuntime({ id: ':runtime', display_name: `'Runtime'` })};
  ${sharedRuntime({ id: ':runtime_2', display_name: `'Second'` })};
  ${attachment({ shared_runtime_id: ':runtime' })};
  ${runtimeMember({ name: `'member'` })};
  ${runtimeCredential({ name: `'left'` })};
  ${operatorCredential()};
  ${delivery({ token_hash: `decode(repeat('02', 32), 'hex')` })};
  ${sshSession({ session_id: `'there'` })};
  insert into node_events (node_id, event_id, told_at) values (:host, :new, now());`

let clone: ClonedDatabase
beforeAll(async () => {
  clone = await cloneDatabase()
  await asSuperuser(clone.ownerUrl, async (client) => void (await client.query(spelled(`begin; ${world} commit`))))
})
afterAll(() => clone.drop())

/** Runs the statements as the owner, with deferred constraints looked at too, and takes them back. */
const attempt = (text: string): Promise<void> =>
  asSuperuser(clone.ownerUrl, async (client: pg.Client) => {
    await client.query('begin')
    await client.query(spelled(text))
    await client.query('set constraints all immediate')
    await client.query('rollback')
  })

const violatedBy = async (text: string): Promise<string> => {
  try {
    await attempt(text)
  } catch (error) {
    const { constraint, message } = error as { constraint?: string; message: string }
    return constraint ?? message
  }
  return 'nothing'
}

const user = (columns: string, values: string) =>
  `insert into users (id, oidc_issuer, created_at${columns}) values (:new, 'https://id.example', now()${values})`
const org = (type: string, name: string, slug: string) =>
  `insert into organizations (id, type, name, slug, created_at) values (:new, '${type}', '${name}', '${slug}', now())`
const project = (org_id: string, name: string, slug: string) =>
  `insert into projects (id, org_id, name, slug, created_at) values (:new, :${org_id}, '${name}', '${slug}', now())`
const role = (scope: string, owner: string, name: string, more = '', values = '') => `
  insert into role_definitions (id, scope_type, tenant_id, project_id, name, is_builtin, current_version_id, created_at${more})
    values (:nowhere, '${scope}', ${owner}, '${name}', false, :auditor_2, now()${values});
  insert into role_definition_versions (id, role_definition_id, version, created_at) values (:auditor_2, :nowhere, 1, now())`
const builtin = (scope: string, owner: string) => role(scope, owner, 'new-builtin').replace('false', 'true')
const platformBinding = (principal: string, role_id: string, type = 'user') =>
  `insert into platform_role_bindings (id, principal_type, principal_id, role_definition_id, created_at) values (:new, '${type}', :${principal}, :${role_id}, now())`
const tenantBinding = (tenant: string, principal: string, version: string, type = 'user') =>
  `insert into tenant_role_bindings (id, tenant_id, principal_type, principal_id, role_version_id, created_at) values (:new, :${tenant}, '${type}', :${principal}, :${version}, now())`
const projectBinding = (of: string, principal: string, version: string, type = 'user') =>
  `insert into project_role_bindings (id, project_id, principal_type, principal_id, role_version_id, created_at) values (:new, :${of}, '${type}', :${principal}, :${version}, now())`
const policyValue = (scope: string, tenant: string, of: string, key = 'test.key', version = 1) =>
  `insert into policy_values (id, key, scope_type, tenant_id, project_id, value, version, created_at) values (:new, '${key}', '${scope}', ${tenant}, ${of}, '1', ${version}, now())`

const tenantConstraint = (changed: Record<string, string>) => constraint('tenant', ':aurora', 'null', changed)

const refused: [proves: string, what: string, constraint: string, text: string][] = [
  ['RP-27', 'two people with one subject of one issuer', 'users_one_per_subject', user(', username, oidc_subject', ", 'x', 'ada'")],
  ['RP-27', 'a person without a name', 'users_username_check', user(', username, oidc_subject', ", '', 'x'")],
  ['RP-27', 'a person without a subject', 'users_oidc_subject_check', user(', username, oidc_subject', ", 'x', ''")],
  ['RP-27', 'an address that is none', 'users_email_check', user(', username, oidc_subject, email', ", 'x', 'x', '@'")],
  ['RP-27', 'a compatibility role that is none', 'users_role_check', user(', username, oidc_subject, role', ", 'x', 'x', 'root'")],
  [
    'RP-27',
    'a person disabled without a reason',
    'users_disabled_whole',
    'update users set disabled_at = now(), disabled_by = :bob where id = :ada',
  ],
  ['RP-27', 'an unknown type of organization', 'organizations_type_check', org('club', 'X', 'x')],
  ['RP-27', 'an organization without a name', 'organizations_name_check', org('personal', '', 'x')],
  ['RP-27', 'a slug with a capital letter', 'organizations_slug_check', org('personal', 'X', 'Xx')],
  ['RP-27', 'a slug that begins with a hyphen', 'organizations_slug_check', org('personal', 'X', '-x')],
  ['RP-27', 'a slug of 64 letters', 'organizations_slug_check', org('personal', 'X', 'x'.repeat(64))],
  ['RP-27', 'a slug of an active organization once more', 'organization_already_exists', org('personal', 'X', 'aurora')],
  [
    'RP-27',
    'an unknown state of an organization',
    'organizations_state_check',
    `update organizations set state = 'deleted' where id = :aurora`,
  ],
  ['RP-27', 'an organization half deleted', 'organizations_end_whole', 'update organizations set deleted_at = now() where id = :aurora'],
  ['RP-27', 'a project without a name', 'projects_name_check', project('aurora', '', 'x')],
  ['RP-27', 'a project with a bad slug', 'projects_slug_check', project('aurora', 'X', 'x_x')],
  ['RP-27', 'a project of the same slug in the same organization', 'project_already_exists', project('aurora', 'X', 'training')],
  ['RP-27', 'an unknown state of a project', 'projects_state_check', `update projects set state = 'deleted' where id = :training`],
  [
    'RP-21',
    'a second active membership of one tenant',
    'tenant_memberships_one_active',
    'insert into tenant_memberships (id, tenant_id, user_id, created_at) values (:new, :aurora, :ada, now())',
  ],
  [
    'RP-21',
    'a tenant membership ended without a reason',
    'tenant_memberships_end_whole',
    'update tenant_memberships set deleted_at = now()',
  ],
  [
    'RP-21',
    'a second active membership of one project',
    'member_already_exists',
    'insert into project_memberships (id, project_id, user_id, created_at) values (:new, :training, :ada, now())',
  ],
  [
    'RP-21',
    'a project membership ended without a reason',
    'project_memberships_end_whole',
    'update project_memberships set deleted_at = now()',
  ],

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
  ['RP-27', 'a platform binding of a group', 'platform_role_bindings_principal_type_check', platformBinding('ada', 'superadmin', 'group')],
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
  ['RP-33', 'an address invited twice', 'invitation_already_exists', invitation()],
  ['RP-33', 'an address with capitals', 'invitations_email_check', invitation({ email: `'Ann@mail.example'` })],
  ['RP-33', 'an address that is none', 'invitations_email_check', invitation({ email: `'@'` })],
  ['RP-33', 'an invitation into no organization', 'invitations_tenant_id_fkey', invitation({ tenant_id: ':nowhere' })],
  ['RP-33', "an invitation into another organization's project", 'invitations_project', invitation({ project_id: ':inference' })],
  ['RP-33', 'an invitation to no role', 'invitations_role_version_id_fkey', invitation({ email: `'x@y'`, role_version_id: ':nowhere' })],
  ['RP-33', 'an invitation by nobody', 'invitations_inviter_user_id_fkey', invitation({ email: `'x@y'`, inviter_user_id: ':nowhere' })],
  [
    'RP-33',
    'an invitation accepted by nobody',
    'invitations_accepted_whole',
    'update invitations set accepted_at = now() where id = :offer',
  ],
  [
    'RP-33',
    'an invitation accepted by somebody unknown',
    'invitations_accepted_by_fkey',
    'update invitations set accepted_at = now(), accepted_by = :nowhere where id = :offer',
  ],
  ['RP-33', 'an invitation ended without a reason', 'invitations_end_whole', 'update invitations set ended_at = now() where id = :offer'],
  [
    'RP-33',
    'an invitation ended by somebody unknown',
    'invitations_ended_by_fkey',
    `update invitations set ended_at = now(), ended_by = :nowhere, end_reason = 'x' where id = :offer`,
  ],
  [
    'RP-33',
    'an invitation both accepted and ended',
    'invitations_one_end',
    `update invitations set accepted_at = now(), accepted_by = :ada, ended_at = now(), end_reason = 'x' where id = :offer`,
  ],
  ['TI-13', 'a second key that signs', 'signing_keys_one_active', signingKey(activeKey)],
  ['TI-13', 'a second key that waits', 'signing_keys_one_staged', signingKey(stagedKey)],
  ['TI-13', 'a key with a name that needs escaping', 'signing_keys_kid_check', signingKey({ kid: `'a key/of mine'` })],
  ['TI-13', 'a key for another algorithm', 'signing_keys_alg_check', signingKey({ alg: `'RS256'` })],
  ['TI-13', 'a key in another state', 'signing_keys_state_check', signingKey({ state: `'paused'`, ended_at: 'now()' })],
  ['TI-13', 'a key of no epoch', 'signing_keys_epoch_check', signingKey({ epoch: '0' })],
  ['TI-13', 'a key without a public part', 'signing_keys_public', signingKey({ public_jwk: 'null' })],
  [
    'TI-13',
    'a shared secret with a public part',
    'signing_keys_public',
    signingKey({ alg: `'HS256'`, custody: `'envelope_key'`, envelope: 'null', envelope_key_id: `'k'` }),
  ],
  ['TI-14', 'a key that is kept nowhere', 'signing_keys_custody', signingKey({ envelope: 'null' })],
  ['TI-14', 'a key that is kept in two places', 'signing_keys_custody', signingKey({ transit_name: `'k'`, transit_version: '1' })],
  [
    'TI-14',
    'a key of a transit engine without its version',
    'signing_keys_custody',
    signingKey({ custody: `'transit'`, envelope: 'null', transit_name: `'k'` }),
  ],
  [
    'TI-14',
    'a key that is kept somewhere unknown',
    'signing_keys_custody_check',
    signingKey({ alg: `'HS256'`, public_jwk: 'null', custody: `'pocket'`, envelope: 'null', envelope_key_id: `'k'` }),
  ],
  ['TI-13', 'a key that signs since never', 'signing_keys_states', `update signing_keys set activated_at = null where state = 'active'`],
  ['TI-13', 'a key with a grace without end', 'signing_keys_states', signingKey({ grace_until: 'null' })],
  ['TI-13', 'a revoked key without an end', 'signing_keys_states', signingKey({ state: `'revoked'` })],
  [
    'TI-25',
    'a slug of a living service account once more',
    'service_account_already_exists',
    serviceAccount('new', 'training', 'aurora', 'robot'),
  ],
  [
    'TI-25',
    'a service account without a name',
    'service_accounts_name_check',
    serviceAccount('new', 'training', 'aurora', 'x', { name: `''` }),
  ],
  ['TI-25', 'a service account with a bad slug', 'service_accounts_slug_check', serviceAccount('new', 'training', 'aurora', 'x_x')],
  ['TI-25', 'an unknown state of a service account', 'service_accounts_state_check', `update service_accounts set state = 'asleep'`],
  [
    'TI-25',
    'a service account in a project of another organization',
    'service_accounts_of_project',
    serviceAccount('new', 'training', 'borealis', 'x'),
  ],
  [
    'TI-25',
    'a service account disabled without a reason',
    'service_accounts_disabled_whole',
    `update service_accounts set state = 'disabled'`,
  ],
  [
    'TI-25',
    'an active service account with the marks of a disabled one',
    'service_accounts_disabled_whole',
    `update service_accounts set disabled_at = now(), disabled_by = :ada, disable_reason = 'x'`,
  ],
  [
    'TI-25',
    'an active service account that the platform has disabled',
    'service_accounts_disabled_whole',
    'update service_accounts set is_disabled_by_platform = true',
  ],
  ['TI-25', 'a service account deleted without a reason', 'service_accounts_end_whole', `update service_accounts set state = 'deleted'`],
  ['HO-08', 'a key of no epoch', 'service_account_keys_epoch_check', serviceAccountKey({ epoch: '0' })],
  ['TI-11', 'a key with a short salt', 'service_account_keys_salt_check', serviceAccountKey({ salt: `'\\x00'` })],
  [
    'TI-11',
    'a key with a secret where its hash should be',
    'service_account_keys_secret_hash_check',
    serviceAccountKey({ secret_hash: `'ghsa_'` }),
  ],
  [
    'TI-11',
    'a key with a secret and a public part',
    'service_account_keys_one_kind',
    publicKey({ salt: `decode(repeat('00', 16), 'hex')`, secret_hash: `decode(repeat('00', 32), 'hex')` }),
  ],
  ['TI-11', 'a key with neither', 'service_account_keys_one_kind', publicKey({ alg: 'null', public_jwk: 'null' })],
  ['TI-11', 'a public key for no algorithm', 'service_account_keys_one_kind', publicKey({ alg: 'null' })],
  ['TI-11', 'a secret without its salt', 'service_account_keys_one_kind', serviceAccountKey({ salt: 'null' })],
  ['TI-13', 'a public key for an algorithm of shared secrets', 'service_account_keys_alg_check', publicKey({ alg: `'HS256'` })],
  ['TI-11', 'a private part', 'service_account_keys_public_jwk_check', publicKey({ public_jwk: `'{"d":"x"}'` })],
  ['TI-17', 'a proof of another kind', 'used_proofs_kind_check', usedProof({ kind: `'other'` })],
  ['TI-17', "a proof of nobody's", 'used_proofs_subject_check', usedProof({ subject: `''` })],
  ['TI-11', 'the name of a proof in the place of its digest', 'used_proofs_jti_hash_check', usedProof({ jti_hash: `'x'` })],
  ['TI-25', 'a key revoked without a reason', 'service_account_keys_revoked_whole', 'update service_account_keys set revoked_at = now()'],
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
  ['TI-23', 'a token of a person', 'issued_tokens_actor_type_check', issuedToken({ actor_type: `'user'` })],
  ['TI-23', 'a token that ends as it begins', 'issued_tokens_check', issuedToken({ expires_at: 'now()' })],
  ['TI-23', 'a token of no epoch', 'issued_tokens_epoch_check', issuedToken({ epoch: '0' })],
  ['TI-02', "a service account's token without a project", 'issued_tokens_bound', issuedToken({ project_id: 'null' })],
  ['TI-02', "a service account's token for no credential", 'issued_tokens_bound', issuedToken({ credential_id: 'null' })],
  [
    'TI-02',
    "an operator's token with a project",
    'issued_tokens_bound',
    issuedToken({ actor_type: `'shared_runtime_operator'`, credential_id: 'null' }),
  ],
  ['TI-02', "a workload's token without an organization", 'issued_tokens_bound', issuedToken({ actor_type: `'workload'`, org_id: 'null' })],
  ['TI-02', 'a token in a project of nobody', 'issued_tokens_bound', issuedToken({ actor_type: `'node_agent'`, org_id: 'null' })],
  ['TI-02', 'a token in a project that there is not', 'issued_tokens_in_project', issuedToken({ project_id: ':nowhere' })],
  ['TI-02', 'a token in a project of another organization', 'issued_tokens_in_project', issuedToken({ org_id: ':nowhere' })],
  [
    'TI-02',
    'a token of an organization that there is not',
    'issued_tokens_org_id_alone_fkey',
    issuedToken({ actor_type: `'shared_runtime_operator'`, org_id: ':nowhere', project_id: 'null' }),
  ],
  ['TI-16', 'a token revoked without a reason', 'issued_tokens_revoked_whole', 'update issued_tokens set revoked_at = now()'],
  ['TI-23', 'a key in the place of its thumbprint', 'issued_tokens_cnf_jkt_check', issuedToken({ cnf_jkt: `'{}'` })],
  ['TI-23', 'an actor that is no object', 'issued_tokens_act_check', issuedToken({ act: `'"x"'` })],
  ['TI-17', 'somebody who acts by nobody’s token', 'issued_tokens_acting', issuedToken({ act: `'{"sub": "x"}'` })],
  ['TI-16', 'a cut-off of something unknown', 'token_cutoffs_subject_type_check', tokenCutoff({ subject_type: `'node'` })],
  ['TI-16', 'a cut-off that reaches to no number', 'token_cutoffs_until_number_check', tokenCutoff({ until_number: '-1' })],
  ['TI-16', 'a cut-off of nobody', 'token_cutoffs_subject', tokenCutoff({ subject_id: 'null' })],
  ['TI-16', "a cut-off in nobody's log", 'token_cutoffs_subject', tokenCutoff({ org_id: 'null' })],
  ['TI-16', 'a cut-off of the platform with a subject', 'token_cutoffs_subject', tokenCutoff({ subject_type: `'platform'` })],
  ['SG-14', 'a key of a person once more', 'ssh_key_already_exists', sshKey()],
  ['SG-14', 'a key of a project once more', 'ssh_key_already_exists_in_project', projectSshKey()],
  ['SG-01', 'a key of nobody', 'ssh_public_keys_owner', sshKey({ user_id: 'null' })],
  ['SG-01', 'a key of a person and a project', 'ssh_public_keys_owner', projectSshKey({ user_id: ':ada' })],
  ['SG-01', 'a key of a project in no organization', 'ssh_public_keys_owner', projectSshKey({ org_id: 'null' })],
  [
    'SG-01',
    'a key of a project in another organization',
    'ssh_public_keys_of_project',
    projectSshKey({ ...otherPrint, org_id: ':borealis' }),
  ],
  ['SG-14', 'a key without a name', 'ssh_public_keys_name_check', sshKey({ ...otherPrint, name: `''` })],
  ['SG-14', 'a key of another type', 'ssh_public_keys_key_type_check', sshKey({ ...otherPrint, key_type: `'ssh-dss'` })],
  ['SG-14', 'a certificate', 'ssh_public_keys_key_type_check', sshKey({ ...otherPrint, key_type: `'ssh-ed25519-cert-v01@openssh.com'` })],
  ['SG-14', 'a key of 255 bits', 'ssh_public_keys_bits_check', sshKey({ ...otherPrint, bits: '255' })],
  ['SG-14', 'a key with a line behind it', 'ssh_public_keys_blob_check', sshKey({ ...otherPrint, blob: `repeat('A', 68) || E'\\nB'` })],
  ['SG-14', 'a key with an end of line', 'ssh_public_keys_blob_check', sshKey({ ...otherPrint, blob: `repeat('A', 68) || E'\\n'` })],
  ['SG-14', 'a key with a blank', 'ssh_public_keys_blob_check', sshKey({ ...otherPrint, blob: `repeat('A', 68) || ' me'` })],
  ['SG-14', 'a key that is too short', 'ssh_public_keys_blob_check', sshKey({ ...otherPrint, blob: `'AAAA'` })],
  ['SG-14', 'a fingerprint that is none', 'ssh_public_keys_fingerprint_check', sshKey({ fingerprint: `'MD5:00'` })],
  [
    'SG-05',
    'a key that a node registered',
    'ssh_public_keys_created_by_type_check',
    sshKey({ ...otherPrint, created_by_type: `'node_agent'` }),
  ],
  ['SG-11', 'a key half deleted', 'ssh_public_keys_end_whole', 'update ssh_public_keys set deleted_at = now()'],
  ['SG-23', 'an allocation without a name', 'allocations_name_check', allocation({ name: `''` })],
  [
    'SG-18',
    'an allocation that a node asked for',
    'allocations_requested_by_type_check',
    allocation({ requested_by_type: `'node_agent'` }),
  ],
  ['SG-23', 'an allocation nowhere', 'allocations_region_check', allocation({ region: `''` })],
  ['SG-23', 'an allocation of no model', 'allocations_sku_check', allocation({ sku: `''` })],
  ['SG-23', 'an allocation of less than nothing', 'allocations_gpus_check', allocation({ gpus: '-1' })],
  [
    'SG-09',
    'an account with the name of a system’s',
    'allocations_username_on_node_check',
    `${aNode}; ${allocation({ ...onNode, username_on_node: `'root'` })}`,
  ],
  ['SG-23', 'a state that there is not', 'allocations_state_check', allocation({ state: `'paused'` })],
  ['SG-23', 'an allocation that fails at length', 'allocations_failure_check', allocation({ failure: `repeat('x', 101)` })],
  ['SG-10', 'a generation before the first', 'allocations_confirmed', allocation({ generation: '-1' })],
  ['SG-10', 'an allocation of no epoch', 'allocations_epoch_check', allocation({ epoch: '0' })],
  ['SG-23', 'an allocation of a project in another organization', 'allocations_of_project', allocation({ org_id: ':borealis' })],
  [
    'SG-09',
    'an allocation on a node without an account',
    'allocations_placed',
    `${aNode}; ${allocation({ ...onNode, username_on_node: 'null' })}`,
  ],
  [
    'SG-20',
    'more confirmed than was sent',
    'allocations_confirmed',
    `${aNode}; ${allocation({ ...onNode, generation: '1', confirmed_generation: '2', confirmed_at: 'now()' })}`,
  ],
  [
    'SG-20',
    'confirmed at no time',
    'allocations_confirmed',
    `${aNode}; ${allocation({ ...onNode, generation: '1', confirmed_generation: '1' })}`,
  ],
  ['SG-23', 'an active allocation on no node', 'allocations_states', allocation({ state: `'active'` })],
  [
    'SG-23',
    'one that waits for a node and is on one',
    'allocations_states',
    `${aNode}; ${allocation({ ...onNode, state: `'requested'` })}`,
  ],
  ['SG-23', 'a released one of which something is left', 'allocations_states', allocation({ state: `'released'` })],
  [
    'SG-20',
    'one that is abandoned and still on its node',
    'allocations_abandoned',
    `${aNode}; ${allocation({ ...onNode, is_abandoned: 'true' })}`,
  ],
  ['SG-09', 'two accounts of one name on a node', 'allocations_username_on_node', `${aNode}; ${allocation(onNode)}; ${allocation(onNode)}`],
  ['SG-13', 'a person let in twice with one key', 'access_grant_already_exists', accessGrant()],
  [
    'SG-01',
    'a grant in another project than the allocation',
    'allocation_access_grants_of_allocation',
    accessGrant({ ...endedGrant, project_id: ':inference' }),
  ],
  ['SG-11', 'a grant that ended for no cause', 'allocation_access_grants_end_whole', accessGrant({ ended_at: 'now()' })],
  [
    'SG-11',
    'a grant ended by somebody and still there',
    'allocation_access_grants_end_whole',
    'update allocation_access_grants set ended_by = :ada',
  ],
  [
    'SG-11',
    'a grant that ended for a cause that there is not',
    'allocation_access_grants_end_cause_check',
    accessGrant({ ...endedGrant, end_cause: `'forgotten'` }),
  ],
  ['SG-11', 'a grant of no epoch', 'allocation_access_grants_epoch_check', accessGrant({ ...endedGrant, epoch: '0' })],
  ['SG-22', 'a second version that signs tasks', 'task_signers_one_active', taskSigner({ state: `'active'`, grace_until: 'null' })],
  [
    'SG-22',
    'a second version that is next',
    'task_signers_one_staged',
    taskSigner({ ...stagedSigner, kid: `repeat('c', 43)`, version: '3' }),
  ],
  ['SG-22', 'two of one version', 'task_signers_version_key', taskSigner({ version: '1' })],
  ['SG-22', 'a version before the first', 'task_signers_version_check', taskSigner({ version: '0' })],
  ['SG-22', 'a version of no epoch', 'task_signers_epoch_check', taskSigner({ epoch: '0' })],
  ['SG-22', 'a version that is called by something else', 'task_signers_kid_check', taskSigner({ kid: `'mine'` })],
  ['SG-22', 'a version in no state that there is', 'task_signers_state_check', taskSigner({ state: `'lost'` })],
  ['SG-22', 'a revoked version that has not ended', 'task_signers_states', taskSigner({ state: `'revoked'` })],
  ['SG-22', 'a grace without an end', 'task_signers_states', taskSigner({ grace_until: 'null' })],
  ['SG-22', 'a task of a type that nobody knows', 'node_tasks_type_check', nodeTask({ type: `'shell.run'` })],
  ['SG-22', 'a task whose parameters are none', 'node_tasks_params_check', nodeTask({ params: `'[]'` })],
  ['SG-22', 'a task without a signature', 'node_tasks_signature_check', nodeTask({ signature: `''` })],
  ['SG-22', 'a task that is over as it begins', 'node_tasks_check', nodeTask({ expires_at: 'now()' })],
  ['SG-10', 'a task before the first generation', 'node_tasks_generation_check', nodeTask({ generation: '-1' })],
  ['SG-10', 'a task given less than never', 'node_tasks_attempts_check', nodeTask({ attempts: '-1' })],
  ['SG-10', 'a task in no state that there is', 'node_tasks_state_check', nodeTask({ state: `'paused'` })],
  ['SG-16', 'a task that was reported and never given', 'node_tasks_states', nodeTask({ state: `'completed'` })],
  ['SG-16', 'a task that waits and was reported', 'node_tasks_states', nodeTask({ reported_at: 'now()', result: `'{}'` })],
  ['SG-16', 'a report without a word', 'node_tasks_reported_whole', nodeTask({ state: `'superseded'`, reported_at: 'now()' })],
  ['SG-10', 'two open tasks of one type for an allocation', 'node_tasks_one_open', nodeTask({ generation: '2' })],
  ['SG-21', 'one session of a node twice', 'ssh_sessions_one', sshSession({ session_id: `'there'` })],
  ['SG-21', 'a session that is called by a path', 'ssh_sessions_session_id_check', sshSession({ session_id: `'../x'` })],
  ['SG-21', 'a session of no key', 'ssh_sessions_fingerprint_check', sshSession({ fingerprint: `'SHA256:'` })],
  ['SG-21', 'a session from a whole sentence', 'ssh_sessions_source_ip_check', sshSession({ source_ip: `repeat('1', 46)` })],
  ['SG-21', 'a session of which nothing was told', 'ssh_sessions_told_of', sshSession({ started_at: 'null' })],
  ['SG-21', 'a session that ended for no cause', 'ssh_sessions_end_whole', sshSession({ ended_at: 'now()' })],
  ['SG-19', 'a session that goes on and whose processes were ended', 'ssh_sessions_end_whole', sshSession({ processes_ended: '1' })],
  [
    'SG-21',
    'a session that ended for an unknown cause',
    'ssh_sessions_end_cause_check',
    sshSession({ ended_at: 'now()', end_cause: `'bored'` }),
  ],
  [
    'SG-19',
    'less than no process ended',
    'ssh_sessions_processes_ended_check',
    sshSession({ ended_at: 'now()', end_cause: `'closed'`, processes_ended: '-1' }),
  ],
  ['SG-22', 'a second authority', 'node_authorities_one_active', nodeAuthority()],
  [
    'SG-22',
    'an authority that has ended before it began',
    'node_authorities_check',
    nodeAuthority({ is_active: 'false', ends_at: 'now()' }),
  ],
  ['SG-22', 'two nodes of one name', 'node_already_exists', node({ name: `'host'` })],
  ['SG-22', 'a node without a name', 'nodes_name_check', node({ name: `''` })],
  ['SG-22', 'a node with a name for a shell', 'nodes_name_check', node({ name: `'a;reboot'` })],
  ['SG-22', 'a node in no region', 'nodes_region_check', node({ region: `''` })],
  ['SG-22', 'a node of no kind', 'nodes_sku_check', node({ sku: `''` })],
  ['SG-22', 'a node with less than nothing', 'nodes_gpus_check', node({ gpus: '-1' })],
  ['SG-22', 'a status that there is not', 'nodes_status_check', node({ status: `'unavailable'` })],
  ['SG-22', 'an agent whose version is a story', 'nodes_agent_version_check', node({ agent_version: `repeat('1', 64)` })],
  ['SG-22', 'a node retired by nobody', 'nodes_retired_whole', `update nodes set status = 'retired', retired_at = now() where id = :host`],
  [
    'SG-22',
    'a node that is retired and active',
    'nodes_retired_whole',
    `update nodes set retired_at = now(), retired_by = :ada, retire_reason = 'x' where id = :host`,
  ],
  ['SG-22', 'two open enrolments of one node', 'node_enrolments_one_open', nodeEnrolment()],
  [
    'SG-22',
    'an enrolment with its secret',
    'node_enrolments_secret_hash_check',
    nodeEnrolment({ secret_hash: `'secret'`, ended_at: 'now()' }),
  ],
  ['SG-22', 'an enrolment of no epoch', 'node_enrolments_epoch_check', nodeEnrolment({ epoch: '0', ended_at: 'now()' })],
  ['SG-22', 'an enrolment that is over at once', 'node_enrolments_check', nodeEnrolment({ expires_at: 'now()', ended_at: 'now()' })],
  ['SG-22', 'an enrolment that was used and is open', 'node_enrolments_used', 'update node_enrolments set is_used = true'],
  ['SG-22', 'one certificate of two nodes', 'node_certificates_thumbprint_key', nodeCertificate({ thumbprint: `repeat('a', 64)` })],
  ['SG-22', 'a serial that is none', 'node_certificates_serial_check', nodeCertificate({ serial: `'12 34'` })],
  ['SG-22', 'a thumbprint that is none', 'node_certificates_thumbprint_check', nodeCertificate({ thumbprint: `'b'` })],
  ['SG-22', 'a thumbprint of a key that is none', 'node_certificates_key_thumbprint_check', nodeCertificate({ key_thumbprint: `'b'` })],
  ['SG-22', 'a public key in another spelling', 'node_certificates_public_key_check', nodeCertificate({ public_key: `'-----BEGIN'` })],
  ['SG-22', 'a certificate of no epoch', 'node_certificates_epoch_check', nodeCertificate({ epoch: '0' })],
  ['SG-22', 'a certificate that has ended before it began', 'node_certificates_check', nodeCertificate({ expires_at: 'now()' })],
  ['SG-22', 'a certificate ended without a reason', 'node_certificates_end_whole', 'update node_certificates set ended_at = now()'],
  [
    'SG-22',
    'a certificate of an enrolment that cannot be given again',
    'node_certificates_given_whole',
    'update node_certificates set enrolment_id = (select id from node_enrolments limit 1)',
  ],
  [
    'SG-22',
    'two certificates of one enrolment',
    'node_certificates_enrolment_id_key',
    `update node_certificates set enrolment_id = (select id from node_enrolments limit 1), certificate = 'x';
     ${nodeCertificate({ enrolment_id: '(select id from node_enrolments limit 1)', certificate: `'x'` })}`,
  ],
  ['SG-22', 'a certificate that is a story', 'node_certificates_certificate_check', nodeCertificate({ certificate: `repeat('x', 4097)` })],
  ['SG-07', 'a key of an allocation once more', 'allocation_ssh_public_keys_one', allocationKey()],
  ['SG-10', 'a key of an allocation of no epoch', 'allocation_ssh_public_keys_epoch_check', allocationKey({ epoch: '0' })],
  [
    'SG-11',
    'a key of an allocation ended without a cause',
    'allocation_ssh_public_keys_end_whole',
    'update allocation_ssh_public_keys set ended_at = now()',
  ],
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
  [
    'MI-01',
    'an allocation for a runtime of another tenant',
    'allocations_shared_runtime',
    allocation({ org_id: ':borealis', project_id: ':inference', shared_runtime_id: ':runtime' }),
  ],
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
  ['', 'an epoch that counts from nothing', 'epochs_value_check', 'insert into epochs (id, value, stamp) values (:new, 0, :new)'],
]

describe('the tables refuse', () => {
  test.each(refused)('%s %s', async (_proves, _what, constraint, text) => {
    expect(await violatedBy(text)).toBe(constraint)
  })
})

const allowed: [what: string, text: string][] = [
  [
    'a slug again when its organization is deleted',
    `update organizations set deleted_at = now(), deleted_by = :ada, delete_reason = 'x' where id = :aurora; ${org('personal', 'X', 'aurora')}`,
  ],
  ['the same project slug in another organization', project('borealis', 'X', 'training')],
  [
    'a membership again after it ended',
    `update tenant_memberships set deleted_at = now(), delete_reason = 'x'; insert into tenant_memberships (id, tenant_id, user_id, created_at) values (:new, :aurora, :ada, now())`,
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
  [
    'a slug again when its service account is deleted',
    `update service_accounts set state = 'deleted', deleted_at = now(), deleted_by = :ada, delete_reason = 'x'; ${serviceAccount('new', 'training', 'aurora', 'robot')}`,
  ],
  ['the same slug in another project', serviceAccount('new', 'inference', 'borealis', 'robot')],
  ['several keys of one service account', serviceAccountKey()],
  ['a key without a secret', publicKey()],
  [
    'a key again when it was deleted',
    `update ssh_public_keys set deleted_at = now(), deleted_by = :ada, delete_reason = 'x'; ${sshKey()}; ${projectSshKey()}`,
  ],
  ['one key of two people', sshKey({ user_id: ':bob' })],
  [
    'the name of a node again when it is retired',
    `update nodes set status = 'retired', retired_at = now(), retired_by = :ada, retire_reason = 'x' where id = :host; ${node({ name: `'host'` })}`,
  ],
  [
    'another task of an allocation when the first has given way',
    `update node_tasks set state = 'superseded'; ${nodeTask({ generation: '2' })}`,
  ],
  ['another enrolment when the first has ended', `update node_enrolments set ended_at = now(); ${nodeEnrolment()}`],
  [
    'a key of an allocation again when it was ended',
    `update allocation_ssh_public_keys set ended_at = now(), end_cause = 'x'; ${allocationKey()}`,
  ],
  ['a person let in again after the end', `update allocation_access_grants set ended_at = now(), end_cause = 'revoked'; ${accessGrant()}`],
  [
    'a name on a node again when nothing is left of the first',
    `${aNode}; ${allocation({ ...onNode, state: `'released'`, cleared_at: 'now()' })}; ${allocation(onNode)}`,
  ],
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
  ['the same custom name in another scope', role('tenant', ':borealis, null', 'auditor')],
  [
    'a custom name again when its role is deleted',
    `update role_definitions set deleted_at = now(), deleted_by_user_id = :ada, delete_reason = 'x' where id = :auditor; ${role('tenant', ':aurora, null', 'auditor')}`,
  ],
  ['one address invited into an organization and into its project', invitation({ project_id: ':training' })],
  ['an address invited again after the first has ended', `update invitations set ended_at = now(), end_reason = 'x'; ${invitation()}`],
  [
    'a constraint of one key at each scope',
    `${constraint('tenant', ':aurora', 'null')}; ${constraint('tenant', ':borealis', 'null')}; ${constraint('project', 'null', ':training')}`,
  ],
  [
    'a key again when its constraint has ended',
    `update policy_constraints set replaced_at = now(), delete_reason = 'x' where constraint_id = :rule; ${constraint('global', 'null', 'null')}`,
  ],
  ['a value of one key at each scope', `${policyValue('tenant', ':aurora', 'null')}; ${policyValue('project', 'null', ':training')}`],
]

describe('the tables allow', () => {
  test.each(allowed)('RP-27 %s', async (_what, text) => {
    expect(await violatedBy(text)).toBe('nothing')
  })
})

const tables = [
  ...['users', 'organizations', 'projects', 'tenant_memberships', 'project_memberships'],
  ...['role_definitions', 'role_definition_versions', 'role_permissions', 'platform_role_bindings', 'tenant_role_bindings'],
  ...['project_role_bindings', 'policy_definitions', 'policy_values', 'policy_constraints', 'epochs'],
  ...['service_accounts', 'service_account_keys', 'signing_keys', 'used_proofs', 'issued_tokens', 'token_cutoffs'],
  ...['nodes', 'node_authorities', 'node_enrolments', 'node_certificates', 'task_signers', 'node_tasks'],
  ...['ssh_public_keys', 'allocations', 'allocation_ssh_public_keys', 'allocation_access_grants'],
  ...['ssh_sessions', 'node_events'],
  ...['shared_app_runtimes', 'shared_runtime_attachments', 'shared_runtime_members', 'shared_runtime_credentials', 'wrapped_deliveries'],
  'shared_runtime_operator_credentials',
]
const ask = <Row>(text: string, values: unknown[] = []): Promise<Row[]> =>
  asSuperuser(clone.ownerUrl, async (client) => (await client.query(text, values)).rows as Row[])

// Each is wider than the primary key, so nothing can violate it alone; foreign keys point at it.
const onlyPointedAt = [
  ...['projects_of_org', 'role_definition_versions_of_definition', 'service_accounts_in_project', 'allocations_in_project'],
  'shared_app_runtimes_of_org',
]

test('RP-27 every check and every unique index of these tables is among the refusals above', async () => {
  const rows = await ask<{ name: string }>(
    `select conname as name from pg_constraint where conrelid = any($1::regclass[]) and contype = 'c'
      union select indexrelid::regclass::text from pg_index where indrelid = any($1::regclass[]) and indisunique and not indisprimary`,
    [tables],
  )
  const tried = new Set(refused.map(([, , constraint]) => constraint))
  expect(rows.length).toBeGreaterThan(40)
  expect(rows.map(({ name }) => name).filter((name) => !tried.has(name) && !onlyPointedAt.includes(name))).toEqual([])
})

test('RP-27 every foreign key of these tables refuses what is not there', async () => {
  const rows = await ask<{ relation: string; name: string; column: string }>(
    `select conrelid::regclass::text as relation, conname as name, attname as column
       from pg_constraint join pg_attribute on attrelid = conrelid and attnum = conkey[1] and attgenerated = ''
      where conrelid = any($1::regclass[]) and contype = 'f' and cardinality(conkey) = 1 order by 1, 2`,
    [tables],
  )
  expect(rows.length).toBeGreaterThan(25)
  // A row that ends, ends wholly; these columns go with the one who ended it.
  const companions: Record<string, string> = {
    deleted_by: `, deleted_at = now(), delete_reason = 'x'`,
    deleted_by_user_id: `, deleted_at = now(), delete_reason = 'x'`,
    disabled_by: `, disabled_at = now(), disable_reason = 'x'`,
    'service_accounts disabled_by': `, state = 'disabled', disabled_at = now(), disable_reason = 'x'`,
    'service_accounts deleted_by': `, state = 'deleted', deleted_at = now(), delete_reason = 'x'`,
    'shared_app_runtimes disabled_by': `, state = 'disabled', disabled_at = now(), disable_reason = 'x'`,
    'shared_app_runtimes deleted_by': `, state = 'deleted', deleted_at = now(), delete_reason = 'x'`,
    'shared_runtime_credentials revoked_by': `, state = 'revoked', envelope = null, revoked_at = now(), revoke_reason = 'x'`,
    retired_by: `, status = 'retired', retired_at = now(), retire_reason = 'x'`,
    revoked_by: `, revoked_at = now(), revoke_reason = 'x'`,
    'node_certificates enrolment_id': `, certificate = 'x'`,
    'allocations node_id': `, state = 'active', username_on_node = 'gh-abcdef'`,
    ended_by: `, state = 'retired', ended_at = now(), end_reason = 'x'`,
    'role_definitions disabled_by': `, state = 'disabled', disabled_at = now(), disable_reason = 'x'`,
  }
  // What else the row must be so that nothing but the foreign key is in the way.
  const where: Record<string, string> = {
    'role_definitions tenant_id': 'id = :auditor',
    'role_definitions project_id': 'id = :builder',
    role_definitions: 'id = :auditor',
    projects: 'id = :inference',
    tenant_role_bindings: 'role_version_id = :v_tenant_owner',
    project_role_bindings: 'role_version_id = :v_project_owner',
    role_definition_versions: 'id = :auditor_2',
    role_permissions: 'role_version_id = :auditor_1',
    policy_values: `key = 'test.key' and scope_type = 'global'`,
    'policy_values tenant_id': `key = 'test.key' and scope_type = 'tenant'`,
    'policy_values project_id': `key = 'test.key' and scope_type = 'project'`,
    shared_app_runtimes: 'id = :runtime_2',
    ssh_public_keys: 'user_id is not null',
    task_signers: `state = 'active'`,
    'allocations node_id': `id = :allocation`,
    policy_constraints: `scope_type = 'global'`,
    'policy_constraints tenant_id': `scope_type = 'tenant'`,
    'policy_constraints project_id': `scope_type = 'project'`,
  }
  const before = `insert into role_definition_versions (id, role_definition_id, version, created_at) values (:auditor_2, :auditor, 2, now());
    ${tenantBinding('aurora', 'bob', 'v_tenant_owner')}; ${projectBinding('training', 'bob', 'v_project_owner')};
    ${policyValue('tenant', ':aurora', 'null')}; ${policyValue('project', 'null', ':training')};
    ${constraint('tenant', ':aurora', 'null')}; ${constraint('project', 'null', ':training')};`
  const wrong: string[] = []
  for (const { relation, name, column } of rows) {
    const which = where[`${relation} ${column}`] ?? where[relation] ?? 'true'
    const value = column === 'key' ? `'no.such'` : ':nowhere'
    const got = await violatedBy(
      `${before} update ${relation} set ${column} = ${value}${companions[`${relation} ${column}`] ?? companions[column] ?? ''} where ${which}`,
    )
    // The rule that a role must fit looks first, and finds no role.
    const expected = /_role_bindings$/.test(relation) && column.startsWith('role_') ? 'role_not_assignable' : name
    if (got !== expected) wrong.push(`${relation}.${column}: ${got} instead of ${expected}`)
  }
  expect(wrong).toEqual([])
})
