import type { archiveProject as Archive, Project, restoreProject as Restore } from '@gatehouse/contract/projects'
import { record } from '../audit/record.ts'
import { authorize } from '../authz/authorize.ts'
import type { Answering } from '../http/answer.ts'
import { Problem } from '../kernel/problem.ts'
import type { Work } from '../work/work.ts'
import { projectInOrganizationKind } from './project.ts'
import { lockProject, setProjectState } from './project-queries.ts'

const moveTo = async (work: Work, project_id: string, state: Project['state'], action: string, reason: string): Promise<Project> => {
  const project = await authorize(work, 'tenant.project.update', projectInOrganizationKind, await work.tx.maybe(lockProject(project_id)))
  if (project.state === state) throw new Problem('state_conflict', { state })
  const moved = await work.tx.one(setProjectState(project, state))
  record(work, {
    action,
    resource_type: 'project',
    resource_id: project.id,
    tenant_id: project.org_id,
    project_id: project.id,
    severity: 'warning',
    metadata: { reason },
  })
  return moved
}

export const archiveProject: Answering<typeof Archive> = (work, { params, body }) =>
  moveTo(work, params.project_id, 'archived', 'project.archive', body.reason)

export const restoreProject: Answering<typeof Restore> = (work, { params, body }) =>
  moveTo(work, params.project_id, 'active', 'project.restore', body.reason)
