import type { listProjects as Op } from '@gatehouse/contract/projects'
import { authorityOf, authorize, authorizedAmong } from '#rails/authz/authorize.ts'
import { hasOverride } from '#rails/authz/decide.ts'
import { type Answering, listed } from '#rails/http/answer.ts'
import { seenIn } from '#rails/http/seen-page.ts'
import { organizationKind } from './organization.ts'
import { findOrganization } from './organization-queries.ts'
import { projectKind } from './project.ts'
import { ownProjectsIn, projectsIn } from './project-queries.ts'

/**
 * Exactly those that a single read would show; and to whoever may list all without reading them, those that no rule takes from him. Candidates
 * are all where a role in the organization or override could show them, or else the asker's own; the engine judges each, for a project may
 * have rules, and exemptions, of its own.
 */
export const listProjects: Answering<typeof Op> = async (work, { params, slice }) => {
  const organization = await authorize(
    work,
    ['tenant.project.read', 'project.read', 'tenant.project.read_own'],
    organizationKind,
    await work.tx.maybe(findOrganization(params.org_id)),
  )
  const { facts } = authorityOf(organization)
  const isReader = facts.tenant.allowed.has('project.read') || hasOverride(facts)
  const isLister = !isReader && facts.tenant.allowed.has('tenant.project.read')
  const isOfAll = isReader || isLister
  const shown = await seenIn(
    slice,
    (after, limit) =>
      work.tx.many(isOfAll ? projectsIn(organization.id, after, limit) : ownProjectsIn(organization.id, work.actor.id, after, limit)),
    async (rows) => {
      const readable = await authorizedAmong(work, 'project.read', projectKind, rows)
      if (!isLister) return readable
      const listable = await authorizedAmong(work, 'tenant.project.read', projectKind, rows)
      return rows.filter((row) => readable.includes(row) || listable.includes(row))
    },
  )
  return listed(shown, slice, ({ id }) => id)
}
