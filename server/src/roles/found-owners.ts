import { systemProof } from '../authz/authorize.ts'
import { ownerRoleOf, roleVersionIdOf } from '../authz/catalogue.ts'
import { newId } from '../kernel/ids.ts'
import type { TenancySubscribers } from '../tenancy/subscribers.ts'
import type { Work } from '../work/work.ts'
import { insertProjectBinding, insertTenantBinding } from './binding-queries.ts'

const grantor = (work: Work) => (work.actor.type === 'user' ? work.actor.id : null)

/**
 * Whoever an organization is founded for owns it. Also while that role is disabled: an organization without an owner could never get one,
 * and what the role gives is not given until it is enabled.
 */
export const bindFirstTenantOwner: TenancySubscribers['onOrganizationFounded'][number] = async (work, organization, owner_user_id) => {
  const founded = systemProof('founding', 'platform.admin', organization)
  const version = roleVersionIdOf(ownerRoleOf.tenant)
  await work.tx.one(insertTenantBinding(founded, newId('binding'), owner_user_id, version, grantor(work), work.now))
}

export const bindFirstProjectOwner: TenancySubscribers['onProjectFounded'][number] = async (work, project, owner_user_id) => {
  const founded = systemProof('founding', 'tenant.project.create', project)
  const version = roleVersionIdOf(ownerRoleOf.project)
  await work.tx.one(insertProjectBinding(founded, newId('binding'), owner_user_id, version, grantor(work), work.now))
}
