import type { Project } from '@gatehouse/contract/projects'
import type { listMemberSshKeys as Op } from '@gatehouse/contract/ssh-keys'
import { Problem } from '#ground/kernel/problem.ts'
import { findProject } from '#people/tenancy/project-queries.ts'
import { authorize } from '#rails/authz/authorize.ts'
import type { Kind } from '#rails/authz/kind.ts'
import { type Answering, listed } from '#rails/http/answer.ts'
import { memberSshKeys } from '../ssh-keys/ssh-key-queries.ts'
import { activeMember, anyAllocationOwnedBy } from './access-grant-queries.ts'

/** A member, seen by somebody who may want to let him in: by a role, or because something there is his own to let people into. */
const memberKind: Kind<Project & { user_id: string; owns_allocation: boolean }> = {
  type: 'project_membership',
  missing: 'project_not_found',
  placeOf: ({ id, org_id, user_id, owns_allocation }) => ({
    id: user_id,
    tenant_id: org_id,
    project_id: id,
    relations: owns_allocation ? ['allocation_owner'] : [],
  }),
}

export const listMemberSshKeys: Answering<typeof Op> = async (work, { params: { project_id, user_id }, slice }) => {
  const found = await work.tx.maybe(findProject(project_id))
  const owned = found && (await work.tx.maybe(anyAllocationOwnedBy(project_id, work.actor.id)))
  const project = await authorize(
    work,
    ['project.access_grant.manage', 'tenant.access_grant.manage'],
    memberKind,
    found && { ...found, user_id, owns_allocation: owned !== undefined },
  )
  if (!(await work.tx.maybe(activeMember(project.id, user_id)))) throw new Problem('member_not_found')
  return listed(await work.tx.many(memberSshKeys(user_id, slice.after, slice.limit + 1)), slice, ({ id }) => id)
}
