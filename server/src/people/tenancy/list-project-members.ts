import type { listProjectMembers as Op } from '@gatehouse/contract/members'
import { authorize } from '#rails/authz/authorize.ts'
import { type Answering, listed } from '#rails/http/answer.ts'
import { membersOfProject } from './membership-queries.ts'
import { projectKind } from './project.ts'
import { findProject } from './project-queries.ts'

export const listProjectMembers: Answering<typeof Op> = async (work, { params, slice }) => {
  const project = await authorize(work, 'project.member.read', projectKind, await work.tx.maybe(findProject(params.project_id)))
  const rows = await work.tx.many(membersOfProject(project.id, slice.after, slice.limit + 1))
  return listed(rows, slice, ({ user_id }) => user_id)
}
