import type { createOrganization as Op } from '@gatehouse/contract/organizations'
import { newId } from '#ground/kernel/ids.ts'
import { authorityOf, authorize } from '#rails/authz/authorize.ts'
import { platformKind, thePlatform } from '#rails/authz/kind.ts'
import { grantSeverity, requireNoSelfGrant } from '#rails/authz/override-limits.ts'
import type { Answering } from '#rails/http/answer.ts'
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
