import type { createSharedRuntime as Op } from '@gatehouse/contract/shared-runtimes'
import { newId } from '#ground/kernel/ids.ts'
import { lockOrganization } from '#people/tenancy/organization-queries.ts'
import { record } from '#rails/audit/record.ts'
import { authorize } from '#rails/authz/authorize.ts'
import type { Answering } from '#rails/http/answer.ts'
import { requireOwnProjects } from './own-projects.ts'
import { runtimesOf } from './runtime-scope.ts'
import { recordedIn, shownRuntime } from './shared-runtime.ts'
import { insertRuntime } from './shared-runtime-queries.ts'

/** It has no project yet, and nobody can operate it until somebody makes a credential for that. */
export const createRuntime: Answering<typeof Op> = async (work, { params, body: { reason = null, ...body } }) => {
  const found = await work.tx.maybe(lockOrganization(params.org_id))
  const organization = await authorize(work, 'tenant.shared_runtime.manage', runtimesOf(), found)
  const { placement_intent = {}, delegated_actions = [], eligible_project_ids = [], delegated_contribution_policy = 'none', ...said } = body
  await requireOwnProjects(work, organization.id, eligible_project_ids)
  const delegated = { delegated_actions, eligible_project_ids, delegated_contribution_policy }
  const made = { ...said, id: newId('shared runtime'), placement_intent, ...delegated }
  const runtime = await work.tx.one(insertRuntime(organization, made, work.actor.id, work.now))
  const { app_slug, app_version, display_name, runtime_backend } = runtime
  record(work, {
    action: 'shared_runtime.create',
    resource_type: 'shared_runtime',
    resource_id: runtime.id,
    ...recordedIn(organization),
    metadata: { display_name, app_slug, app_version, runtime_backend, ...delegated, reason },
  })
  return shownRuntime(runtime)
}
