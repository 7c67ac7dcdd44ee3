import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { projectsAmong } from './shared-runtime-queries.ts'

/** All of them the organization's own. Another's project is like one that is not there. */
export const requireOwnProjects = async (work: Work, org_id: string, project_ids: readonly string[]): Promise<void> => {
  if (project_ids.length === 0) return
  const own = await work.tx.many(projectsAmong(org_id, project_ids))
  if (own.length !== project_ids.length) throw new Problem('project_not_found')
}
