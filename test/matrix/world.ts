import { createHash, randomUUID } from 'node:crypto'
import { probeNode, waitForTasks } from '../../contract/src/nodes.ts'
import { createServiceAccountKey } from '../../contract/src/service-accounts.ts'
import { readMe } from '../../contract/src/users.ts'
import { type PublicKey, parsePublicKey } from '../../server/src/fleet/ssh-keys/ssh-public-key.ts'
import { fixedId, newId } from '../../server/src/ground/kernel/ids.ts'
import { enrolledNode, nodeKeys, registeredNode } from '../enrolled-node.ts'
import { grantOf } from '../fuzz/access-grant-calls.ts'
import { allocationOf } from '../fuzz/allocation-calls.ts'
import { roleOf } from '../fuzz/rightful-calls.ts'
import { runtimeOf, writeDeposits } from '../fuzz/shared-runtime-calls.ts'
import { writeTargets } from '../fuzz/write-targets.ts'
import { type LiveServer, seeded } from '../live-server.ts'
import { signedResult } from '../model-node.ts'
import { operatorWithSecret } from '../operator-credential.ts'
import { newKeyLine } from '../ssh-key-lines.ts'
import { placedAllocation } from '../task-world.ts'
import { type Operator, operators, type Person, people, personClasses, type ServiceAccount, serviceAccounts } from './actor-classes.ts'

const { org, project, user } = seeded
const aurora = `/api/v1/orgs/${org.aurora}`
const training = `/api/v1/projects/${project.aurora}`
const because = { reason: 'because' }

/** What each account can show. */
export interface Credential {
  readonly service_account_id: string
  readonly key_id: string
  readonly client_secret: string
}
const secret = `ghsa_${'m'.repeat(49)}`
const salt = Buffer.alloc(16, 1)

const writeAccounts = async (live: LiveServer): Promise<Map<ServiceAccount, Credential>> => {
  const credentials = new Map<ServiceAccount, Credential>()
  // What is fit for accounts and in no role that may be theirs.
  const auditor = await made(live, 'amara', `${training}/roles`, {
    name: 'auditor',
    permissions: ['project.audit.read', 'project.policy.read'],
    is_assignable_to_service_accounts: true,
  })
  const [{ current_version_id }] = (await live.sql<{ current_version_id: string }>(
    'select current_version_id from role_definitions where id = $1',
    [auditor],
  )) as [{ current_version_id: string }]
  const versions: Partial<Record<ServiceAccount, string>> = {
    service_account_member: fixedId('role_version', 'project_member'),
    service_account_viewer: fixedId('role_version', 'project_viewer'),
    service_account_auditor: current_version_id,
    outside_service_account: fixedId('role_version', 'project_member'),
  }
  for (const name of serviceAccounts) {
    const [tenant, home] = name === 'outside_service_account' ? [org.borealis, project.borealis] : [org.aurora, project.aurora]
    const [id, key_id] = [newId('service account'), newId('service account key')]
    await live.sql(
      `insert into service_accounts (id, org_id, project_id, name, slug, created_at) values ($1, $2, $3, 'Matrix', $4, now())`,
      [id, tenant, home, `matrix-${name.replaceAll('_', '-')}`],
    )
    await live.sql(
      `insert into service_account_keys (id, service_account_id, salt, secret_hash, epoch, created_at, created_by)
       select $1, $2, $3, $4, epoch, now(), $5 from installation`,
      [key_id, id, salt, createHash('sha256').update(salt).update(secret).digest(), user('amara')],
    )
    if (versions[name])
      await live.sql(
        `insert into project_role_bindings (id, project_id, principal_type, principal_id, role_version_id, role_definition_id, created_at)
         select $1, $2, 'service_account', $3, v.id, v.role_definition_id, now() from role_definition_versions v where v.id = $4`,
        [newId('binding'), home, id, versions[name]],
      )
    credentials.set(name, { service_account_id: id, key_id, client_secret: secret })
  }
  return credentials
}

const made = async (live: LiveServer, person: string, path: string, body: object): Promise<string> => {
  const { status, text, body: answered } = await live.call(person, 'POST', path, { body })
  if (status !== 201) throw new Error(`the world of the matrix cannot be made: ${path} ${status} ${text}`)
  return answered.id
}
const did = async (live: LiveServer, person: string, method: string, path: string, body: object) => {
  const { status, text, body: answered } = await live.call(person, method, path, { body })
  if (status >= 300) throw new Error(`the world of the matrix cannot be made: ${path} ${status} ${text}`)
  return answered
}

/** Who is of nobody's class: things are done to them. `nia` is of the project, `noa` of the tenant alone, `nora` is disabled. */
const writeBystanders = async (live: LiveServer) => {
  const idOf = async (name: string): Promise<string> => (await live.ask(name, readMe)).body.id
  const [nemo, nia, noa, nora] = [await idOf('nemo'), await idOf('nia'), await idOf('noa'), await idOf('nora')]
  for (const id of [nia, noa]) {
    await live.sql(`insert into tenant_memberships (id, tenant_id, user_id, created_at) values ($1, $2, $3, now())`, [
      newId('membership'),
      org.aurora,
      id,
    ])
    await live.sql(
      `insert into tenant_role_bindings (id, tenant_id, principal_type, principal_id, role_version_id, role_definition_id, created_at)
       values ($1, $2, 'user', $3, $4, $5, now())`,
      [newId('binding'), org.aurora, id, fixedId('role_version', 'tenant_member'), fixedId('role', 'tenant_member')],
    )
  }
  await live.sql(`insert into project_memberships (id, project_id, user_id, created_at) values ($1, $2, $3, now())`, [
    newId('membership'),
    project.aurora,
    nia,
  ])
  await live.sql(
    `insert into project_role_bindings (id, project_id, principal_type, principal_id, role_version_id, role_definition_id, created_at)
     values ($1, $2, 'user', $3, $4, $5, now())`,
    [newId('binding'), project.aurora, nia, fixedId('role_version', 'project_member'), fixedId('role', 'project_member')],
  )
  await did(live, 'ada', 'POST', `/api/v1/admin/users/${nora}/disable`, because)
  // Allocations and grants of the sweeps are nobody's whose column it is.
  await live.sql('update allocations set owner_user_id = $1 where id = any($2::uuid[])', [nia, ['own', 'release'].map(allocationOf)])
  await live.sql('update allocation_access_grants set grantee_user_id = $1 where id = $2', [nia, grantOf('own')])
  await live.sql('update ssh_public_keys set user_id = $1 where user_id = $2', [nia, user('axel')])
  return { nemo, nia, noa, nora }
}

/** For each person an invitation that waits for him and a key of his own. */
const writeBelongings = async (live: LiveServer, nemo: string) => {
  await live.sql(`update users set email = 'nemo@mail.example', email_verified = true where id = $1`, [nemo])
  const elsewhere = await made(live, 'ada', '/api/v1/orgs', { name: 'Elsewhere', slug: 'elsewhere', owner_user_id: user('bodo') })
  const belongings = new Map<string, { invitation_id: string; ssh_key_id: string }>()
  for (const who of personClasses) {
    const id = who === 'platform_user' ? nemo : user(people[who])
    const [invitation_id, ssh_key_id] = [newId('invitation'), newId('ssh key')]
    await live.sql(
      `insert into invitations (id, tenant_id, email, role_version_id, inviter_user_id, created_at, ends_at)
       select $1, $2, u.email, $3, $4, now(), now() + interval '1 day' from users u where u.id = $5`,
      [invitation_id, elsewhere, fixedId('role_version', 'tenant_viewer'), user('bodo'), id],
    )
    const { key_type, bits, blob, fingerprint } = parsePublicKey(newKeyLine()) as PublicKey
    await live.sql(
      `insert into ssh_public_keys (id, user_id, name, key_type, bits, blob, fingerprint, created_at, created_by_type, created_by)
       values ($1, $2, 'Matrix', $3, $4, $5, $6, now(), 'user', $2)`,
      [ssh_key_id, id, key_type, bits, blob, fingerprint],
    )
    belongings.set(who, { invitation_id, ssh_key_id })
  }
  return belongings
}

/** What is there to be switched on again, or to be given somebody. */
const writeResting = async (live: LiveServer) => {
  const parked = await made(live, 'ada', '/api/v1/orgs', { name: 'Parked', slug: 'parked', owner_user_id: user('bodo') })
  await did(live, 'ada', 'POST', `/api/v1/orgs/${parked}/suspend`, because)
  const projects = []
  for (const slug of ['archived', 'ownerless', 'spare'])
    projects.push(await made(live, 'alice', `${aurora}/projects`, { name: slug, slug }))
  const [archived, ownerless, spare] = projects as [string, string, string]
  await did(live, 'alice', 'POST', `/api/v1/projects/${archived}/archive`, because)
  await live.sql(`update project_role_bindings set deleted_at = now(), delete_reason = 'lost' where project_id = $1`, [ownerless])
  const roles: Record<string, string> = {}
  for (const [scope, person, path, key] of [
    ['of_organization', 'alice', aurora, 'tenant.read'],
    ['of_project', 'amara', training, 'storage.read'],
  ] as const) {
    const id = await made(live, person, `${path}/roles`, { name: 'resting', permissions: [key] })
    await did(live, person, 'POST', `${path}/roles/${id}/disable`, { mode: 'block_all_now', ...because })
    roles[scope] = id
  }
  // Everybody has it who has no other, and it allows nothing.
  const builtin = fixedId('role', 'platform_user')
  await did(live, 'ada', 'POST', `/api/v1/admin/roles/${builtin}/disable`, { mode: 'block_all_now', ...because })
  const hashes: Record<string, string> = {}
  for (const [scope, person, path] of [
    ['of_organization', 'alice', aurora],
    ['of_project', 'amara', training],
  ] as const) {
    const between = { from_version: 1, to_version: 2 }
    hashes[scope] = (await did(live, person, 'POST', `${path}/roles/${roleOf(scope)}/bulk-upgrade/preview`, between)).preview_hash
  }
  const ttl = 'policies/values/tenancy.invitation_ttl_seconds'
  await did(live, 'ada', 'PUT', '/api/v1/admin/policies/values/authorization.role_disable_grace_window_seconds', {
    value: 3600,
    ...because,
  })
  await did(live, 'alice', 'PUT', `${aurora}/${ttl}`, { value: 7200, ...because })
  await did(live, 'alice', 'PUT', `${training}/${ttl}`, { value: 7200, ...because })
  return { parked, archived, ownerless, spare, roles, builtin, hashes }
}

/** A runtime whose operator may attach one more project, and detach. */
const writeDelegated = async (live: LiveServer, spare: string) => {
  const path = `${aurora}/shared-app-runtimes`
  const id = await made(live, 'adam', path, {
    ...{ app_slug: 'slurm', app_version: '1', display_name: 'Delegated', runtime_backend: 'slurm' },
    ...{ delegated_actions: ['attach', 'detach'], eligible_project_ids: [spare, project.aurora] },
  })
  const body = { project_id: project.aurora, contribution_policy: 'all' }
  // The other runtime's operator could attach the same one, if its tenant let it attach at all.
  await did(live, 'adam', 'PATCH', `${path}/${runtimeOf('own')}`, { eligible_project_ids: [spare], expected_version: 1, ...because })
  return { id, attachment_id: await made(live, 'adam', `${path}/${id}/attachments`, body) }
}

/** What each operator can show; each runtime has something that is left for it, and a delivery that waits. */
const writeOperators = async (live: LiveServer, delegated: string) => {
  await writeDeposits(live.sql, [{ name: 'delegated', shared_runtime_id: delegated }])
  const runtimes: Readonly<Record<Operator, string>> = {
    runtime_operator: runtimeOf('own'),
    delegated_operator: delegated,
    outside_operator: runtimeOf('foreign'),
  }
  const held = new Map<Operator, { shared_runtime_id: string; key_id: string; client_secret: string }>()
  for (const who of operators) held.set(who, (await operatorWithSecret(live, runtimes[who])).credential)
  return held
}

/** In another project of the same tenant an account with a key, and on another allocation of the same project a grant. */
const writeSiblings = async (live: LiveServer, spare: string) => {
  const accounts = `/api/v1/projects/${spare}/service-accounts`
  const service_account_id = await made(live, 'alice', accounts, { name: 'Sibling', slug: 'sibling' })
  const { body } = await live.ask('alice', createServiceAccountKey, { params: { project_id: spare, service_account_id }, body: because })
  const grant_id = newId('access grant')
  await live.sql(
    `insert into allocation_access_grants (id, allocation_id, project_id, grantee_user_id, ssh_key_id, epoch, created_at, created_by, updated_at)
     select $1, $2, project_id, grantee_user_id, ssh_key_id, epoch, created_at, created_by, updated_at from allocation_access_grants where id = $3`,
    [grant_id, allocationOf('release'), grantOf('own')],
  )
  return { service_account_id, key_id: body.key_id as string, grant_id: grant_id as string }
}

/** Two nodes that have enrolled; the first was given something to do, and has somebody on it. */
const writeMachines = async (live: LiveServer) => {
  const kind = { region: 'matrix', sku: 'matrix' }
  const [node, other] = [await enrolledNode(live, kind), await enrolledNode(live, kind)]
  await did(live, 'ada', 'POST', `/api/v1/admin/nodes/${node.id}/probe`, {})
  const told = await node.ask(waitForTasks, { params: { node_id: node.id }, query: { wait_seconds: 0, run: randomUUID() } })
  const { task_id } = told.body.tasks[0]!
  const receipt = { applied_generation: 0, facts: { kernel: 'matrix' } }
  const result = signedResult(node.key, task_id, { outcome: 'completed', generation: 0, receipt })
  // Another thing to do, which nobody has taken.
  await did(live, 'ada', 'POST', `/api/v1/admin/nodes/${node.id}/probe`, {})
  const { id: allocation_id } = await placedAllocation(live, node.id)
  const event = {
    ...{ event_id: newId('node event'), kind: 'session_started', at: new Date().toISOString(), allocation_id, generation: 0 },
    ...{ session_id: 'matrix', fingerprint: `SHA256:${'A'.repeat(43)}`, source_ip: '10.0.0.1' },
  }
  const { csr } = await nodeKeys()
  const { token } = await registeredNode(live, kind)
  // The other's: what is asked of it, and who is on it.
  const { body: asked } = await live.ask('ada', probeNode, { params: { node_id: other.id } })
  const on_other = { other_task_id: asked.id as string, other_allocation_id: (await placedAllocation(live, other.id)).id as string }
  return { ...on_other, node, other, task_id: task_id as string, result, event, csr, enrolment_token: token }
}

/** One world for the whole walk: everything that is asked about is there, and nothing of it is changed by asking. */
export const matrixWorld = async (live: LiveServer) => {
  for (const limit of ['rate_limit.api_requests_per_minute', 'rate_limit.anonymous_requests_per_minute'] as const)
    await live.setPolicy(limit, 10_000_000)
  await live.setPolicy('auth.wrong_secret.first_delay_milliseconds', 0)
  await writeTargets(live.sql)
  const bystanders = await writeBystanders(live)
  const resting = await writeResting(live)
  const bindings = await live.sql<{ id: string }>('select id from platform_role_bindings where principal_id = $1', [user('otto')])
  const delegated = await writeDelegated(live, resting.spare)
  return {
    ...bystanders,
    ...resting,
    platform_binding: bindings[0]!.id,
    belongings: await writeBelongings(live, bystanders.nemo),
    delegated,
    operators: await writeOperators(live, delegated.id),
    credentials: await writeAccounts(live),
    siblings: await writeSiblings(live, resting.spare),
    machines: await writeMachines(live),
  }
}
export type MatrixWorld = Awaited<ReturnType<typeof matrixWorld>>

/**
 * For each person of the project, and some who are not, an allocation that is his, and one where he was let in. Apart from the rest: who owns
 * one may look for whom to let in.
 */
export const ownThings = async (live: LiveServer, { nia, belongings }: Pick<MatrixWorld, 'nia' | 'belongings'>) => {
  const owned = async (owner: string): Promise<string> => {
    const id = newId('allocation')
    await live.sql(
      `insert into allocations (id, org_id, project_id, name, requested_by_type, requested_by, owner_user_id, region, sku, gpus, state_since, epoch, created_at)
       select $1, $2, $3, 'Own', 'user', $4, $4, 'matrix', 'none', 1, now(), epoch, now() from installation`,
      [id, org.aurora, project.aurora, owner],
    )
    return id
  }
  const shared_allocation_id = await owned(nia)
  const own = new Map<Person, { allocation_id: string; shared_allocation_id: string; grant_id: string }>()
  for (const who of ['project_owner', 'project_admin', 'project_member', 'project_viewer', 'tenant_member', 'tenant_owner'] as const) {
    const grant_id = newId('access grant')
    await live.sql(
      `insert into allocation_access_grants (id, allocation_id, project_id, grantee_user_id, ssh_key_id, epoch, created_at, created_by, updated_at)
       select $1, $2, $3, $4, $5, epoch, now(), $6, now() from installation`,
      [grant_id, shared_allocation_id, project.aurora, user(people[who]), belongings.get(who)!.ssh_key_id, nia],
    )
    own.set(who, { allocation_id: await owned(user(people[who])), shared_allocation_id, grant_id })
  }
  const [key] = await live.sql<{ id: string }>(
    `select id from ssh_public_keys where user_id = $1 and id not in (select ssh_key_id from allocation_access_grants) order by id`,
    [nia],
  )
  return { nia, nias_key_id: key!.id, allocations: own }
}
export type OwnThings = Awaited<ReturnType<typeof ownThings>>
