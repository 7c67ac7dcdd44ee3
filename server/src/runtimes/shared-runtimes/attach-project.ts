import type { Organization } from '@gatehouse/contract/organizations'
import type { Attachment, createAttachment as Op } from '@gatehouse/contract/runtime-attachments'
import { contributionPolicies } from '@gatehouse/contract/shared-runtimes'
import { newId } from '#ground/kernel/ids.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { Actor } from '#ground/work/work.ts'
import { lockOrganization } from '#people/tenancy/organization-queries.ts'
import { record } from '#rails/audit/record.ts'
import type { Answering } from '#rails/http/answer.ts'
import { insertAttachment } from './attachment-queries.ts'
import { authorizeBehindLock, refuseAhead } from './runtime-scope.ts'
import { type RuntimeRow, recordedIn } from './shared-runtime.ts'
import { endCursors, projectsAmong } from './shared-runtime-queries.ts'

/** From the least to the most. */
const breadthOf = (policy: Attachment['contribution_policy']): number => contributionPolicies.indexOf(policy)

/** What a project contributes is for people to say; an operator says it as far as they have let it. */
const requireDelegated = (
  { type }: Actor,
  { delegated_contribution_policy: most }: RuntimeRow,
  asked: Attachment['contribution_policy'],
) => {
  if (type !== 'user' && breadthOf(asked) > breadthOf(most))
    throw new Problem('insufficient_permissions', { reason_code: 'permission_denied' })
}

/**
 * By people of the tenant, or by the runtime's operator where that is delegated, for a project that it may attach. A project of another
 * tenant is like one that is not there, and is never looked at.
 */
export const attachProject: Answering<typeof Op> = async (work, { params, body: { project_id, contribution_policy, reason = null } }) => {
  const { actor, tx, now } = work
  const action = actor.type === 'user' ? 'tenant.shared_runtime.manage' : 'shared_runtime.attach'
  const find = async (organization: Organization | undefined) => organization && tx.maybe(projectsAmong(organization.id, [project_id]))
  const whereOf = (found: { id: string } | undefined) => ({
    shared_runtime_id: params.shared_runtime_id,
    project_id: found?.id ?? null,
  })
  await refuseAhead(work, action, params, async (organization) => whereOf(await find(organization)))
  const locked = await tx.maybe(lockOrganization(params.org_id))
  const project = await find(locked)
  const { organization, runtime } = await authorizeBehindLock(work, action, locked, whereOf(project))
  if (!project) throw new Problem('project_not_found')
  requireDelegated(actor, runtime, contribution_policy)
  if (runtime.state === 'disabled') throw new Problem('state_conflict', { state: runtime.state })
  const made = { id: newId('attachment'), project_id, contribution_policy }
  const attachment = await tx.one(insertAttachment(organization, made, runtime, actor, now))
  await tx.one(endCursors(organization, runtime.id, now))
  record(work, {
    action: 'shared_runtime.attachment.create',
    resource_type: 'shared_runtime_attachment',
    resource_id: attachment.id,
    ...recordedIn(organization, attachment.project_id),
    metadata: { shared_runtime_id: runtime.id, display_name: runtime.display_name, contribution_policy, reason },
  })
  return attachment
}
