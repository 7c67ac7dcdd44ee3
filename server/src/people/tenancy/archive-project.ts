import type { archiveProject as Archive, Project, restoreProject as Restore } from '@gatehouse/contract/projects'
import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import { authorize } from '#rails/authz/authorize.ts'
import type { Answering } from '#rails/http/answer.ts'
import { projectInOrganizationKind } from './project.ts'
import { lockProject, setProjectState } from './project-queries.ts'
import type { TenancySubscribers } from './subscribers.ts'

type Moved = Pick<TenancySubscribers, 'onProjectMoved'>

const moveTo = async (
  { onProjectMoved }: Moved,
  work: Work,
  project_id: string,
  state: Project['state'],
  action: string,
  reason: string,
): Promise<Project> => {
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
  for (const follow of onProjectMoved) await follow(work, moved, reason)
  return moved
}

export const archiveProject =
  (subscribers: Moved): Answering<typeof Archive> =>
  (work, { params, body }) =>
    moveTo(subscribers, work, params.project_id, 'archived', 'project.archive', body.reason)

export const restoreProject =
  (subscribers: Moved): Answering<typeof Restore> =>
  (work, { params, body }) =>
    moveTo(subscribers, work, params.project_id, 'active', 'project.restore', body.reason)
