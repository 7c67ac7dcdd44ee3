import type { addProjectMember as Op } from '@gatehouse/contract/members'
import { newId } from '#ground/kernel/ids.ts'
import { Problem } from '#ground/kernel/problem.ts'
import { record } from '#rails/audit/record.ts'
import { authorityOf, authorize } from '#rails/authz/authorize.ts'
import { grantSeverity, requireNoSelfGrant } from '#rails/authz/override-limits.ts'
import type { Answering } from '#rails/http/answer.ts'
import { insertProjectMembership, projectMember, tenantMembership } from '../tenancy/membership-queries.ts'
import { projectKind } from '../tenancy/project.ts'
import { lockProject } from '../tenancy/project-queries.ts'
import { assignableRole } from './bind-role.ts'
import { insertProjectBinding } from './binding-queries.ts'
import { requireWithinCeiling } from './ceiling.ts'

export const addProjectMember: Answering<typeof Op> = async (work, { params, body }) => {
  const actions = ['project.member.invite', 'project.role.assign'] as const
  const project = await authorize(work, actions, projectKind, await work.tx.maybe(lockProject(params.project_id)))
  const scope = { tier: 'project', id: project.id, org_id: project.org_id, project_id: project.id } as const
  const { version } = await assignableRole(work, scope, { role_name: body.role_name })
  const authority = requireWithinCeiling(authorityOf(project), 'project', version.permissions)
  requireNoSelfGrant(work, authority, body.user_id)
  if (!(await work.tx.maybe(tenantMembership(project.org_id, body.user_id)))) throw new Problem('not_tenant_member')

  await work.tx.one(insertProjectMembership(project, newId('membership'), body.user_id, work.actor.id, work.now))
  await work.tx.one(insertProjectBinding(project, newId('binding'), body.user_id, version.id, work.actor.id, work.now))
  record(work, {
    action: 'project.member.add',
    resource_type: 'project_membership',
    resource_id: body.user_id,
    tenant_id: project.org_id,
    project_id: project.id,
    severity: grantSeverity(authority),
    metadata: { user_id: body.user_id, role_name: body.role_name, version: version.version, reason: body.reason ?? null },
  })
  return work.tx.one(projectMember(project.id, body.user_id))
}
