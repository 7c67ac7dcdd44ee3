import { systemProof } from '../authz/authorize.ts'
import { ownerRoleOf, roleVersionIdOf } from '../authz/catalogue.ts'
import { newId } from '../kernel/ids.ts'
import type { TenancySubscribers } from '../tenancy/subscribers.ts'
import type { Work } from '../work/work.ts'
import { insertProjectBinding, insertTenantBinding } from './binding-queries.ts'

const grantor = (work: Work) => (work.actor.type === 'user' ? work.actor.id : null)

/** Whoever an organization is founded for owns it. */
export const bindFirstTenantOwner: TenancySubscribers['onOrganizationFounded'][number] = async (work, { id }, owner_user_id) => {
  const proof = systemProof('founding', 'platform.admin', {})
  const version = roleVersionIdOf(ownerRoleOf.tenant)
  await work.tx.one(insertTenantBinding(proof, newId('binding'), id, owner_user_id, version, grantor(work), work.now))
}

export const bindFirstProjectOwner: TenancySubscribers['onProjectFounded'][number] = async (work, { id }, owner_user_id) => {
  const proof = systemProof('founding', 'tenant.project.create', {})
  const version = roleVersionIdOf(ownerRoleOf.project)
  await work.tx.one(insertProjectBinding(proof, newId('binding'), id, owner_user_id, version, grantor(work), work.now))
}
