import type { addProjectMember as Op } from '@gatehouse/contract/members'
import { record } from '../audit/record.ts'
import { authorityOf, authorize } from '../authz/authorize.ts'
import { isBuiltinRole, permissionsOf, roleVersionIdOf, tierOf } from '../authz/catalogue.ts'
import { grantSeverity, requireNoSelfGrant } from '../authz/override-limits.ts'
import type { Answering } from '../http/answer.ts'
import { newId } from '../kernel/ids.ts'
import { Problem } from '../kernel/problem.ts'
import { insertProjectMembership, projectMember, tenantMembership } from '../tenancy/membership-queries.ts'
import { projectKind } from '../tenancy/project.ts'
import { lockProject } from '../tenancy/project-queries.ts'
import { insertProjectBinding } from './binding-queries.ts'
import { requireWithinCeiling } from './ceiling.ts'

export const addProjectMember: Answering<typeof Op> = async (work, { params, body }) => {
  const actions = ['project.member.invite', 'project.role.assign'] as const
  const project = await authorize(work, actions, projectKind, await work.tx.maybe(lockProject(params.project_id)))
  if (!isBuiltinRole(body.role_name) || tierOf(body.role_name) !== 'project') throw new Problem('role_not_found')
  const authority = requireWithinCeiling(authorityOf(project), 'project', permissionsOf(body.role_name))
  requireNoSelfGrant(work, authority, body.user_id)
  if (!(await work.tx.maybe(tenantMembership(project.org_id, body.user_id)))) throw new Problem('not_tenant_member')

  await work.tx.one(insertProjectMembership(project, newId('membership'), body.user_id, work.actor.id, work.now))
  const version = roleVersionIdOf(body.role_name)
  await work.tx.one(insertProjectBinding(project, newId('binding'), body.user_id, version, work.actor.id, work.now))
  record(work, {
    action: 'project.member.add',
    resource_type: 'project_membership',
    resource_id: body.user_id,
    tenant_id: project.org_id,
    project_id: project.id,
    severity: grantSeverity(authority),
    metadata: { user_id: body.user_id, role_name: body.role_name, reason: body.reason ?? null },
  })
  return work.tx.one(projectMember(project.id, body.user_id))
}
