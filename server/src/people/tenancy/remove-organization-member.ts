import type { removeOrganizationMember as Op } from '@gatehouse/contract/members'
import { Problem } from '#ground/kernel/problem.ts'
import { record } from '#rails/audit/record.ts'
import { authorityOf, authorize } from '#rails/authz/authorize.ts'
import type { Answering } from '#rails/http/answer.ts'
import { endProjectMemberships, endTenantMembership } from './membership-queries.ts'
import { organizationMemberKind } from './organization.ts'
import { lockOrganization } from './organization-queries.ts'
import type { TenancySubscribers } from './subscribers.ts'

export const removeOrganizationMember =
  ({ onMembershipEnded }: TenancySubscribers): Answering<typeof Op> =>
  async (work, { params: { org_id, user_id }, body }) => {
    const found = await work.tx.maybe(lockOrganization(org_id))
    const organization = await authorize(
      work,
      ['tenant.user.remove', 'tenant.user.leave'],
      organizationMemberKind,
      found && { ...found, user_id },
    )
    const by = authorityOf(organization)
    const reason = body.reason ?? (work.actor.id === user_id ? 'left' : 'removed')
    const ended = await work.tx.maybe(endTenantMembership(organization, user_id, work.actor.id, reason, work.now))
    if (!ended) throw new Problem('member_not_found')
    const projects = await work.tx.many(endProjectMemberships(organization, user_id, work.actor.id, reason, work.now))
    const everywhere = { tenant_id: org_id, user_id, reason }
    for (const subscriber of onMembershipEnded) {
      await subscriber(work, { ...everywhere, project_id: null, by })
      for (const { project_id } of projects) await subscriber(work, { ...everywhere, project_id, by: null })
    }
    record(work, {
      action: 'organization.member.remove',
      resource_type: 'tenant_membership',
      resource_id: user_id,
      tenant_id: org_id,
      metadata: { user_id, reason, ended_projects: projects.map(({ project_id }) => project_id) },
    })
  }
