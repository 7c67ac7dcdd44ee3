import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { type Authority, systemProof } from '#rails/authz/authorize.ts'
import { ownerRoleOf, roleVersionIdOf } from '#rails/authz/catalogue.ts'
import type { TenancySubscribers } from '../tenancy/subscribers.ts'
import { endProjectBindings, endTenantBindings, projectHolders, tenantHolders } from './binding-queries.ts'

interface Owner {
  readonly principal_id: string
  readonly is_disabled: boolean
}

/** Only an owner, or the platform, ends an owner; and nobody ends the last one. One may always leave, unless one is the last. */
export const requireOwnerMayGo = (work: Work, by: Authority, owners: readonly Owner[], user_id: string, assignAny: string): void => {
  if (!owners.some(({ principal_id }) => principal_id === user_id)) return
  const { facts, may_override } = by
  const isOwner = facts.tenant.allowed.has(assignAny) || facts.project.allowed.has(assignAny)
  if (!isOwner && !may_override && work.actor.id !== user_id)
    throw new Problem('insufficient_permissions', { reason_code: 'permission_denied', action: assignAny, detail: 'assignment_ceiling' })
  // Somebody who is disabled cannot look after anything.
  if (!owners.some(({ principal_id, is_disabled }) => principal_id !== user_id && !is_disabled)) throw new Problem('last_owner')
}

/** A membership's bindings end with it. A tenant's lock is held by whoever ends one, so the owners counted here cannot change. */
export const endBindings: TenancySubscribers['onMembershipEnded'][number] = async (
  work,
  { tenant_id, project_id, user_id, reason, by },
) => {
  if (project_id === null) {
    const owners = await work.tx.many(tenantHolders(tenant_id, roleVersionIdOf(ownerRoleOf.tenant)))
    if (by) requireOwnerMayGo(work, by, owners, user_id, 'tenant.role.assign_any')
    const tenant = systemProof('membership_cascade', 'tenant.user.remove', { id: tenant_id })
    await work.tx.many(endTenantBindings(tenant, user_id, work.actor.id, reason, work.now))
    return
  }
  const owners = await work.tx.many(projectHolders(project_id, roleVersionIdOf(ownerRoleOf.project)))
  // Without `by` the person left the whole organization, which a project cannot stop.
  if (by) requireOwnerMayGo(work, by, owners, user_id, 'project.role.assign_any')
  const project = systemProof('membership_cascade', 'project.member.remove', { id: project_id })
  await work.tx.many(endProjectBindings(project, user_id, work.actor.id, reason, work.now))
}
