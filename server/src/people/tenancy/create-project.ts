import type { createProject as Op } from '@gatehouse/contract/projects'
import { newId } from '#ground/kernel/ids.ts'
import { authorityOf, authorize } from '#rails/authz/authorize.ts'
import { grantSeverity, requireNoSelfGrant } from '#rails/authz/override-limits.ts'
import type { Answering } from '#rails/http/answer.ts'
import { foundProject } from './found-project.ts'
import { organizationKind } from './organization.ts'
import { lockOrganization } from './organization-queries.ts'
import type { TenancySubscribers } from './subscribers.ts'

export const createProject =
  (subscribers: TenancySubscribers): Answering<typeof Op> =>
  async (work, { params, body }) => {
    const organization = await authorize(
      work,
      'tenant.project.create',
      organizationKind,
      await work.tx.maybe(lockOrganization(params.org_id)),
    )
    const owner_user_id = body.owner_user_id ?? work.actor.id
    const authority = authorityOf(organization)
    requireNoSelfGrant(work, authority, owner_user_id)
    const { name, slug, reason = null } = body
    return foundProject(
      work,
      organization,
      { id: newId('project'), name, slug, owner_user_id, reason, severity: grantSeverity(authority) },
      subscribers,
    )
  }
