import type { PolicyKey } from '@gatehouse/server/rails/policies/policy-definitions'

/** What keeps something from growing without end. */
export type Bound =
  /** A policy limits how many there are at a time, or how many come in a time. */
  | { readonly policy: PolicyKey; readonly note?: string }
  /** A job of the server deletes what is over, now and then; named by its function in `main.ts`. */
  | { readonly prune: string; readonly note?: string }
  /** It stays. */
  | { readonly for_ever: string }
  /** As many as the code says. */
  | { readonly fixed: string }

const proves = 'the row says who had what, until when and by whom it ended; audit rows name it by its id'
const history = (what: string): Bound => ({ for_ever: `${what}: ${proves}` })

/** Of every table. */
export const tableBounds: Readonly<Record<string, Bound>> = {
  allocation_access_grants: { policy: 'access.max_grants_per_allocation', note: `ended ones stay: ${proves}` },
  allocation_devices: { for_ever: `one row for each GPU of an allocation, which has 64 at most: ${proves}` },
  allocation_ssh_public_keys: { policy: 'access.max_ssh_keys', note: 'a set for each allocation, of keys that are registered' },
  allocations: { policy: 'allocations.max_requested_per_project', note: `released ones stay: ${proves}` },
  audit_heads: { for_ever: 'one row for each tenant: the end of its audit chain' },
  audit_logs: { for_ever: 'the record is append-only; a row that is removed breaks the chain' },
  epochs: {
    for_ever:
      'one row for each tenant: its number of changes. Without the row, servers would take what they keep of the tenant for unchanged',
  },
  idempotency_keys: { prune: 'forget-old-answers' },
  installation: { fixed: 'one row' },
  installation_secrets: { fixed: 'one row for each purpose' },
  invitations: {
    for_ever: `one row for each invitation; only the limit on requests bounds how many are made. Each is open for \`tenancy.invitation_ttl_seconds\`, and stays: ${proves}`,
  },
  issued_tokens: { prune: 'forget-tokens', note: 'after `auth.expired_token_retention_seconds`; the record of the issuance stays' },
  node_authorities: { for_ever: 'one row for each installation: its key signs the certificates of nodes, and they are verified by it' },
  node_certificates: history('one row a day for each node'),
  node_enrolments: history('one row for each enrolment'),
  node_events: { prune: 'forget-node-events' },
  node_tasks: { for_ever: 'one row for each task: the evidence of what a node was asked to do, who signed it, and what the node reported' },
  nodes: history('one row for each machine'),
  organizations: { for_ever: 'ids are never used again, and everything of a tenant refers to its row' },
  platform_role_bindings: history('one row for each binding'),
  policy_constraints: {
    for_ever: 'one row for each version of a rule: a recorded decision names the version. At most 200 rules of a scope are in force',
  },
  policy_definitions: { fixed: 'a mirror of the code' },
  policy_values: { for_ever: 'one row for each version of a value: a recorded decision rests on the value of its time' },
  project_memberships: history('one row for each membership'),
  project_role_bindings: history('one row for each binding'),
  projects: { for_ever: 'ids are never used again, and everything of a project refers to its row' },
  role_definition_versions: { for_ever: 'bindings and audit rows name a version' },
  role_definitions: { for_ever: 'bindings and audit rows name a role' },
  role_permissions: { for_ever: 'the permissions of a version, which never change' },
  schema_migrations: { fixed: 'one row for each migration' },
  service_account_keys: { policy: 'auth.service_account_max_keys', note: `ended ones stay: ${proves}` },
  service_accounts: { policy: 'auth.max_service_accounts_per_project', note: `deleted ones stay: ${proves}` },
  shared_app_runtimes: history('one row for each runtime'),
  shared_runtime_attachments: history('one row for each attachment'),
  shared_runtime_credentials: {
    policy: 'shared_runtimes.max_credentials_per_runtime',
    note: `ended ones stay without their secret: ${proves}`,
  },
  shared_runtime_members: { fixed: 'each report of a runtime replaces the former one' },
  shared_runtime_operator_credentials: { policy: 'auth.max_operator_credentials_per_runtime', note: `ended ones stay: ${proves}` },
  signing_keys: { for_ever: 'one row for each rotation: a token names its key, and the record names it after the token has expired' },
  ssh_public_keys: { policy: 'access.max_ssh_keys', note: `deleted ones stay: ${proves}` },
  ssh_sessions: {
    for_ever: 'one row for each session on a node: the only evidence of who was inside. People who may log in decide how many there are',
  },
  task_signers: { for_ever: 'one row for each rotation: a task names its signer' },
  tenant_memberships: history('one row for each membership'),
  tenant_role_bindings: history('one row for each binding'),
  token_cutoffs: {
    for_ever:
      'one row for each act that ended many tokens, with who did it and why. A token that it ends has expired after `auth.iam_token_issuer.max_ttl_seconds`; the row is kept as the record of the act',
  },
  used_proofs: { prune: 'forget-used-proofs' },
  users: { for_ever: 'ids are never used again, and the record names people by their rows' },
  wrapped_deliveries: { prune: 'forget-deliveries' },
}

/** Of every map and set that outlives a request: the file and the name, and what bounds it. */
export const keptMaps: Readonly<Record<string, string>> = {
  'rails/audit/auth-rejections.ts counts':
    'one entry for each problem code, with a fixed number of sources; written and emptied each minute',
  'rails/authz/local-times.ts clocks': 'one entry for each time zone that a rule names; zones are checked against the list of the runtime',
  'rails/authz/standing.ts shared': '10 000 combinations of roles, the least recently used goes first',
  'ground/db/listen.ts waiting': 'one entry for each node that waits; leaves with the wait',
  'ground/db/statement.ts names': 'one entry for each statement of the code',
  'ground/epochs/fresh.ts kept': '200 000 entries, the least recently used goes first; nothing of a place for a stranger to it',
  'ground/epochs/rising.ts fallen': 'scopes whose epoch fell at the last read; leaves when it has risen',
  'ground/epochs/rising.ts highest': '100 000 scopes, the least recently used goes first',
  'ground/epochs/together.ts under_way': 'runs under way, of which there are at most `most_runs`',
  'rails/http/counted-refusals.ts refusals': 'a fixed number of nodes and reasons, the least recently used goes first',
  'rails/http/drain.ts sockets': 'open connections',
  'rails/http/held-up.ts tenants': 'one entry for each tenant with a change under way; leaves with it',
  'rails/http/few-places.ts line': 'one entry for each tenant that tries again after a held lock; leaves with it',
  'rails/http/tenant-turns.ts allowances': '10 000 tenants, the least recently used goes first',
  'rails/http/tenant-turns.ts asking': 'tenants that asked in the last quarter of a second',
  'rails/http/tenant-turns.ts waiting': 'requests in flight; refused when their turn does not come in time',
  'rails/http/rate.ts minutes': '100 000 callers, the least recently used goes first',
  'rails/http/tenant-queues.ts queues': 'one entry for each tenant with a request under way, at most 500 of a tenant',
  'ground/installation/checkpoint-log.ts heads': 'one entry for each audit chain',
  'ground/kernel/recently-used.ts old': 'half of the bound that its maker names',
  'ground/kernel/recently-used.ts young': 'half of the bound that its maker names',
  'machines/keys/key-set.ts verifying': 'one entry for each signing key that has not ended',
  'machines/keys/signer.ts opened': '4 keys, the least recently used goes first',
  'fleet/node-tasks/node-waits.ts nodes': 'one entry for each node that waits; leaves with the wait',
  'fleet/nodes/refusal-recorder.ts minutes': '10 000 sources, the least recently used goes first',
  'rails/policies/constraint-chain.ts kept': '20 000 rules, the least recently used goes first',
  'rails/policies/read-policy.ts onPlatform': 'one entry for each policy of the code',
  'people/principals/identify-person.ts said_at': 'a fixed number of people, the least recently used goes first',
  'people/principals/oidc/verified-before.ts known': '10 000 tokens, the least recently used goes first',
  'fleet/task-signers/task-signing.ts opened': '4 keys, the least recently used goes first',
  'ground/telemetry/bucketed.ts known': 'one entry for each value of a label, from a closed list',
  'machines/tokens/keep-found.ts kept': '100 000 rows that never change, the least recently used goes first',
  'machines/tokens/lanes.ts lanes': 'one entry for each tenant with a token under way, at most 2 000 of a tenant',
  'machines/tokens/last-uses.ts noted': '50 000 keys, the least recently used goes first',
  'machines/tokens/record-denial.ts aside': 'records of refusals that are still being written',
  'machines/tokens/slow-down.ts minutes': '50 000 keys and reasons, the least recently used goes first',
  'machines/tokens/slow-down.ts recorded': '50 000 keys and reasons, the least recently used goes first',
  'machines/tokens/slow-down.ts wrongs': '50 000 keys and sources, the least recently used goes first',
}

/** Maps and sets that end with the call that makes them, or never change. */
export const passingMaps: readonly string[] = [
  ...['rails/audit/verify-chains.ts nothing', 'rails/audit/verify-chains.ts verifyChains', 'rails/audit/verify-chains.ts walks'],
  ...[
    'rails/authz/attributes.ts seen',
    'rails/authz/authorize.ts nothing',
    'rails/authz/facts.ts noRelations',
    'rails/authz/local-times.ts noTimes',
  ],
  ...[
    'rails/authz/standing.ts nothing',
    'ground/db/copy/table-order.ts ancestors',
    'ground/epochs/fresh.ts loaded',
    'ground/epochs/fresh.ts nowhen',
  ],
  ...['rails/http/allowed-methods.ts routes', 'ground/installation/accepted-gaps.ts gaps', 'ground/installation/accepted-gaps.ts last'],
  ...['ground/epochs/moment.ts epochs', 'rails/http/read-form.ts seen', 'rails/http/validation.ts entries'],
  ...['ground/installation/checkpoint.ts memory', 'ground/kernel/weak-keys.ts found', 'people/principals/oidc/issuer-settings.ts seen'],
  ...[
    'people/principals/oidc/verification-keys.ts seen',
    'people/principals/oidc/verification-keys.ts usable',
    'fleet/ssh-sessions/report-node-events.ts found',
  ],
  ...[
    'machines/tokens/claims.ts known',
    'machines/tokens/credential-gate.ts none',
    'machines/tokens/normalise-scope.ts keys',
    'rails/authz/carried-keys.ts nothing',
  ],
  'machines/tokens/token-policy.ts known',
  'machines/tokens/shared-payer.ts of_tenant',
]
