import { newId } from '../../server/src/ground/kernel/ids.ts'
import { seeded } from '../live-server.ts'
import { machineOn } from '../machine.ts'
import { type About, type Question, send } from './asking.ts'
import { operatorRevokes } from './operator-revokes.ts'
import type { Revoke } from './revoke.ts'

/** A seeded database and its issuer: what the live server and the world of the faults have in common. */
export interface Ground {
  readonly sql: <Row>(text: string, values?: unknown[]) => Promise<Row[]>
  readonly tokenOf: (subject: string) => Promise<string>
  readonly issuer: { readonly issuer: string }
}

export interface Scene {
  readonly person: About
  readonly other: string
  readonly revokes: readonly Revoke[]
}

const { user } = seeded
const lastly = 'end of a round'
const isEnded = `deleted_at = now(), delete_reason = '${lastly}'`
const isBack = 'deleted_at = null, deleted_by = null, delete_reason = null'

/** An organization with one project, an owner, and a member who has his rights in every way there is. */
const layOut = async ({ sql, issuer }: Ground) => {
  const id = {
    org: newId('org'),
    project: newId('project'),
    owner: newId('user'),
    member: newId('user'),
    role: newId('role'),
    version: newId('role_version'),
  }
  const builtin = (name: string) => `(select current_version_id from role_definitions where name = '${name}' and is_builtin)`
  const slug = `r-${id.org.slice(-12)}`
  for (const person of [id.owner, id.member])
    await sql(`insert into users (id, username, oidc_issuer, oidc_subject, created_at) values ($1, $2, $3, $2, now())`, [
      person,
      `r-${person}`,
      issuer.issuer,
    ])
  await sql(`insert into organizations (id, type, name, slug, created_at) values ($1, 'enterprise', $2, $2, now())`, [id.org, slug])
  await sql(`insert into projects (id, org_id, name, slug, created_at) values ($1, $2, $3, $3, now())`, [id.project, id.org, slug])
  await sql(
    `with r as (insert into role_definitions (id, scope_type, tenant_id, name, is_builtin, current_version_id, created_at)
                values ($1, 'tenant', $3, 'own', false, $2, now()))
     insert into role_definition_versions (id, role_definition_id, version, created_at) values ($2, $1, 1, now())`,
    [id.role, id.version, id.org],
  )
  await sql(`insert into role_permissions (role_version_id, permission_key) values ($1, 'tenant.audit.read')`, [id.version])
  const join = (tier: string, scope: string, person: string) =>
    sql(`insert into ${tier}_memberships (id, ${tier}_id, user_id, created_at) values (gen_random_uuid(), $1, $2, now())`, [scope, person])
  const bind = (tier: string, scope: string, person: string, version: string) =>
    sql(
      `insert into ${tier}_role_bindings (id, ${tier}_id, principal_type, principal_id, role_version_id, created_at)
       values (gen_random_uuid(), $1, 'user', $2, ${version}, now())`,
      [scope, person],
    )
  for (const person of [id.owner, id.member]) await join('tenant', id.org, person)
  await join('project', id.project, id.member)
  await bind('tenant', id.org, id.owner, builtin('tenant_owner'))
  await bind('tenant', id.org, id.member, builtin('tenant_member'))
  await bind('tenant', id.org, id.member, `'${id.version}'`)
  await bind('project', id.project, id.member, builtin('project_member'))
  await sql(
    `insert into platform_role_bindings (id, principal_type, principal_id, role_definition_id, created_at)
     select gen_random_uuid(), 'user', $1, id, now() from role_definitions where name = 'platform_ops'`,
    [id.member],
  )
  return id
}

/** One person with his rights, and every way to take each of them that there is today. */
export const sceneOn = async (ground: Ground): Promise<Scene> => {
  const { sql, tokenOf } = ground
  const id = await layOut(ground)
  const [owner, admin, token] = (await Promise.all([`r-${id.owner}`, 'ada', `r-${id.member}`].map(tokenOf))) as [string, string, string]
  /** On a busy machine an answer may be that there was no time for one; asked again with the same key, it is done once. */
  const done = async (base: string, by: string, method: string, path: string, body: unknown) => {
    let key = `round-${newId('correlation')}`
    for (let attempt = 1; ; attempt += 1) {
      const { status, body: answer } = await send(base, method, `/api/v1${path}`, by, body, key)
      if (status < 300) return answer
      // A secret that was made and not heard is lost: another one, then.
      if (answer?.code === 'credential_already_issued') key = `round-${newId('correlation')}`
      const isForNow = status === 503 || answer?.code === 'idempotency_in_progress' || answer?.code === 'credential_already_issued'
      if (!isForNow || attempt === 50) throw new Error(`${method} ${path} was to be done, and answered ${status} ${JSON.stringify(answer)}`)
    }
  }
  const because = { reason: lastly }

  const inTenant: Question['resource'] = { type: 'organization', tenant_id: id.org }
  const inProject: Question['resource'] = { type: 'allocation', tenant_id: id.org, project_id: id.project }
  const reads: Question = { action: 'tenant.user.read', resource: inTenant }
  const runs: Question = { action: 'allocation.create', resource: inProject }
  const audits: Question = { action: 'tenant.audit.read', resource: inTenant }
  const operates: Question = { action: 'platform.ops.read', resource: { type: 'platform' } }

  const bySql = (kind: string, question: Question, table: string, picked: string, ended = isEnded, back = isBack): Revoke => ({
    kind,
    question,
    revoke: () => sql(`update ${table} set ${ended} where ${picked}`),
    restore: () => sql(`update ${table} set ${back} where ${picked}`),
  })
  const roleNamed = (name: string) =>
    `role_version_id = (select current_version_id from role_definitions where name = '${name}' and is_builtin)`
  const membersBack = async () => {
    for (const tier of ['tenant', 'project']) {
      await sql(`update ${tier}_memberships set ${isBack} where user_id = $1 and delete_reason = $2`, [id.member, lastly])
      await sql(`update ${tier}_role_bindings set ${isBack} where principal_id = $1 and delete_reason = $2`, [id.member, lastly])
    }
  }
  const written = (kind: string, by: string, path: string): Revoke => {
    let constraint: string
    return {
      kind,
      question: runs,
      revoke: async (base) => {
        const draft = { key: `round.${newId('constraint')}`, actions: ['allocation.create'], condition: {} }
        constraint = (await done(base, by, 'POST', `${path}/policies/constraints`, draft)).id
      },
      restore: (base) => done(base, by, 'DELETE', `${path}/policies/constraints/${constraint}`, because),
    }
  }
  const limit = '/admin/policies/values/rate_limit.decision_requests_per_minute'

  /** The same for a machine: its token, the secret that it was issued for, its account, and the key that signed it. */
  const machineRevokes = async (): Promise<Revoke[]> => {
    const { account_id, key_id, mint } = await machineOn(sql, { org_id: id.org, project_id: id.project })
    let held = { token: '', jti: '', kid: '' }
    const begin = async (): Promise<About> => {
      held = await mint()
      return { type: 'service_account', id: account_id, token: held.token }
    }
    const ofToken = (kind: string, subject: () => object): Revoke => ({
      kind,
      question: runs,
      revoke: (base) => done(base, admin, 'POST', '/auth/tokens/revoke', { ...subject(), ...because }),
      restore: async () => {},
      machine: { begin, is_of_token: true },
    })
    const account = `/projects/${id.project}/service-accounts/${account_id}`
    const revoked = `revoked_at = now(), revoked_by = '${user('ada')}', revoke_reason = '${lastly}'`
    const deleted = `state = 'deleted', ${isEnded}, deleted_by = '${user('ada')}'`
    const keyNamed = () => `kid = '${held.kid}'`
    return [
      ofToken('token revoked', () => ({ token_id: held.jti })),
      ofToken('tokens of a credential cut off', () => ({ credential_id: key_id })),
      ofToken('tokens of an actor cut off', () => ({ actor: { type: 'service_account', id: account_id } })),
      ofToken('tokens of a project cut off', () => ({ project_id: id.project })),
      { ...ofToken('tokens of the platform cut off', () => ({ platform: true })), concerns: 'everybody' },
      {
        ...bySql(
          'credential revoked',
          runs,
          'service_account_keys',
          `id = '${key_id}'`,
          revoked,
          'revoked_at = null, revoked_by = null, revoke_reason = null',
        ),
        machine: { begin, is_of_token: true },
      },
      {
        kind: 'service account disabled',
        question: runs,
        revoke: (base) => done(base, admin, 'POST', `${account}/disable`, because),
        restore: (base) => done(base, admin, 'POST', `${account}/enable`, because),
        machine: { begin, is_of_token: false },
      },
      {
        ...bySql('service account deleted', runs, 'service_accounts', `id = '${account_id}'`, deleted, `state = 'active', ${isBack}`),
        machine: { begin, is_of_token: false },
      },
      {
        kind: 'signing key revoked',
        concerns: 'everybody',
        question: runs,
        revoke: () => sql(`update signing_keys set state = 'revoked', ended_at = now() where ${keyNamed()}`),
        restore: () => sql(`update signing_keys set state = 'active', ended_at = null where ${keyNamed()}`),
        machine: { begin, is_of_token: true },
      },
    ]
  }

  const revokes: Revoke[] = [
    bySql(
      'binding in an organization ended',
      reads,
      'tenant_role_bindings',
      `principal_id = '${id.member}' and ${roleNamed('tenant_member')}`,
    ),
    bySql('binding in a project ended', runs, 'project_role_bindings', `principal_id = '${id.member}'`),
    bySql('binding on the platform ended', operates, 'platform_role_bindings', `principal_id = '${id.member}'`),
    bySql(
      'binding came to its end',
      runs,
      'project_role_bindings',
      `principal_id = '${id.member}'`,
      'expires_at = now()',
      'expires_at = null',
    ),
    {
      kind: 'membership of an organization removed',
      question: reads,
      revoke: (base) => done(base, owner, 'DELETE', `/orgs/${id.org}/members/${id.member}`, because),
      restore: membersBack,
    },
    {
      kind: 'membership of a project removed',
      question: runs,
      revoke: (base) => done(base, admin, 'DELETE', `/projects/${id.project}/members/${id.member}`, because),
      restore: membersBack,
    },
    bySql('role disabled', audits, 'role_definitions', `id = '${id.role}'`, `state = 'disabled'`, `state = 'active'`),
    {
      ...bySql(
        'built-in role disabled',
        reads,
        'role_definitions',
        `name = 'tenant_member' and is_builtin`,
        `state = 'disabled'`,
        `state = 'active'`,
      ),
      concerns: 'everybody',
    },
    {
      kind: 'permission taken from a role',
      question: audits,
      revoke: () => sql('delete from role_permissions where role_version_id = $1', [id.version]),
      restore: () => sql(`insert into role_permissions (role_version_id, permission_key) values ($1, 'tenant.audit.read')`, [id.version]),
    },
    {
      kind: 'person disabled',
      question: reads,
      revoke: (base) => done(base, admin, 'POST', `/admin/users/${id.member}/disable`, because),
      restore: (base) => done(base, admin, 'POST', `/admin/users/${id.member}/enable`, because),
    },
    {
      kind: 'organization suspended',
      question: runs,
      revoke: (base) => done(base, admin, 'POST', `/orgs/${id.org}/suspend`, because),
      restore: (base) => done(base, admin, 'POST', `/orgs/${id.org}/resume`, because),
    },
    bySql('organization ended', reads, 'organizations', `id = '${id.org}'`, `${isEnded}, deleted_by = '${user('ada')}'`),
    {
      kind: 'project archived',
      question: runs,
      revoke: (base) => done(base, owner, 'POST', `/projects/${id.project}/archive`, because),
      restore: (base) => done(base, owner, 'POST', `/projects/${id.project}/restore`, because),
    },
    written('constraint of a project written', owner, `/projects/${id.project}`),
    written('constraint of an organization written', owner, `/orgs/${id.org}`),
    { ...written('constraint of the platform written', admin, '/admin'), concerns: 'everybody' },
    {
      kind: 'policy value set',
      concerns: 'everybody',
      question: reads,
      revoke: (base) => done(base, admin, 'PUT', limit, { value: 1, reason: lastly }),
      restore: (base) => done(base, admin, 'PUT', limit, { value: 10_000_000, reason: lastly }),
      // In each process a minute may just have begun.
      tolerated: 1,
    },
  ]
  await sql(`update policy_values set value = '10000000' where key like 'rate_limit.%' and replaced_at is null`)
  revokes.push(...(await machineRevokes()), ...operatorRevokes({ org_id: id.org, project_id: id.project, owner, done }))
  return { person: { type: 'user', id: id.member, token }, other: admin, revokes }
}
