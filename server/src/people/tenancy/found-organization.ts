import type { Organization } from '@gatehouse/contract/organizations'
import { newId } from '#ground/kernel/ids.ts'
import type { Severity, Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import { type Authorized, systemProof } from '#rails/authz/authorize.ts'
import { insertTenantMembership } from './membership-queries.ts'
import { insertOrganization } from './organization-queries.ts'
import type { TenancySubscribers } from './subscribers.ts'

/** An organization begins with its first owner, in one transaction: there is never one without. */
export const foundOrganization = async (
  work: Work,
  proof: Authorized<'platform.admin', object>,
  founding: Pick<Organization, 'id' | 'type' | 'name' | 'slug'> & { owner_user_id: string; reason: string | null; severity: Severity },
  { onOrganizationFounded }: Pick<TenancySubscribers, 'onOrganizationFounded'>,
): Promise<Organization> => {
  const by = work.actor.type === 'user' ? work.actor.id : null
  const organization = await work.tx.one(insertOrganization(proof, founding, by, work.now))
  const founded = systemProof('founding', 'platform.admin', organization)
  await work.tx.one(insertTenantMembership(founded, newId('membership'), founding.owner_user_id, by, work.now))
  for (const subscriber of onOrganizationFounded) await subscriber(work, organization, founding.owner_user_id)
  record(work, {
    action: 'organization.create',
    resource_type: 'organization',
    resource_id: organization.id,
    tenant_id: organization.id,
    severity: founding.severity,
    metadata: { slug: organization.slug, type: organization.type, owner_user_id: founding.owner_user_id, reason: founding.reason },
  })
  return organization
}
