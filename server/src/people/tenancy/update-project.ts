import type { updateProject as Op } from '@gatehouse/contract/projects'
import { record } from '#rails/audit/record.ts'
import { authorize } from '#rails/authz/authorize.ts'
import type { Answering } from '#rails/http/answer.ts'
import { projectKind } from './project.ts'
import { lockProject, renameProject } from './project-queries.ts'

export const updateProject: Answering<typeof Op> = async (work, { params, body }) => {
  const project = await authorize(work, 'tenant.project.update', projectKind, await work.tx.maybe(lockProject(params.project_id)))
  const renamed = await work.tx.one(renameProject(project, body.name))
  record(work, {
    action: 'project.update',
    resource_type: 'project',
    resource_id: project.id,
    tenant_id: project.org_id,
    project_id: project.id,
    metadata: { name: { from: project.name, to: renamed.name }, reason: body.reason ?? null },
  })
  return renamed
}
