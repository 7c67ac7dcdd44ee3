import { createNode } from '../../contract/src/nodes.ts'
import { createOrganizationBinding } from '../../contract/src/role-bindings.ts'
import { deleteSharedRuntime, disableSharedRuntime } from '../../contract/src/shared-runtimes.ts'
import { readMe } from '../../contract/src/users.ts'
import { newId } from '../../server/src/ground/kernel/ids.ts'
import { type LiveServer, seeded } from '../live-server.ts'
import { machineWithSecret } from '../machine-credential.ts'
import { operatorWithSecret } from '../operator-credential.ts'
import { runtimesOn } from '../runtime-scene.ts'

const { org, project, user } = seeded
const aurora = `/api/v1/orgs/${org.aurora}`
const training = `/api/v1/projects/${project.aurora}`
const because = { reason: 'because' }

/** More than the second largest page. */
const many = 55

/** As many more of what is there, each with what is its own; through no endpoint, so that there are many at once. */
const copied = async (live: LiveServer, table: string, id: string, count: number, own: (n: number) => object): Promise<string[]> => {
  const more = Array.from({ length: count }, (_, n) => ({ id: newId('allocation') as string, ...own(n) }))
  await live.sql(
    `insert into ${table} select (jsonb_populate_record(null::${table}, to_jsonb(t) || own)).*
       from ${table} t, jsonb_array_elements($2::jsonb) as own where t.id = $1`,
    [id, JSON.stringify(more)],
  )
  return more.map((each) => each.id)
}

const made = async (live: LiveServer, person: string, path: string, body: object): Promise<string> => {
  const { status, text, body: answered } = await live.call(person, 'POST', path, { body })
  if (status >= 300) throw new Error(`the world of the lists cannot be made: ${path} ${status} ${text}`)
  return answered?.id
}

const writeProjects = async (live: LiveServer): Promise<string[]> => {
  const ids = await copied(live, 'projects', project.aurora, many, (n) => ({
    name: `p ${n}`,
    slug: `listed-${n}`,
    state: n % 7 === 6 ? 'archived' : 'active',
  }))
  // Somebody whose role in the tenant shows him no project, and one who has none there at all.
  for (const who of ['arne', 'agnes'])
    await live.sql(
      `insert into project_memberships (id, project_id, user_id, created_at) select gen_random_uuid(), p, $2, now() from unnest($1::uuid[]) as p`,
      [ids.filter((_, n) => n % 3 === 1), user(who)],
    )
  return ids
}

/** Of each size, model and place some. */
const writeAllocations = async (live: LiveServer, projects: readonly string[], shared_runtime_id: string): Promise<void> => {
  const body = { project_id: project.aurora, name: 'a run', region: 'eu', sku: 'h100', gpus: 1 }
  const first = await made(live, 'asha', '/api/v1/allocations', body)
  await copied(live, 'allocations', first, many, (n) => ({
    region: ['eu', 'us', 'ap'][n % 3],
    sku: n % 5 === 0 ? 'b200' : 'h100',
    gpus: n % 12,
    owner_user_id: [user('asha'), user('axel'), null][n % 3],
  }))
  await copied(live, 'allocations', first, many, (n) => ({
    project_id: projects[n],
    shared_runtime_id: n % 2 === 0 ? shared_runtime_id : null,
  }))
}

const writeRoles = (live: LiveServer): Promise<unknown> =>
  live.sql(
    `with made as (
       select gen_random_uuid() as id, gen_random_uuid() as version_id, n, scope_type, tenant_id, project_id
         from generate_series(1, $3::int) n, (values ('tenant', $1::uuid, null::uuid), ('project', null, $2)) as s (scope_type, tenant_id, project_id)
     ), roles as (
       insert into role_definitions (id, scope_type, tenant_id, project_id, name, is_builtin, current_version_id, created_at)
       select id, scope_type, tenant_id, project_id, 'listed-' || n, false, version_id, now() from made
     )
     insert into role_definition_versions (id, role_definition_id, version, created_at) select version_id, id, 1, now() from made`,
    [org.aurora, project.aurora, many],
  )

/** Rules that say nothing about anybody here: to be listed, at each scope. */
const writeRules = (live: LiveServer): Promise<unknown> =>
  live.sql(
    `insert into policy_constraints (constraint_id, version, key, scope_type, tenant_id, project_id, actions, condition, time_zone, is_locked, state, created_at)
     select gen_random_uuid(), 1, 'listed-' || n, scope_type, tenant_id, project_id, '{storage.write}', '{}', 'UTC', false, 'active', now()
       from generate_series(1, $3::int) n,
            (values ('global', null, null), ('tenant', $1::uuid, null), ('project', null, $2::uuid)) as s (scope_type, tenant_id, project_id)`,
    [org.aurora, project.aurora, many],
  )

const writeAccounts = async (live: LiveServer, account_id: string): Promise<void> => {
  await copied(live, 'service_accounts', account_id, many, (n) => ({ slug: `listed-${n}` }))
  const [ended] = await copied(live, 'service_accounts', account_id, 1, () => ({ slug: 'ended' }))
  await made(live, 'amara', `${training}/service-accounts/${ended}/disable`, because)
}

/** One that has nearly every project, some of them not any more and some of them again; and a lot of others. */
const writeRuntimes = async (live: LiveServer, projects: readonly string[]) => {
  const runtimes = runtimesOn(live)
  const [own, other] = [await runtimes.made(), await runtimes.made()]
  const { body: first } = await runtimes.attach(own, project.aurora)
  await runtimes.attach(other, projects[0]!)
  await copied(live, 'shared_runtime_attachments', first.id, projects.length - 3, (n) => ({ project_id: projects[n] }))
  await copied(live, 'shared_runtime_attachments', first.id, 9, (n) => ({
    project_id: projects[n % 2 === 0 ? n : projects.length - 1 - n],
    detached_at: new Date().toISOString(),
    detached_by_type: 'system',
    detach_reason: 'because',
  }))
  await copied(live, 'shared_app_runtimes', own, many, (n) => ({ display_name: `listed ${n}` }))
  const ended = await runtimes.made()
  await live.ask('adam', disableSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: ended }, body: because })
  await live.ask('adam', deleteSharedRuntime, { params: { org_id: org.aurora, shared_runtime_id: ended }, body: because })
  return { own, other }
}

const writeNodes = async (live: LiveServer): Promise<void> => {
  const body = { name: 'listed', region: 'eu', sku: 'h100', gpus: 8 }
  const { status, text } = await live.ask('ada', createNode, { body })
  if (status !== 201) throw new Error(text)
  const [{ id }] = (await live.sql<{ id: string }>('select id from nodes')) as [{ id: string }]
  await copied(live, 'nodes', id, many, (n) => ({ name: `listed-${n}` }))
}

const writeOthers = async (live: LiveServer): Promise<void> => {
  await copied(live, 'users', user('bodo'), many, (n) => ({ username: `listed-${n}`, oidc_subject: `listed-${n}` }))
  const ids = await copied(live, 'organizations', org.borealis, many, (n) => ({
    slug: `listed-${n}`,
    state: n % 5 === 4 ? 'suspended' : 'active',
  }))
  await live.sql(
    `insert into tenant_memberships (id, tenant_id, user_id, created_at) select gen_random_uuid(), o, $2, now() from unnest($1::uuid[]) as o`,
    [ids, user('anna')],
  )
  await live.sql(
    `insert into tenant_role_bindings (id, tenant_id, principal_type, principal_id, role_version_id, created_at)
     select gen_random_uuid(), o, 'user', $2, current_version_id, now()
       from unnest($1::uuid[]) as o join role_definitions on name = 'tenant_viewer' and is_builtin`,
    [ids.filter((_, n) => n % 4 !== 0), user('anna')],
  )
}

/** Somebody with a role that was made for looking through projects. */
const writeLister = async (live: LiveServer): Promise<void> => {
  await made(live, 'alice', `${aurora}/roles`, { name: 'lister', permissions: ['tenant.project.read', 'project.read'] })
  const { status, text } = await live.ask('alice', createOrganizationBinding, {
    params: { org_id: org.aurora },
    body: { principal_type: 'user', principal_id: user('agnes'), role_name: 'lister', ...because },
  })
  if (status !== 201) throw new Error(text)
}

/** Who asks, by what he shows. */
export interface Asker {
  readonly type: 'user' | 'service_account' | 'shared_runtime_operator'
  readonly authorization: string
}

const writeAskers = async (live: LiveServer, machine: Awaited<ReturnType<typeof machineWithSecret>>, own: string, other: string) => {
  const askers = new Map<string, Asker>()
  const shown = (type: Asker['type'], token: string): Asker => ({ type, authorization: `Bearer ${token}` })
  for (const [who, person] of Object.entries({
    'the tenant’s owner': 'alice',
    'a member of the tenant': 'anna',
    'a viewer of the tenant': 'arne',
    'somebody who may list projects': 'agnes',
    'the project’s owner': 'amara',
    'a viewer of the project': 'axel',
    'another tenant’s owner': 'bella',
    'the platform’s operations': 'otto',
    'a superadmin': 'grace',
    'a stranger': 'nemo',
  }))
    askers.set(who, shown('user', await live.tokenOf(person)))
  // Whoever comes for the first time gets an organization of his own: before anything is compared.
  await live.ask('nemo', readMe)
  const token = async (body: object = {}): Promise<string> => (await machine.ask(body)).body.access_token
  askers.set('a service account', shown('service_account', await token()))
  askers.set('a service account with a narrow token', shown('service_account', await token({ scope: 'project.role.read' })))
  askers.set('the runtime’s operator', shown('shared_runtime_operator', await (await operatorWithSecret(live, own)).token()))
  askers.set('another runtime’s operator', shown('shared_runtime_operator', await (await operatorWithSecret(live, other)).token()))
  return askers
}

/** A world in which every list is longer than a page, and people and machines who see much, little and nothing of it. */
export const writeWorld = async (live: LiveServer) => {
  for (const key of ['api', 'machine'] as const) await live.setPolicy(`rate_limit.${key}_requests_per_minute`, 1_000_000)
  const machine = await machineWithSecret(live)
  const projects = await writeProjects(live)
  const { own, other } = await writeRuntimes(live, projects)
  await writeAllocations(live, projects, own)
  await writeRoles(live)
  await writeRules(live)
  await writeAccounts(live, machine.service_account_id)
  await writeNodes(live)
  await writeOthers(live)
  await writeLister(live)
  return { projects, runtime: own, other_runtime: other, askers: await writeAskers(live, machine, own, other) }
}
export type World = Awaited<ReturnType<typeof writeWorld>>
