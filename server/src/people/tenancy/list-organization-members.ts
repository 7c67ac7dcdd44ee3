import type { listOrganizationMembers as Op } from '@gatehouse/contract/members'
import { authorize } from '#rails/authz/authorize.ts'
import { type Answering, listed } from '#rails/http/answer.ts'
import { membersOfOrganization } from './membership-queries.ts'
import { organizationKind } from './organization.ts'
import { findOrganization } from './organization-queries.ts'

export const listOrganizationMembers: Answering<typeof Op> = async (work, { params, slice }) => {
  const organization = await authorize(work, 'tenant.user.read', organizationKind, await work.tx.maybe(findOrganization(params.org_id)))
  const rows = await work.tx.many(membersOfOrganization(organization.id, slice.after, slice.limit + 1))
  return listed(rows, slice, ({ user_id }) => user_id)
}
