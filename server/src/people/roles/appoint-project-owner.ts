import type { appointProjectOwner as Op } from '@gatehouse/contract/role-bindings'
import { newId } from '#ground/kernel/ids.ts'
import { Problem } from '#ground/kernel/problem.ts'
import { record } from '#rails/audit/record.ts'
import { authorityOf, authorize } from '#rails/authz/authorize.ts'
import { ownerRoleOf, roleVersionIdOf } from '#rails/authz/catalogue.ts'
import { requireNoSelfGrant } from '#rails/authz/override-limits.ts'
import type { Answering } from '#rails/http/answer.ts'
import { insertProjectMembership, projectMember, tenantMembership } from '../tenancy/membership-queries.ts'
import { projectKind } from '../tenancy/project.ts'
import { lockProject } from '../tenancy/project-queries.ts'
import { assignableRole } from './bind-role.ts'
import { insertProjectBinding, projectHolders } from './binding-queries.ts'
import { findBinding } from './role-binding-queries.ts'
import type { RoleScope } from './role-scope.ts'

/** Only while nobody owns it who could act: otherwise its owners are asked. */
export const appointProjectOwner: Answering<typeof Op> = async (work, { params, body }) => {
  const project = await authorize(work, 'tenant.project.appoint_owner', projectKind, await work.tx.maybe(lockProject(params.project_id)))
  requireNoSelfGrant(work, authorityOf(project), body.user_id)
  const scope: RoleScope = { tier: 'project', id: project.id, org_id: project.org_id, project_id: project.id }
  await assignableRole(work, scope, { role_name: ownerRoleOf.project })
  const version = roleVersionIdOf(ownerRoleOf.project)
  const owners = await work.tx.many(projectHolders(project.id, version))
  if (owners.some(({ is_disabled }) => !is_disabled)) throw new Problem('state_conflict', { state: 'owned' })
  if (!(await work.tx.maybe(tenantMembership(project.org_id, body.user_id)))) throw new Problem('not_tenant_member')
  // Somebody disabled who owns it already cannot be appointed to what he is.
  if (owners.some(({ principal_id }) => principal_id === body.user_id)) throw new Problem('state_conflict', { state: 'disabled' })

  if (!(await work.tx.maybe(projectMember(project.id, body.user_id))))
    await work.tx.one(insertProjectMembership(project, newId('membership'), body.user_id, work.actor.id, work.now))
  const id = newId('binding')
  await work.tx.one(insertProjectBinding(project, id, body.user_id, version, work.actor.id, work.now))
  record(work, {
    action: 'project.owner.appoint',
    resource_type: 'role_binding',
    resource_id: id,
    tenant_id: project.org_id,
    project_id: project.id,
    severity: 'high',
    metadata: { user_id: body.user_id, reason: body.reason },
  })
  return work.tx.one(findBinding(scope, id))
}
