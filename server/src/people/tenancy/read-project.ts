import type { readProject as Op } from '@gatehouse/contract/projects'
import { authorize } from '#rails/authz/authorize.ts'
import type { Answering } from '#rails/http/answer.ts'
import { projectKind } from './project.ts'
import { findProject } from './project-queries.ts'

export const readProject: Answering<typeof Op> = async (work, { params }) =>
  authorize(work, 'project.read', projectKind, await work.tx.maybe(findProject(params.project_id)))
