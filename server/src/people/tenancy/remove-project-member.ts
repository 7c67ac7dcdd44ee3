import type { removeProjectMember as Op } from '@gatehouse/contract/members'
import { Problem } from '#ground/kernel/problem.ts'
import { record } from '#rails/audit/record.ts'
import { authorityOf, authorize } from '#rails/authz/authorize.ts'
import type { Answering } from '#rails/http/answer.ts'
import { endProjectMembership } from './membership-queries.ts'
import { projectMemberKind } from './project.ts'
import { lockProject } from './project-queries.ts'
import type { TenancySubscribers } from './subscribers.ts'

export const removeProjectMember =
  ({ onMembershipEnded }: TenancySubscribers): Answering<typeof Op> =>
  async (work, { params: { project_id, user_id }, body }) => {
    const found = await work.tx.maybe(lockProject(project_id))
    const project = await authorize(
      work,
      ['project.member.remove', 'project.member.leave'],
      projectMemberKind,
      found && { ...found, user_id },
    )
    const by = authorityOf(project)
    const reason = body.reason ?? (work.actor.id === user_id ? 'left' : 'removed')
    const ended = await work.tx.maybe(endProjectMembership(project, user_id, work.actor.id, reason, work.now))
    if (!ended) throw new Problem('member_not_found')
    for (const subscriber of onMembershipEnded) await subscriber(work, { tenant_id: project.org_id, project_id, user_id, reason, by })
    record(work, {
      action: 'project.member.remove',
      resource_type: 'project_membership',
      resource_id: user_id,
      tenant_id: project.org_id,
      project_id,
      metadata: { user_id, reason },
    })
  }
