import { canonicalJson } from '@gatehouse/contract/canonical-json'

export type Sql = <Row = Record<string, unknown>>(text: string, values?: unknown[]) => Promise<Row[]>

/** What the tables say about who is where, as what. Every entry is one line of text, so that two worlds can be compared. */
export interface State {
  readonly organizations: Map<string, { state: string; name: string | null }>
  readonly projects: Map<string, { state: string; name: string | null }>
  readonly members: Set<string>
  /** Who is bound to what; of a custom role also to which version. */
  readonly roles: Set<string>
  readonly definitions: Map<string, { name: string; is_builtin: boolean; version: number; permissions: string; state: string }>
  /** Those that nobody has accepted or ended. */
  readonly invitations: Set<string>
  readonly users: Map<string, { is_disabled: boolean }>
  /** By scope and key. */
  readonly policies: Map<string, { version: number; value: string }>
  readonly constraints: Map<string, { version: number; document: string }>
  /** Cut-offs by what they are of, and the tokens that were revoked one by one. */
  readonly cutoffs: Map<string, number>
  /** Of each token whose it is, and by which key. */
  readonly tokens: Map<string, string>
  /** In which state each key is. */
  readonly signing_keys: Map<string, string>
  /** Versions of the key that signs tasks, and in which state each is. */
  readonly task_signers: Map<string, string>
  /** Signs of life that nodes were asked for. */
  readonly probes: Set<string>
  /** In which state each service account is. */
  readonly service_accounts: Map<string, string>
  /** Of each key the account, when it ends, and whether it was revoked. */
  readonly account_keys: Map<string, string>
  /** In which state each node is. */
  readonly nodes: Map<string, string>
  /** Of each enrolment that is open, and of each certificate that has not ended, the node. */
  readonly node_enrolments: Map<string, string>
  readonly node_certificates: Map<string, string>
  /** Of each that is registered whose it is, and its fingerprint. */
  readonly ssh_keys: Map<string, string>
  /** Of each its state, and who owns it. */
  readonly allocations: Map<string, { state: string; owner: string | null }>
  /** The allocation and the key. */
  readonly allocation_keys: Set<string>
  /** Of each that nobody has ended: the allocation, the grantee, the key and its end. */
  readonly access_grants: Map<string, string>
  /** Of each its state, its version, and what its operator may do by itself. */
  readonly shared_runtimes: Map<string, { state: string; version: number; delegated: string }>
  /** Of each that counts the runtime, the project, and what that contributes. */
  readonly attachments: Map<string, string>
  /** Of each credential of an operator the runtime, and whether it was revoked. */
  readonly operator_keys: Map<string, string>
  /** How many each runtime has reported. */
  readonly runtime_members: Map<string, string>
  /** Of each that counts the runtime, its name and version, and whether it was delivered. */
  readonly runtime_credentials: Map<string, string>
  /** Of each that waits, or was opened, its subject. */
  readonly deliveries: Map<string, string>
}

export interface Recorded {
  readonly chain_id: string
  readonly seq: number
  readonly correlation_id: string
  readonly action: string
  readonly actor_id: string
  readonly resource_id: string
  readonly tenant_id: string | null
  readonly project_id: string | null
  // biome-ignore lint/suspicious/noExplicitAny: each action has its own
  readonly metadata: any
}

export const readState = async (sql: Sql): Promise<State> => {
  type Named = { id: string; state: string; name: string }
  const named = (rows: Named[]) => new Map(rows.map(({ id, state, name }) => [id, { state, name }]))
  const lines = async (text: string) => new Set((await sql<{ line: string }>(text)).map(({ line }) => line))
  const definitions = await sql<{ id: string; name: string; is_builtin: boolean; version: number; permissions: string; state: string }>(
    `select d.id, d.name, d.is_builtin, v.version, coalesce(d.disable_mode, d.state) as state,
            array_to_string(array(select p.permission_key from role_permissions p where p.role_version_id = v.id order by 1), ' ') as permissions
       from role_definitions d join role_definition_versions v on v.id = d.current_version_id where d.deleted_at is null`,
  )
  const policies = await sql<{ scope: string; key: string; version: number; value: unknown }>(
    `select coalesce(project_id, tenant_id)::text as scope, key, version, value from policy_values where replaced_at is null`,
  )
  const constraints = await sql<{ id: string; version: number; document: object }>(
    `select constraint_id as id, version, jsonb_build_object('scope', scope_type, 'key', key, 'description', description, 'actions', actions,
            'effect', effect, 'condition', condition, 'time_zone', time_zone, 'is_locked', is_locked, 'state', state) as document
       from policy_constraints where replaced_at is null`,
  )
  const task_signers = await sql<{ kid: string; state: string }>('select kid, state from task_signers')
  const signing_keys = await sql<{ kid: string; state: string }>('select kid, state from signing_keys')
  const cutoffs = await sql<{ line: string; n: number }>(
    `select concat_ws(' ', subject_type, subject_id) as line, count(*)::int as n from token_cutoffs group by 1
     union all select 'token ' || id, 1 from issued_tokens where revoked_at is not null`,
  )
  const tokens = await sql<{ id: string; line: string }>(
    `select id, actor_type || ' ' || actor_id || ' ' || credential_id || ' ' || array_to_string(scope, ' ') as line from issued_tokens`,
  )
  const service_accounts = await sql<{ id: string; state: string }>(`select id, state from service_accounts where state <> 'deleted'`)
  const account_keys = await sql<{ id: string; line: string }>(
    `select k.id, s.id || ' ' || coalesce(to_char(k.expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), '-')
            || case when k.revoked_at is null then '' else ' revoked' end as line
       from service_account_keys k join service_accounts s on s.id = k.service_account_id and s.state <> 'deleted'`,
  )
  const lineById = async (text: string) => new Map((await sql<{ id: string; line: string }>(text)).map(({ id, line }) => [id, line]))
  const ssh_keys = await sql<{ id: string; line: string }>(
    `select id, coalesce(user_id, project_id) || ' ' || fingerprint as line from ssh_public_keys where deleted_at is null`,
  )
  const allocations = await sql<{ id: string; state: string; owner: string | null }>(
    'select id, state, owner_user_id as owner from allocations',
  )
  const shared_runtimes = await sql<{ id: string; state: string; version: number; delegated: string }>(
    `select id, state, version, concat_ws(' ', array_to_string(delegated_actions, ','), delegated_contribution_policy, array_to_string(eligible_project_ids, ',')) as delegated
       from shared_app_runtimes where state <> 'deleted'`,
  )
  const users = await sql<{ id: string; is_disabled: boolean }>('select id, disabled_at is not null as is_disabled from users')
  return {
    organizations: named(await sql<Named>('select id, state, name from organizations where deleted_at is null')),
    projects: named(await sql<Named>('select id, state, name from projects')),
    members: await lines(`
      select tenant_id || ' ' || user_id as line from tenant_memberships where deleted_at is null
      union all select project_id || ' ' || user_id from project_memberships where deleted_at is null`),
    roles: await lines(`
      select b.scope || ' ' || b.principal_id || ' ' || d.name || case when d.is_builtin then '' else '@' || v.version end as line
        from (select tenant_id::text as scope, principal_id, role_version_id from tenant_role_bindings where deleted_at is null
              union all select project_id::text, principal_id, role_version_id from project_role_bindings where deleted_at is null
              union all select 'platform', p.principal_id, r.current_version_id
                from platform_role_bindings p join role_definitions r on r.id = p.role_definition_id where p.deleted_at is null) b
        join role_definition_versions v on v.id = b.role_version_id join role_definitions d on d.id = v.role_definition_id`),
    definitions: new Map(definitions.map(({ id, ...definition }) => [id, definition])),
    invitations: await lines('select id::text as line from invitations where accepted_at is null and ended_at is null'),
    users: new Map(users.map(({ id, is_disabled }) => [id, { is_disabled }])),
    policies: new Map(policies.map(({ scope, key, version, value }) => [`${scope} ${key}`, { version, value: canonicalJson(value) }])),
    service_accounts: new Map(service_accounts.map(({ id, state }) => [id, state])),
    account_keys: new Map(account_keys.map(({ id, line }) => [id, line])),
    nodes: await lineById('select id, status as line from nodes'),
    node_enrolments: await lineById('select id, node_id as line from node_enrolments where ended_at is null'),
    node_certificates: await lineById('select serial as id, node_id as line from node_certificates where ended_at is null'),
    ssh_keys: new Map(ssh_keys.map(({ id, line }) => [id, line])),
    allocations: new Map(allocations.map(({ id, ...allocation }) => [id, allocation])),
    allocation_keys: await lines(
      `select allocation_id || ' ' || ssh_key_id as line from allocation_ssh_public_keys where ended_at is null`,
    ),
    access_grants: await lineById(
      `select id, allocation_id || ' ' || grantee_user_id || ' ' || ssh_key_id || ' '
              || coalesce(to_char(expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), '-') as line
         from allocation_access_grants where ended_at is null`,
    ),
    shared_runtimes: new Map(shared_runtimes.map(({ id, ...runtime }) => [id, runtime])),
    attachments: await lineById(
      `select id, shared_runtime_id || ' ' || project_id || ' ' || contribution_policy as line from shared_runtime_attachments where detached_at is null`,
    ),
    operator_keys: await lineById(
      `select c.id, r.id || case when c.revoked_at is null then '' else ' revoked' end as line
         from shared_runtime_operator_credentials c join shared_app_runtimes r on r.id = c.shared_runtime_id and r.state <> 'deleted'`,
    ),
    runtime_members: await lineById('select shared_runtime_id as id, count(*)::text as line from shared_runtime_members group by 1'),
    runtime_credentials: await lineById(
      `select id, shared_runtime_id || ' ' || name || ' ' || version || ' ' || state as line from shared_runtime_credentials where state <> 'revoked'`,
    ),
    // That one is over is not told: nobody did it.
    deliveries: await lineById(`select id, subject_id || ' ' || state as line from wrapped_deliveries where state <> 'revoked'`),
    task_signers: new Map(task_signers.map(({ kid, state }) => [kid, state])),
    probes: await lines(`select id::text as line from node_tasks where type = 'diag.health_probe' and state <> 'expired'`),
    signing_keys: new Map(signing_keys.map(({ kid, state }) => [kid, state])),
    tokens: new Map(tokens.map(({ id, line }) => [id, line])),
    cutoffs: new Map(cutoffs.map(({ line, n }) => [line, n])),
    constraints: new Map(constraints.map(({ id, version, document }) => [id, { version, document: canonicalJson(document) }])),
  }
}

/** The rows that tell of a change, each chain in its order: a chain's lock is held until the commit, so its order is theirs. */
export const readRecord = (sql: Sql): Promise<Recorded[]> =>
  sql<Recorded>(`
    select chain_id, seq::int as seq, correlation_id, action, actor_id, resource_id, tenant_id, project_id, metadata
      from audit_logs where result = 'success' order by chain_id, seq`)

const endRoles = (state: State, scope: string, user_id: string) => {
  state.members.delete(`${scope} ${user_id}`)
  for (const line of state.roles) if (line.startsWith(`${scope} ${user_id} `)) state.roles.delete(line)
}

type Step = (state: State, row: Recorded) => boolean

const cutOff = (state: State, line: string): true => {
  state.cutoffs.set(line, line.startsWith('token ') ? 1 : (state.cutoffs.get(line) ?? 0) + 1)
  return true
}

const found =
  (kind: 'organizations' | 'projects', role: string): Step =>
  (state, { resource_id, metadata }) => {
    if (state[kind].has(resource_id)) return false
    // The name is not in the record; it is known from the first time that it changes.
    state[kind].set(resource_id, { state: 'active', name: null })
    state.members.add(`${resource_id} ${metadata.owner_user_id}`)
    state.roles.add(`${resource_id} ${metadata.owner_user_id} ${role}`)
    return true
  }
const rename =
  (kind: 'organizations' | 'projects'): Step =>
  (state, { resource_id, metadata }) => {
    const one = state[kind].get(resource_id)
    if (!one || (one.name !== null && one.name !== metadata.name.from)) return false
    one.name = metadata.name.to
    return true
  }
const move =
  (kind: 'organizations' | 'projects', from: string, to: string): Step =>
  (state, { resource_id }) => {
    const one = state[kind].get(resource_id)
    if (!one || one.state !== from) return false
    one.state = to
    // Its machine tokens end with it, whichever way it moves.
    return cutOff(state, `${kind === 'organizations' ? 'organization' : 'project'} ${resource_id}`)
  }
const turn =
  (to: boolean): Step =>
  (state, { resource_id }) => {
    const one = state.users.get(resource_id)
    if (!one || one.is_disabled === to) return false
    one.is_disabled = to
    return true
  }

/** The life of a key, of those that tokens are signed with or of those that tasks are. */
const livesOf = (which: 'signing_keys' | 'task_signers', noun: string): Readonly<Record<string, Step>> => {
  const come =
    (as: string): Step =>
    (state, { resource_id }) => {
      if (state[which].has(resource_id)) return false
      state[which].set(resource_id, as)
      return true
    }
  const turnKey =
    (from: readonly string[], to: string): Step =>
    (state, { resource_id }) => {
      if (!from.includes(state[which].get(resource_id) ?? '')) return false
      state[which].set(resource_id, to)
      return true
    }
  return {
    [`${noun}.stage`]: come('staged'),
    // Made to sign at once, or staged before.
    [`${noun}.activate`]: (state, row) =>
      state[which].has(row.resource_id) ? turnKey(['staged'], 'active')(state, row) : come('active')(state, row),
    [`${noun}.rotate`]: (state, row) => {
      const { from_kid } = row.metadata
      if (from_kid !== null && !turnKey(['active'], 'grace')(state, { ...row, resource_id: from_kid })) return false
      return turnKey(['staged'], 'active')(state, row)
    },
    [`${noun}.retire`]: turnKey(['staged', 'grace'], 'retired'),
    [`${noun}.revoke`]: (state, row) => {
      const { next_kid } = row.metadata
      if (!turnKey(['staged', 'active', 'grace'], 'revoked')(state, row)) return false
      return next_kid === null || turnKey(['staged'], 'active')(state, { ...row, resource_id: next_kid })
    },
  }
}

const turnAccount =
  (from: string, to: string): Step =>
  (state, { resource_id }) => {
    if (state.service_accounts.get(resource_id) !== from) return false
    state.service_accounts.set(resource_id, to)
    return true
  }
const comeKey: Step = (state, { resource_id, metadata: { service_account_id, expires_at } }) => {
  if (!state.service_accounts.has(service_account_id) || state.account_keys.has(resource_id)) return false
  state.account_keys.set(resource_id, `${service_account_id} ${expires_at ?? '-'}`)
  return true
}
/** With its end, where it has one now; else it is revoked. */
const endKey = (state: State, key_id: string, ends_at: string | null): boolean => {
  const line = state.account_keys.get(key_id)
  if (line === undefined || line.endsWith(' revoked')) return false
  state.account_keys.set(key_id, ends_at === null ? `${line} revoked` : `${line.split(' ')[0]} ${ends_at}`)
  return true
}

const scopeOf = ({ tenant_id, project_id }: Recorded) => project_id ?? tenant_id ?? 'platform'
/** Takes the binding to this role away, whichever version it is of. */
const unbind = (state: State, scope: string, principal_id: string, name: string): boolean => {
  const bound = `${scope} ${principal_id} ${name}`
  for (const line of state.roles) if (line === bound || line.startsWith(`${bound}@`)) return state.roles.delete(line)
  return false
}
const define = (state: State, { resource_id, metadata }: Recorded): boolean => {
  const known = state.definitions.get(resource_id)
  if ((known?.version ?? 0) !== metadata.version - 1) return false
  const permissions = [...metadata.permissions].sort().join(' ')
  const { name, version } = metadata
  state.definitions.set(resource_id, { name, is_builtin: false, version, permissions, state: known?.state ?? 'active' })
  return true
}
const switchRole = (state: State, { resource_id }: Recorded, to: string): boolean => {
  const role = state.definitions.get(resource_id)
  if (!role || role.state === to) return false
  role.state = to
  return true
}

const policyOf = ({ tenant_id, project_id, metadata }: Recorded) => `${project_id ?? tenant_id} ${metadata.key}`
const writeConstraint = (state: State, { resource_id, metadata: { version, reason: _reason, ...document } }: Recorded): boolean => {
  if ((state.constraints.get(resource_id)?.version ?? 0) !== version - 1) return false
  state.constraints.set(resource_id, { version, document: canonicalJson(document) })
  return true
}

const offerNode = (state: State, { resource_id, metadata: { enrolment_id } }: Recorded): boolean => {
  // There is one: the one before it is void.
  for (const [id, node_id] of state.node_enrolments) if (node_id === resource_id) state.node_enrolments.delete(id)
  state.node_enrolments.set(enrolment_id, resource_id)
  return true
}
const turnNode = (state: State, { resource_id }: Recorded, from: readonly string[], to: string): boolean => {
  if (!from.includes(state.nodes.get(resource_id) ?? '')) return false
  state.nodes.set(resource_id, to)
  return true
}
const vouch = (state: State, { resource_id, metadata: { serial, ended } }: Recorded): boolean => {
  for (const each of ended) if (!state.node_certificates.delete(each)) return false
  state.node_certificates.set(serial, resource_id)
  return true
}

const register: Step = (state, { resource_id, actor_id, project_id, metadata }) => {
  if (state.ssh_keys.has(resource_id)) return false
  state.ssh_keys.set(resource_id, `${project_id ?? actor_id} ${metadata.fingerprint}`)
  return true
}
const unregister: Step = (state, { resource_id, actor_id, project_id, metadata }) =>
  state.ssh_keys.get(resource_id) === `${project_id ?? actor_id} ${metadata.fingerprint}` && state.ssh_keys.delete(resource_id)

const endAllocationKeys = (state: State, id: string) => {
  for (const line of state.allocation_keys) if (line.startsWith(`${id} `)) state.allocation_keys.delete(line)
}
const moveAllocation = (state: State, id: string, to: string, from?: string): boolean => {
  const one = state.allocations.get(id)
  if (!one || (from !== undefined && one.state !== from)) return false
  one.state = to
  return true
}
const own = (state: State, id: string, owner: string | null, former?: string | null): boolean => {
  const one = state.allocations.get(id)
  if (!one || (former !== undefined && one.owner !== former)) return false
  one.owner = owner
  return true
}

const grantLine = ({ allocation_id, grantee_user_id, ssh_key_id, expires_at }: Recorded['metadata']): string =>
  `${allocation_id} ${grantee_user_id} ${ssh_key_id} ${expires_at ?? '-'}`
const letIn: Step = (state, { resource_id, metadata }) => {
  if (state.access_grants.has(resource_id) !== (metadata.updated === true)) return false
  state.access_grants.set(resource_id, grantLine(metadata))
  return true
}

const delegatedLine = ({ delegated_actions, delegated_contribution_policy, eligible_project_ids }: Recorded['metadata']): string =>
  `${delegated_actions.join()} ${delegated_contribution_policy} ${eligible_project_ids.join()}`
const moveRuntime: Step = (state, { resource_id, metadata: { from, to } }) => {
  const one = state.shared_runtimes.get(resource_id)
  if (!one || one.state !== from) return false
  one.state = to
  return true
}
const attachmentLine = ({ project_id, metadata }: Recorded, policy = metadata.contribution_policy): string =>
  `${metadata.shared_runtime_id} ${project_id} ${policy}`
const onRuntimes: Readonly<Record<string, Step>> = {
  'shared_runtime.create': (state, { resource_id, metadata }) => {
    if (state.shared_runtimes.has(resource_id)) return false
    state.shared_runtimes.set(resource_id, { state: 'requested', version: 1, delegated: delegatedLine(metadata) })
    return true
  },
  'shared_runtime.update': (state, { resource_id, metadata }) => {
    const one = state.shared_runtimes.get(resource_id)
    if (one?.version !== metadata.version - 1) return false
    Object.assign(one, { version: metadata.version, delegated: delegatedLine(metadata) })
    return true
  },
  'shared_runtime.disable': moveRuntime,
  'shared_runtime.enable': moveRuntime,
  'shared_runtime.delete': (state, { resource_id, metadata: { attachments_ended } }) => {
    // The first 200 have rows of their own before this one.
    const left = [...state.attachments].filter(([, line]) => line.startsWith(`${resource_id} `))
    for (const [id] of left) state.attachments.delete(id)
    state.runtime_members.delete(resource_id)
    for (const [key_id, line] of state.operator_keys) if (line.split(' ')[0] === resource_id) state.operator_keys.delete(key_id)
    cutOff(state, `actor ${resource_id}`)
    return left.length === Math.max(0, attachments_ended - 200) && state.shared_runtimes.delete(resource_id)
  },
  'shared_runtime.attachment.create': (state, row) => {
    const { resource_id, project_id, metadata } = row
    const isThere = [...state.attachments.values()].some((line) => line.startsWith(`${metadata.shared_runtime_id} ${project_id} `))
    if (isThere || !state.shared_runtimes.has(metadata.shared_runtime_id)) return false
    state.attachments.set(resource_id, attachmentLine(row))
    return true
  },
  'shared_runtime.attachment.update': (state, row) => {
    if (state.attachments.get(row.resource_id) !== attachmentLine(row, row.metadata.from)) return false
    state.attachments.set(row.resource_id, attachmentLine(row))
    return true
  },
  'shared_runtime.attachment.delete': (state, { resource_id, metadata: { shared_runtime_id, eligible_project_ids, version } }) => {
    const one = state.shared_runtimes.get(shared_runtime_id)
    if (one && version !== undefined) {
      if (one.version !== version - 1) return false
      const [actions, policy] = one.delegated.split(' ')
      Object.assign(one, { version, delegated: `${actions} ${policy} ${eligible_project_ids.join()}` })
    }
    return state.attachments.delete(resource_id)
  },
  'shared_runtime.operator_credential.create': (state, { resource_id, metadata: { shared_runtime_id } }) => {
    if (!state.shared_runtimes.has(shared_runtime_id) || state.operator_keys.has(resource_id)) return false
    state.operator_keys.set(resource_id, shared_runtime_id)
    return true
  },
  'shared_runtime.operator_credential.revoke': (state, { resource_id, metadata: { shared_runtime_id } }) => {
    if (state.operator_keys.get(resource_id) !== shared_runtime_id) return false
    state.operator_keys.set(resource_id, `${shared_runtime_id} revoked`)
    return true
  },
  'shared_runtime.operator_credential.end': (state, { resource_id, metadata: { count } }) =>
    count > 0 && !state.shared_runtimes.has(resource_id),
  'shared_runtime.status.report': (state, { resource_id, metadata: { is_taken, state: to } }) => {
    const one = state.shared_runtimes.get(resource_id)
    if (!one || one.state === 'disabled') return false
    if (is_taken) one.state = to
    return true
  },
  'shared_runtime.members.report': (state, { resource_id, metadata: { is_taken, members } }) => {
    if (!state.shared_runtimes.has(resource_id)) return false
    if (is_taken) state.runtime_members.set(resource_id, `${members}`)
    if (is_taken && members === 0) state.runtime_members.delete(resource_id)
    return true
  },
}

const endDeliveries = (state: State, ended: readonly string[]): boolean =>
  ended.every((id) => state.deliveries.get(id)?.endsWith(' waiting') === true && state.deliveries.delete(id))
const onDeliveries: Readonly<Record<string, Step>> = {
  'shared_runtime.credential.deposit': (state, { resource_id, metadata }) => {
    const { shared_runtime_id, name, version, updated, replaces, replaced_version, deliveries_ended } = metadata
    const isReplaced = state.runtime_credentials.get(replaces)?.startsWith(`${shared_runtime_id} ${name} ${replaced_version} `)
    if (updated && !(isReplaced && state.runtime_credentials.delete(replaces) && endDeliveries(state, deliveries_ended))) return false
    state.runtime_credentials.set(resource_id, `${shared_runtime_id} ${name} ${version} active`)
    return state.shared_runtimes.has(shared_runtime_id)
  },
  'shared_runtime.credential.revoke': (state, { resource_id, metadata: { deliveries_ended } }) =>
    endDeliveries(state, deliveries_ended) && state.runtime_credentials.delete(resource_id),
  'shared_runtime.credential.deliver': (state, { actor_id, resource_id, metadata: { delivery_id } }) => {
    if (!state.runtime_credentials.get(resource_id)?.startsWith(`${actor_id} `)) return false
    state.deliveries.set(delivery_id, `${resource_id} waiting`)
    return true
  },
  'shared_runtime.deliveries.end': (state, { metadata: { deliveries_ended } }) => endDeliveries(state, deliveries_ended),
  'delivery.unwrap': (state, { actor_id, resource_id, metadata: { subject_id, name, version } }) => {
    const of = `${actor_id} ${name} ${version} `
    if (state.deliveries.get(resource_id) !== `${subject_id} waiting` || !state.runtime_credentials.get(subject_id)?.startsWith(of))
      return false
    state.deliveries.set(resource_id, `${subject_id} opened`)
    state.runtime_credentials.set(subject_id, `${of}delivered`)
    return true
  },
}

const mayBeIssuedTo = (state: State, actor_type: string, actor_id: string, key_id: string): boolean => {
  if (actor_type === 'shared_runtime_operator')
    return state.operator_keys.get(key_id) === actor_id && state.shared_runtimes.get(actor_id)?.state !== 'disabled'
  const line = state.account_keys.get(key_id)
  return state.service_accounts.get(actor_id) === 'active' && line?.startsWith(`${actor_id} `) === true && !line.endsWith(' revoked')
}

/** What each recorded action does to the world; false if it could not have happened there. */
export const steps: Readonly<Record<string, Step>> = {
  'auth.token.issue': (state, { actor_id, resource_id, metadata: { actor_type, key_id, scope } }) => {
    if (state.tokens.has(resource_id) || !mayBeIssuedTo(state, actor_type, actor_id, key_id)) return false
    state.tokens.set(resource_id, `${actor_type} ${actor_id} ${key_id} ${scope}`)
    return true
  },
  'auth.token.revoke': (state, { metadata: { subject_type, subject_id } }) =>
    cutOff(state, [subject_type, ...(subject_id === null ? [] : [subject_id])].join(' ')),
  'organization.create': found('organizations', 'tenant_owner'),
  'organization.update': rename('organizations'),
  'organization.suspend': move('organizations', 'active', 'suspended'),
  'organization.resume': move('organizations', 'suspended', 'active'),
  'organization.member.remove': (state, { tenant_id, metadata }) => {
    if (!state.members.has(`${tenant_id} ${metadata.user_id}`)) return false
    for (const scope of [tenant_id, ...metadata.ended_projects]) endRoles(state, scope, metadata.user_id)
    return true
  },
  'policy.constraint.create': writeConstraint,
  'policy.constraint.update': writeConstraint,
  'policy.constraint.delete': (state, { resource_id, metadata }) =>
    state.constraints.get(resource_id)?.version === metadata.version && state.constraints.delete(resource_id),
  'policy.value.set': (state, row) => {
    const { from, to, version } = row.metadata
    if ((state.policies.get(policyOf(row))?.value ?? 'null') !== canonicalJson(from)) return false
    state.policies.set(policyOf(row), { version, value: canonicalJson(to) })
    return true
  },
  'policy.value.remove': (state, row) =>
    state.policies.get(policyOf(row))?.version === row.metadata.version && state.policies.delete(policyOf(row)),
  'project.create': found('projects', 'project_owner'),
  'project.update': rename('projects'),
  'project.archive': move('projects', 'active', 'archived'),
  'project.restore': move('projects', 'archived', 'active'),
  'project.member.add': (state, { project_id, metadata: { user_id, role_name } }) => {
    if (state.members.has(`${project_id} ${user_id}`)) return false
    state.members.add(`${project_id} ${user_id}`)
    state.roles.add(`${project_id} ${user_id} ${role_name}`)
    return true
  },
  'project.member.remove': (state, { project_id, metadata }) => {
    if (!state.members.has(`${project_id} ${metadata.user_id}`)) return false
    endRoles(state, project_id!, metadata.user_id)
    return true
  },
  'invitation.create': (state, { resource_id, metadata }) => {
    if (metadata.expired !== null && !state.invitations.delete(metadata.expired)) return false
    if (state.invitations.has(resource_id)) return false
    state.invitations.add(resource_id)
    return true
  },
  'invitation.end': (state, { resource_id }) => state.invitations.delete(resource_id),
  'invitation.end_with_membership': (state, { metadata }) => metadata.invitation_ids.every((id: string) => state.invitations.delete(id)),
  'invitation.accept': (state, { resource_id, tenant_id, project_id, metadata: { user_id, role_name, joined } }) => {
    if (!state.invitations.delete(resource_id)) return false
    const scopes = { tenant: tenant_id, project: project_id }
    for (const tier of joined as ('tenant' | 'project')[]) state.members.add(`${scopes[tier]} ${user_id}`)
    state.roles.add(`${project_id ?? tenant_id} ${user_id} ${role_name}`)
    return true
  },
  'project.owner.appoint': (state, { project_id, metadata: { user_id } }) => {
    if ([...state.roles].some((line) => line.startsWith(`${project_id} `) && line.endsWith(' project_owner'))) return false
    state.members.add(`${project_id} ${user_id}`)
    state.roles.add(`${project_id} ${user_id} project_owner`)
    return true
  },
  'role.create': define,
  'role.update': define,
  'role.delete': (state, { resource_id }) => state.definitions.delete(resource_id),
  'role.disable': (state, row) => switchRole(state, row, row.metadata.mode),
  'role.enable': (state, row) => switchRole(state, row, 'active'),
  'role.upgrade': (state, row) => {
    const { name, from_version, to_version, moved, bindings } = row.metadata
    const on = [...state.roles].filter((line) => line.startsWith(`${scopeOf(row)} `) && line.endsWith(` ${name}@${from_version}`))
    for (const line of on) {
      state.roles.delete(line)
      state.roles.add(line.replace(/@\d+$/, `@${to_version}`))
    }
    return on.length === moved && bindings.length === moved
  },
  'role_binding.create': (state, row) => {
    const { principal_id, role_id, role_name, version, retired } = row.metadata
    if (unbind(state, scopeOf(row), principal_id, role_name) !== Boolean(retired)) return false
    state.roles.add(`${scopeOf(row)} ${principal_id} ${role_name}${state.definitions.get(role_id)?.is_builtin ? '' : `@${version}`}`)
    return true
  },
  'role_binding.end': (state, row) => unbind(state, scopeOf(row), row.metadata.principal_id, row.metadata.role_name),
  'service_account.create': (state, { resource_id }) => {
    if (state.service_accounts.has(resource_id)) return false
    state.service_accounts.set(resource_id, 'active')
    return true
  },
  'service_account.disable': turnAccount('active', 'disabled'),
  'service_account.enable': turnAccount('disabled', 'active'),
  'service_account.delete': (state, { resource_id, project_id }) => {
    for (const [key_id, line] of state.account_keys) if (line.startsWith(`${resource_id} `)) state.account_keys.delete(key_id)
    for (const line of state.roles) if (line.startsWith(`${project_id} ${resource_id} `)) state.roles.delete(line)
    return state.service_accounts.delete(resource_id)
  },
  'service_account.key.create': comeKey,
  'service_account.key.rotate': (state, row) => {
    const { replaces, overlap_seconds, ends_at } = row.metadata
    return endKey(state, replaces, overlap_seconds === 0 ? null : ends_at) && comeKey(state, row)
  },
  'service_account.key.revoke': (state, { resource_id }) => endKey(state, resource_id, null),
  'allocation.create': (state, { resource_id, metadata: { owner_user_id, ssh_key_ids } }) => {
    if (state.allocations.has(resource_id)) return false
    state.allocations.set(resource_id, { state: 'requested', owner: owner_user_id })
    for (const key of ssh_key_ids) state.allocation_keys.add(`${resource_id} ${key}`)
    return true
  },
  'allocation.provision': (state, { resource_id }) => moveAllocation(state, resource_id, 'provisioning', 'requested'),
  'allocation.activate': (state, { resource_id }) => moveAllocation(state, resource_id, 'active', 'provisioning'),
  'allocation.release': (state, { resource_id, metadata: { from, to } }) => {
    endAllocationKeys(state, resource_id)
    return moveAllocation(state, resource_id, to, from)
  },
  'allocation.released': (state, { resource_id }) => moveAllocation(state, resource_id, 'released', 'releasing'),
  'allocation.release_fail': (state, { resource_id }) => moveAllocation(state, resource_id, 'release_failed', 'releasing'),
  'allocation.fail': (state, { resource_id }) => {
    endAllocationKeys(state, resource_id)
    return moveAllocation(state, resource_id, 'failed')
  },
  'allocation.ssh_keys.replace': (state, { resource_id, metadata: { added, ended } }) => {
    for (const key of ended) if (!state.allocation_keys.delete(`${resource_id} ${key}`)) return false
    for (const key of added) state.allocation_keys.add(`${resource_id} ${key}`)
    return true
  },
  'allocation.access_grant.create': letIn,
  'allocation.access_grant.revoke': (state, { resource_id, metadata }) =>
    state.access_grants.get(resource_id) === grantLine(metadata) && state.access_grants.delete(resource_id),
  'allocation.ssh_keys.end': (state, { resource_id, metadata: { ended } }) =>
    ended.every((key: string) => state.allocation_keys.delete(`${resource_id} ${key}`)),
  'allocation.owner.name': (state, { resource_id, metadata: { user_id, former_owner_user_id, ended } }) => {
    for (const key of ended) state.allocation_keys.delete(`${resource_id} ${key}`)
    return own(state, resource_id, user_id, former_owner_user_id)
  },
  'allocation.owner.end': (state, { resource_id, metadata: { user_id } }) => own(state, resource_id, null, user_id),
  'node.authority.create': () => true,
  'node.create': (state, row) => {
    if (state.nodes.has(row.resource_id)) return false
    state.nodes.set(row.resource_id, 'active')
    return offerNode(state, row)
  },
  'node.enrolment.create': (state, row) => state.nodes.get(row.resource_id) !== 'retired' && offerNode(state, row),
  'node.drain': (state, row) => turnNode(state, row, ['active'], 'drained'),
  'node.undrain': (state, row) => turnNode(state, row, ['drained'], 'active'),
  'node.retire': (state, row) => {
    for (const [id, node_id] of state.node_enrolments) if (node_id === row.resource_id) state.node_enrolments.delete(id)
    for (const serial of row.metadata.certificates_ended) if (!state.node_certificates.delete(serial)) return false
    return turnNode(state, row, ['active', 'drained'], 'retired')
  },
  'node.enrol': (state, row) =>
    state.nodes.get(row.resource_id) !== 'retired' && state.node_enrolments.delete(row.metadata.enrolment_id) && vouch(state, row),
  // Told the same again.
  'node.enrol.repeat': (state, { metadata }) => state.node_certificates.has(metadata.serial),
  'node.certificate.renew': (state, row) => state.nodes.get(row.resource_id) !== 'retired' && vouch(state, row),
  'ssh_key.create': register,
  'ssh_key.delete': unregister,
  'project.ssh_key.create': register,
  'project.ssh_key.delete': unregister,
  ...onRuntimes,
  ...onDeliveries,
  ...livesOf('signing_keys', 'signing_key'),
  ...livesOf('task_signers', 'node.signer'),
  'node.probe': (state, { metadata: { task_id } }) => {
    if (state.probes.has(task_id)) return false
    state.probes.add(task_id)
    return true
  },
  'node.task.expire': (state, { resource_id }) => state.probes.delete(resource_id),
  // Told of, and nothing else.
  'node.task.overdue': () => true,
  'user.create': (state, { resource_id }) => {
    if (state.users.has(resource_id)) return false
    state.users.set(resource_id, { is_disabled: false })
    return true
  },
  'user.disable': turn(true),
  'user.enable': turn(false),
}

const linesOf = (state: State): Set<string> =>
  new Set([
    ...[...state.organizations].map(([id, { state: is }]) => `organization ${id} ${is}`),
    ...[...state.projects].map(([id, { state: is }]) => `project ${id} ${is}`),
    ...[...state.members].map((line) => `member ${line}`),
    ...[...state.roles].map((line) => `role ${line}`),
    ...[...state.definitions].map(
      ([id, { name, version, permissions, state: is }]) => `definition ${id} ${name} ${version} ${is}: ${permissions}`,
    ),
    ...[...state.invitations].map((id) => `invitation ${id}`),
    ...[...state.users].map(([id, { is_disabled }]) => `user ${id} ${is_disabled ? 'disabled' : 'active'}`),
    ...[...state.policies].map(([which, { version, value }]) => `policy ${which} ${version} ${value}`),
    ...[...state.tokens].map(([id, line]) => `token ${id}: ${line}`),
    ...[...state.cutoffs].map(([line, n]) => `cut-offs of ${line}: ${n}`),
    ...[...state.service_accounts].map(([id, is]) => `service account ${id} ${is}`),
    ...[...state.account_keys].map(([id, line]) => `service account key ${id} ${line}`),
    ...[...state.nodes].map(([id, line]) => `node ${id} ${line}`),
    ...[...state.node_enrolments].map(([id, line]) => `enrolment ${id} ${line}`),
    ...[...state.node_certificates].map(([id, line]) => `node certificate ${id} ${line}`),
    ...[...state.ssh_keys].map(([id, line]) => `ssh key ${id} ${line}`),
    ...[...state.allocations].map(([id, { state: is, owner }]) => `allocation ${id} ${is} of ${owner ?? 'nobody'}`),
    ...[...state.allocation_keys].map((line) => `key of the allocation ${line}`),
    ...[...state.access_grants].map(([id, line]) => `access grant ${id} ${line}`),
    ...[...state.shared_runtimes].map(([id, { state: is, version, delegated }]) => `shared runtime ${id} ${is} ${version} ${delegated}`),
    ...[...state.attachments].map(([id, line]) => `attachment ${id} ${line}`),
    ...[...state.operator_keys].map(([id, line]) => `credential of an operator ${id} ${line}`),
    ...[...state.runtime_members].map(([id, line]) => `members of the runtime ${id}: ${line}`),
    ...[...state.runtime_credentials].map(([id, line]) => `secret of a runtime ${id} ${line}`),
    ...[...state.deliveries].map(([id, line]) => `delivery ${id} ${line}`),
    ...[...state.signing_keys].map(([kid, is]) => `signing key ${kid} ${is}`),
    ...[...state.task_signers].map(([kid, is]) => `task signer ${kid} ${is}`),
    ...[...state.probes].map((id) => `probe ${id}`),
    ...[...state.constraints].map(([id, { version, document }]) => `constraint ${id} ${version} ${document}`),
  ])

const namesDiffer = (kind: 'organizations' | 'projects', told: State, seen: State): string[] =>
  [...told[kind]].flatMap(([id, { name }]) => {
    const is = seen[kind].get(id)?.name
    return name === null || name === is ? [] : [`${kind}: ${id} is called ${is}, but by the record ${name}`]
  })

/** Does again, on paper, what the record tells, and says where the paper and the tables differ. */
export const replayFaults = (before: State, record: readonly Recorded[], after: State): string[] => {
  const told: State = structuredClone(before)
  const faults: string[] = []
  for (const row of record) {
    const step = steps[row.action]
    if (step && !step(told, row)) faults.push(`recorded, but impossible: ${row.action} of ${row.resource_id} (${row.chain_id} ${row.seq})`)
  }
  const [paper, tables] = [linesOf(told), linesOf(after)]
  return [
    ...faults,
    ...[...paper].filter((line) => !tables.has(line)).map((line) => `recorded, but not there: ${line}`),
    ...[...tables].filter((line) => !paper.has(line)).map((line) => `there, but not recorded: ${line}`),
    ...namesDiffer('organizations', told, after),
    ...namesDiffer('projects', told, after),
  ]
}
