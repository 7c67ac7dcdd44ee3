import { readFileSync } from 'node:fs'
import type pg from 'pg'
import type { Question, Verdict } from './question.ts'

/** A world as it lies in the tables: of each row only what a decision could read. */
export interface Rows {
  users: { id: string; role: 'user' | 'admin'; disabled_at: string | null }[]
  organizations: { id: string; state: 'active' | 'suspended'; deleted_at: string | null }[]
  projects: { id: string; org_id: string; state: 'active' | 'archived' }[]
  tenant_memberships: { id: string; tenant_id: string; user_id: string; deleted_at: string | null }[]
  project_memberships: { id: string; project_id: string; user_id: string; deleted_at: string | null }[]
  role_definitions: {
    id: string
    scope_type: 'tenant' | 'project'
    tenant_id: string | null
    project_id: string | null
    name: string
    state: 'active' | 'disabled'
    /** Of one that is disabled for new bindings only: until when those it has still count. */
    grace_until?: string
    current_version_id: string
    deleted_at: string | null
  }[]
  role_definition_versions: { id: string; role_definition_id: string; version: number }[]
  role_permissions: { role_version_id: string; permission_key: string }[]
  platform_role_bindings: { id: string; principal_id: string; role_definition_id: string; deleted_at: string | null }[]
  tenant_role_bindings: {
    id: string
    tenant_id: string
    principal_id: string
    role_version_id: string
    expires_at: string | null
    deleted_at: string | null
  }[]
  project_role_bindings: {
    id: string
    project_id: string
    principal_type: 'user' | 'service_account'
    principal_id: string
    role_version_id: string
    expires_at: string | null
    deleted_at: string | null
  }[]
  service_accounts: { id: string; org_id: string; project_id: string; state: 'active' | 'disabled' | 'deleted' }[]
  shared_app_runtimes: {
    id: string
    org_id: string
    state: 'running' | 'degraded' | 'disabled' | 'deleted'
    delegated_actions: string[]
    eligible_project_ids: string[]
  }[]
  shared_runtime_attachments: { id: string; shared_runtime_id: string; org_id: string; project_id: string; detached_at: string | null }[]
  policy_constraints: {
    constraint_id: string
    version: number
    key: string
    scope_type: 'global' | 'tenant' | 'project'
    tenant_id: string | null
    project_id: string | null
    actions: string[]
    condition: object
    time_zone: string
    is_locked: boolean
    state: 'active' | 'disabled'
    replaced_at: string | null
  }[]
}

export type TableName = keyof Rows

export const noRows = (): Rows => ({
  users: [],
  organizations: [],
  projects: [],
  tenant_memberships: [],
  project_memberships: [],
  role_definitions: [],
  role_definition_versions: [],
  role_permissions: [],
  platform_role_bindings: [],
  tenant_role_bindings: [],
  project_role_bindings: [],
  service_accounts: [],
  shared_app_runtimes: [],
  shared_runtime_attachments: [],
  policy_constraints: [],
})

/** What a trigger would have filled in. */
const ofRole = { role_definition_id: '(select v.role_definition_id from role_definition_versions v where v.id = r.role_version_id)' }

/** Who and why, of what is disabled or deleted. */
const endedAs = (by: string): Record<string, string> => ({
  disabled_at: `case when r.state = 'disabled' then now() end`,
  disabled_by: `case when r.state = 'disabled' then ${by} end`,
  disable_reason: `case when r.state = 'disabled' then 'rests' end`,
  deleted_at: `case when r.state = 'deleted' then now() end`,
  deleted_by: `case when r.state = 'deleted' then ${by} end`,
  delete_reason: `case when r.state = 'deleted' then 'over' end`,
})

/** Columns that are copied as they are, and those that no decision reads, as SQL over the row `r`. */
const tables: Record<TableName, { copied: string; made?: Record<string, string> }> = {
  users: {
    copied: 'id, role, disabled_at',
    made: {
      username: `'p-' || r.id`,
      oidc_issuer: `'https://worlds.test'`,
      oidc_subject: 'r.id::text',
      created_at: 'now()',
      disabled_by: 'case when r.disabled_at is not null then r.id end',
      disable_reason: `case when r.disabled_at is not null then 'left' end`,
    },
  },
  organizations: {
    copied: 'id, state, deleted_at',
    made: {
      type: `'enterprise'`,
      name: `'Org'`,
      slug: `'o-' || r.id`,
      created_at: 'now()',
      deleted_by: 'case when r.deleted_at is not null then r.id end',
      delete_reason: `case when r.deleted_at is not null then 'closed' end`,
    },
  },
  projects: { copied: 'id, org_id, state', made: { name: `'Project'`, slug: `'p-' || r.id`, created_at: 'now()' } },
  tenant_memberships: {
    copied: 'id, tenant_id, user_id, deleted_at',
    made: { created_at: 'now()', delete_reason: `case when r.deleted_at is not null then 'left' end` },
  },
  project_memberships: {
    copied: 'id, project_id, user_id, deleted_at',
    made: { created_at: 'now()', delete_reason: `case when r.deleted_at is not null then 'left' end` },
  },
  role_definitions: {
    copied: 'id, scope_type, tenant_id, project_id, name, state, grace_until, current_version_id, deleted_at',
    made: {
      is_builtin: 'false',
      created_at: 'now()',
      disable_mode: `case when r.grace_until is not null then 'block_new_only' end`,
      deleted_by_user_id: 'case when r.deleted_at is not null then r.id end',
      delete_reason: `case when r.deleted_at is not null then 'unused' end`,
    },
  },
  role_definition_versions: { copied: 'id, role_definition_id, version', made: { created_at: 'now()' } },
  role_permissions: { copied: 'role_version_id, permission_key' },
  platform_role_bindings: {
    copied: 'id, principal_id, role_definition_id, deleted_at',
    made: { principal_type: `'user'`, created_at: 'now()', delete_reason: `case when r.deleted_at is not null then 'over' end` },
  },
  tenant_role_bindings: {
    copied: 'id, tenant_id, principal_id, role_version_id, expires_at, deleted_at',
    made: { ...ofRole, principal_type: `'user'`, created_at: 'now()', delete_reason: `case when r.deleted_at is not null then 'over' end` },
  },
  project_role_bindings: {
    copied: 'id, project_id, principal_type, principal_id, role_version_id, expires_at, deleted_at',
    made: { ...ofRole, created_at: 'now()', delete_reason: `case when r.deleted_at is not null then 'over' end` },
  },
  service_accounts: {
    copied: 'id, org_id, project_id, state',
    made: { name: `'Robot'`, slug: `'s-' || r.id`, created_at: 'now()', ...endedAs('r.id') },
  },
  shared_app_runtimes: {
    copied: 'id, org_id, state, delegated_actions, eligible_project_ids',
    made: {
      ...{ app_slug: `'slurm'`, app_version: `'1'`, display_name: 'r.id::text', runtime_backend: `'slurm'` },
      ...{ created_at: 'now()', created_by: 'r.id', updated_at: 'now()', ...endedAs('r.id') },
    },
  },
  shared_runtime_attachments: {
    copied: 'id, shared_runtime_id, org_id, project_id, detached_at',
    made: {
      ...{ contribution_policy: `'all'`, created_at: 'now()', created_by_type: `'user'`, created_by: 'r.id', updated_at: 'now()' },
      detached_by_type: `case when r.detached_at is not null then 'user' end`,
      detached_by: 'case when r.detached_at is not null then r.id end',
      detach_reason: `case when r.detached_at is not null then 'over' end`,
    },
  },
  policy_constraints: {
    copied: 'constraint_id, version, key, scope_type, tenant_id, project_id, actions, condition, time_zone, is_locked, state, replaced_at',
    made: { created_at: 'now()' },
  },
}

export const tableNames = Object.keys(tables) as TableName[]

const insertion = (table: TableName): string => {
  const { copied, made = {} } = tables[table]
  const names = [copied, ...Object.keys(made)].join(', ')
  const values = [copied.replace(/(\w+)/g, 'r.$1'), ...Object.values(made)].join(', ')
  return `insert into ${table} (${names}) select ${values} from json_populate_recordset(null::${table}, $1::json) r`
}
const insertions = Object.fromEntries(tableNames.map((table) => [table, insertion(table)])) as Record<TableName, string>

export type PlatformRoleSource = 'bindings' | 'transition' | 'users_role'

export interface DisabledBuiltin {
  name: string
  /** Until when its bindings still count; null: at once they do not. */
  grace_until: string | null
}

const platform = '00000000-0000-0000-0000-000000000000'

/** Rows that a trigger or a foreign key would refuse are part of the test, so neither is asked. */
const pastTriggers = async (client: pg.Client, act: () => Promise<void>): Promise<void> => {
  await client.query('begin; set local session_replication_role = replica; set local synchronous_commit = off')
  try {
    await act()
    await client.query('commit')
  } catch (error) {
    await client.query('rollback')
    throw error
  }
}

/** Past the triggers no epoch moves by itself, and a server would go on with what it read before. */
const moveEpochs = (client: pg.Client, tenants: readonly string[]) =>
  client.query(
    `insert into epochs as e (id, value, stamp)
     select distinct id, 1, gen_random_uuid() from unnest($1::uuid[]) id
     on conflict (id) do update set value = e.value + 1, stamp = gen_random_uuid()`,
    [[platform, ...tenants]],
  )

export interface Batch {
  rows: Rows
  /** Where platform roles are read. */
  platform_role_source: PlatformRoleSource
  /** Built-in roles that are disabled for everybody, some of them for new bindings only. */
  disabled_builtins: readonly DisabledBuiltin[]
  /** Keys forced into the mirror of built-in roles. */
  forced_keys: readonly { role_version_id: string; permission_key: string }[]
}

/** For this connection: the relation that the reference reads, and what the migrations wrote, to come back to. Made once in each database. */
export const prepareQuestions = async (client: pg.Client): Promise<void> => {
  // Compiling so long a statement takes a hundred times as long as running it.
  await client.query('set jit = off')
  // The planner takes the reference's subqueries for large and would build a hash table, spilled into temporary files, for each question anew.
  for (const hashing of ['hashagg', 'hashjoin', 'memoize']) await client.query(`set enable_${hashing} = off`)
  await client.query(`create unlogged table differential_questions (
    id int primary key, actor_id uuid, action text, resource_type text, resource_id uuid, tenant_id uuid, project_id uuid,
    attributes jsonb, token jsonb, elevations jsonb, now timestamptz, actor_type text, relations jsonb)`)
  // Somebody who has a role twice must be judged too.
  await client.query('drop index tenant_role_bindings_one_per_role, project_role_bindings_one_per_role')
  await client.query('create table differential_mirror as select role_version_id, permission_key from role_permissions')
}

const disableBuiltins = `
  update role_definitions d
  set state = wanted.state, grace_until = wanted.grace_until,
    disable_mode = case when wanted.grace_until is not null then 'block_new_only' end
  from (
    select d.id, case when off.name is null then 'active' else 'disabled' end as state, off.grace_until
    from role_definitions d left join json_to_recordset($1::json) off (name text, grace_until timestamptz) on off.name = d.name
    where d.is_builtin) wanted
  where d.id = wanted.id and (d.state, d.grace_until) is distinct from (wanted.state, wanted.grace_until)`

/** Writes a batch beside what the migrations wrote, and lets the planner look at it. The client is a superuser's. */
export const writeBatch = async (client: pg.Client, batch: Batch): Promise<void> => {
  const { rows, platform_role_source, disabled_builtins, forced_keys } = batch
  await pastTriggers(client, async () => {
    for (const table of tableNames) if (rows[table].length > 0) await client.query(insertions[table], [JSON.stringify(rows[table])])
    await client.query(`${insertions.role_permissions} on conflict do nothing`, [JSON.stringify(forced_keys)])
    await client.query(disableBuiltins, [JSON.stringify(disabled_builtins)])
    await client.query(
      `update policy_values set value = to_jsonb($1::text)
       where key = 'authorization.platform_role_source' and replaced_at is null and value <> to_jsonb($1::text)`,
      [platform_role_source],
    )
    await moveEpochs(
      client,
      rows.organizations.map(({ id }) => id),
    )
  })
  await client.query(`analyze ${tableNames.join(', ')}`)
}

/** Away with everything that is not a migration's; the space is given back, or the next batch would wade through it. */
export const clearBatches = async (client: pg.Client): Promise<void> => {
  await pastTriggers(client, async () => {
    await client.query('truncate differential_questions')
    await client.query(`delete from role_permissions r where not exists (
      select from differential_mirror m where m.role_version_id = r.role_version_id and m.permission_key = r.permission_key)`)
    await client.query(`delete from role_definition_versions v where not exists (
      select from role_definitions d where d.id = v.role_definition_id and d.is_builtin)`)
    await client.query('delete from role_definitions where not is_builtin')
    for (const table of tableNames.filter((name) => !/^role_/.test(name))) await client.query(`delete from ${table}`)
    await client.query(`delete from epochs where id <> '${platform}'`)
  })
  await client.query(`vacuum ${tableNames.join(', ')}, epochs`)
}

const reference = readFileSync(new URL('./reference.sql', import.meta.url), 'utf8')

/** What the specification says, in the order of the questions. */
export const referenceVerdicts = async (client: pg.Client, questions: readonly Question[]): Promise<Verdict[]> => {
  await client.query('truncate differential_questions')
  await client.query(
    `insert into differential_questions
     select r.* from json_populate_recordset(null::differential_questions, $1::json) r`,
    [JSON.stringify(questions)],
  )
  await client.query('analyze differential_questions')
  const { rows } = await client.query<Verdict & { id: number }>(reference)
  const answered = new Map(rows.map(({ id, ...verdict }) => [id, verdict]))
  return questions.map(({ id }) => {
    const verdict = answered.get(id)
    if (verdict === undefined) throw new Error(`the reference knows no answer to question ${id}`)
    return verdict
  })
}

/** Version rows of the built-in roles by name, as the migrations wrote them, and the definitions that platform bindings name. */
export const builtinRoles = async (client: pg.Client): Promise<Map<string, { definition: string; version: string }>> => {
  const { rows } = await client.query<{ name: string; id: string; current_version_id: string }>(
    'select name, id, current_version_id from role_definitions where is_builtin',
  )
  return new Map(rows.map(({ name, id, current_version_id }) => [name, { definition: id, version: current_version_id }]))
}
