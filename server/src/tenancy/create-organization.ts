import type { createOrganization as Op } from '@gatehouse/contract/organizations'
import { authorityOf, authorize } from '../authz/authorize.ts'
import { platformKind, thePlatform } from '../authz/kind.ts'
import { grantSeverity, requireNoSelfGrant } from '../authz/override-limits.ts'
import type { Answering } from '../http/answer.ts'
import { newId } from '../kernel/ids.ts'
import { foundOrganization } from './found-organization.ts'
import type { TenancySubscribers } from './subscribers.ts'

export const createOrganization =
  (subscribers: TenancySubscribers): Answering<typeof Op> =>
  async (work, { body }) => {
    const platform = await authorize(work, 'platform.admin', platformKind, thePlatform)
    const authority = authorityOf(platform)
    requireNoSelfGrant(work, authority, body.owner_user_id)
    return foundOrganization(
      work,
      platform,
      {
        id: newId('org'),
        type: 'enterprise',
        name: body.name,
        slug: body.slug,
        owner_user_id: body.owner_user_id,
        reason: body.reason ?? null,
        severity: grantSeverity(authority),
      },
      subscribers,
    )
  }
