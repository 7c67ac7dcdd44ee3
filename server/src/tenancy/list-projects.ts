import type { listProjects as Op } from '@gatehouse/contract/projects'
import { authorityOf, authorize } from '../authz/authorize.ts'
import { type Answering, listed } from '../http/answer.ts'
import { organizationKind } from './organization.ts'
import { findOrganization } from './organization-queries.ts'
import { ownProjectsIn, projectsIn } from './project-queries.ts'

export const listProjects: Answering<typeof Op> = async (work, { params, slice }) => {
  const organization = await authorize(
    work,
    ['tenant.project.read', 'project.read', 'tenant.project.read_own'],
    organizationKind,
    await work.tx.maybe(findOrganization(params.org_id)),
  )
  const isOwnOnly = authorityOf(organization).action === 'tenant.project.read_own'
  const rows = await work.tx.many(
    isOwnOnly
      ? ownProjectsIn(organization.id, work.actor.id, slice.after, slice.limit + 1)
      : projectsIn(organization.id, slice.after, slice.limit + 1),
  )
  return listed(rows, slice, ({ id }) => id)
}
