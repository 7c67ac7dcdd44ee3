import type { updateOrganization as Op } from '@gatehouse/contract/organizations'
import { record } from '#rails/audit/record.ts'
import { authorize } from '#rails/authz/authorize.ts'
import type { Answering } from '#rails/http/answer.ts'
import { organizationKind } from './organization.ts'
import { lockOrganization, renameOrganization } from './organization-queries.ts'

export const updateOrganization: Answering<typeof Op> = async (work, { params, body }) => {
  const organization = await authorize(work, 'tenant.update', organizationKind, await work.tx.maybe(lockOrganization(params.org_id)))
  const renamed = await work.tx.one(renameOrganization(organization, body.name))
  record(work, {
    action: 'organization.update',
    resource_type: 'organization',
    resource_id: organization.id,
    tenant_id: organization.id,
    metadata: { name: { from: organization.name, to: renamed.name }, reason: body.reason ?? null },
  })
  return renamed
}
