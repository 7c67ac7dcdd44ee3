import { expect } from 'vitest'
import { newId } from '../server/src/ground/kernel/ids.ts'
import type { Somebody } from './crowd.ts'
import { type Answered, type LiveServer, seeded } from './live-server.ts'
import { bindings, roles, scopedAsk, type Tier } from './scoped-roles.ts'

const { org, project } = seeded
export const nobody = '01890000-0000-7000-8000-000000000000'
export const because = { reason: 'because' }
export const tiers = {
  tenant: { scope: org.aurora as string, path: `/api/v1/orgs/${org.aurora}`, place: `org_id=${org.aurora}`, owner: 'alice' },
  project: {
    scope: project.aurora as string,
    path: `/api/v1/projects/${project.aurora}`,
    place: `project_id=${project.aurora}`,
    owner: 'amara',
  },
}

/** The two tables of the specification by hand: what each role has, and the role of its tier that it includes. */
export const table: Record<Tier, Record<string, readonly [includes: string | null, keys: string]>> = {
  tenant: {
    tenant_viewer: [null, 'tenant.read'],
    tenant_billing_viewer: [null, 'tenant.billing.read tenant.invoice.read'],
    tenant_billing_manager: [null, 'tenant.billing.read tenant.billing.write tenant.invoice.read'],
    tenant_member: [null, 'tenant.read project.read tenant.user.read tenant.role.read tenant.shared_runtime.read'],
    tenant_admin: [
      'tenant_member',
      'tenant.user.invite tenant.user.remove tenant.role.assign tenant.project.read tenant.project.update tenant.billing.read tenant.policy.read tenant.audit.read tenant.shared_runtime.manage tenant.access_grant.manage',
    ],
    tenant_owner: [
      'tenant_admin',
      'tenant.policy.write tenant.project.create tenant.billing.write tenant.role.assign_any tenant.role.define tenant.project.appoint_owner tenant.update',
    ],
  },
  project: {
    project_viewer: [null, 'allocation.read storage.read project.role.read project.member.read project.ssh_key.read workload.read'],
    project_member: [
      'project_viewer',
      'allocation.create allocation.release storage.write terminal.connect project.service_account.read project.access_grant.read project.ssh_key.manage workload.manage workload.token.issue storage.credential.issue storage.credential.read storage.mount_plan.read',
    ],
    project_admin: [
      'project_member',
      'project.member.invite project.member.remove project.policy.read project.audit.read project.service_account.manage project.service_account.key.create project.access_grant.manage allocation.ssh_keys.write storage.bucket.manage storage.grant.manage storage.credential.revoke',
    ],
    project_owner: ['project_admin', 'project.role.assign project.role.assign_any project.role.define'],
  },
}
/** Custom roles of the matrix: some can give, some hold what others do not. */
export const custom: Record<Tier, Record<string, string>> = {
  tenant: {
    granter: 'tenant.role.assign tenant.read',
    'billing-granter': 'tenant.role.assign tenant.billing.read tenant.billing.write tenant.invoice.read',
    auditor: 'tenant.read tenant.audit.read',
    biller: 'tenant.billing.write',
    inviter: 'tenant.user.invite tenant.user.read',
  },
  project: {
    granter: 'project.role.assign allocation.read storage.read',
    'wide-granter':
      'project.role.assign allocation.read storage.read project.role.read project.member.read project.ssh_key.read workload.read storage.bucket.manage',
    buckets: 'storage.bucket.manage storage.read',
    inviter: 'project.member.invite project.member.read',
  },
}
export const keysOf = (tier: Tier, role: string): Set<string> => {
  const [includes, keys] = table[tier][role] ?? [null, custom[tier][role]!]
  return new Set([...keys.split(' '), ...(includes ? keysOf(tier, includes) : [])])
}
let names = 0
export const nextName = () => {
  names += 1
  return `bound-${names}`
}
export const said = ({ status, body }: Answered) =>
  [status, body?.details?.detail ?? body?.code].filter((part) => part !== undefined).join(' ')

/** Steps that tests of role bindings share. */
export const bindingsOn = (live: LiveServer, people: readonly Somebody[]) => {
  const askIn = scopedAsk(live)
  const bound = async (tier: Tier, person: { id: string }, role: string, expires = 'null') => {
    const version = table[tier][role]
      ? `(select current_version_id from role_definitions where name = $4 and is_builtin)`
      : `(select current_version_id from role_definitions where name = $4 and scope_id = $2 and deleted_at is null)`
    const id = newId('binding') as string
    await live.sql(
      `insert into ${tier}_role_bindings (id, ${tier}_id, principal_type, principal_id, role_version_id, created_at, expires_at)
     values ($1, $2, 'user', $3, ${version}, now(), ${expires})`,
      [id, tiers[tier].scope, person.id, role],
    )
    return id
  }
  const cleared = (tier: Tier) =>
    live.sql(
      `update ${tier}_role_bindings set deleted_at = now(), delete_reason = 'cleared' where deleted_at is null and principal_id = any($1)`,
      [people.map(({ id }) => id)],
    )
  const bind = (person: string, tier: Tier, principal_id: string, role: object, more: object = {}, headers = {}) =>
    askIn(tier, person, bindings.create, { body: { principal_type: 'user', principal_id, ...role, ...more }, headers })
  const end = (person: string, tier: Tier, binding_id: string, body: object = because) =>
    askIn(tier, person, bindings.end, { params: { binding_id }, body })
  const define = async (tier: Tier, name: string, ...versions: [string[], ...string[][]]): Promise<string> => {
    const { owner } = tiers[tier]
    const { status, body } = await askIn(tier, owner, roles.create, { body: { name, permissions: versions[0] } })
    expect(status).toBe(201)
    for (const [index, permissions] of versions.slice(1).entries())
      await askIn(tier, owner, roles.update, {
        params: { role_id: body.id },
        body: { permissions, expected_version: index + 1, ...because },
      })
    return body.id
  }
  const permissionsOf = async (person: string, tier: Tier): Promise<string[]> =>
    (await live.call(person, 'GET', `/api/v1/me/permissions?${tiers[tier].place}`)).body.permissions
  return { bind, bound, cleared, define, end, permissionsOf }
}
