import type { updateSharedRuntime as Op } from '@gatehouse/contract/shared-runtimes'
import { Problem } from '#ground/kernel/problem.ts'
import { record } from '#rails/audit/record.ts'
import type { Answering } from '#rails/http/answer.ts'
import { requireOwnProjects } from './own-projects.ts'
import { authorizeToManage } from './runtime-scope.ts'
import { recordedIn, shownRuntime } from './shared-runtime.ts'
import { rewriteRuntime } from './shared-runtime-queries.ts'

/** What its operator may do by itself counts from the commit on; what is new of it, for tokens that are issued from then on. */
export const updateRuntime: Answering<typeof Op> = async (work, { params, body: { expected_version, reason, ...changes } }) => {
  const { organization, runtime } = await authorizeToManage(work, params)
  if (expected_version !== runtime.version) throw new Problem('version_conflict', { version: runtime.version })
  await requireOwnProjects(work, organization.id, changes.eligible_project_ids ?? [])
  const written = await work.tx.one(rewriteRuntime(organization, runtime, { ...runtime, ...changes }, work.now))
  record(work, {
    action: 'shared_runtime.update',
    resource_type: 'shared_runtime',
    resource_id: runtime.id,
    ...recordedIn(organization),
    metadata: {
      display_name: written.display_name,
      version: written.version,
      app_version: written.app_version,
      delegated_actions: written.delegated_actions,
      eligible_project_ids: written.eligible_project_ids,
      delegated_contribution_policy: written.delegated_contribution_policy,
      reason,
    },
  })
  return shownRuntime(written)
}
