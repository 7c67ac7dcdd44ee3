import { newId } from '#ground/kernel/ids.ts'
import type { Work } from '#ground/work/work.ts'
import { systemProof } from '#rails/authz/authorize.ts'
import { ownerRoleOf, roleVersionIdOf } from '#rails/authz/catalogue.ts'
import type { TenancySubscribers } from '../tenancy/subscribers.ts'
import { assignableRole } from './bind-role.ts'
import { insertProjectBinding, insertTenantBinding } from './binding-queries.ts'
import { shareOwnerRoles } from './role-queries.ts'

const grantor = (work: Work) => (work.actor.type === 'user' ? work.actor.id : null)

/** The person an organization is founded for owns it. A disabled role is assigned to nobody, so nothing is founded meanwhile. */
export const bindFirstTenantOwner: TenancySubscribers['onOrganizationFounded'][number] = async (work, organization, owner_user_id) => {
  const { id } = organization
  await assignableRole(work, { tier: 'tenant', id, org_id: id, project_id: null }, { role_name: ownerRoleOf.tenant })
  const founded = systemProof('founding', 'platform.admin', organization)
  const version = roleVersionIdOf(ownerRoleOf.tenant)
  await work.tx.one(insertTenantBinding(founded, newId('binding'), owner_user_id, version, grantor(work), work.now))
}

export const bindFirstProjectOwner: TenancySubscribers['onProjectFounded'][number] = async (work, project, owner_user_id) => {
  const { id, org_id } = project
  await assignableRole(work, { tier: 'project', id, org_id, project_id: id }, { role_name: ownerRoleOf.project })
  const founded = systemProof('founding', 'tenant.project.create', project)
  const version = roleVersionIdOf(ownerRoleOf.project)
  await work.tx.one(insertProjectBinding(founded, newId('binding'), owner_user_id, version, grantor(work), work.now))
}

/** Locks both roles against a change, so that the answer holds until the transaction ends. */
export const ownersAreAssignable: TenancySubscribers['canBeFounded'][number] = async (work) => {
  const roles = await work.tx.many(shareOwnerRoles([ownerRoleOf.tenant, ownerRoleOf.project]))
  return roles.every(({ state }) => state === 'active')
}
