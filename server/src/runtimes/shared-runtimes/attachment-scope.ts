import type { Organization } from '@gatehouse/contract/organizations'
import type { Attachment } from '@gatehouse/contract/runtime-attachments'
import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { findOrganization, lockOrganization } from '#people/tenancy/organization-queries.ts'
import type { Action } from '#rails/authz/actions.ts'
import { authorize } from '#rails/authz/authorize.ts'
import type { Kind } from '#rails/authz/kind.ts'
import { findAttachment } from './attachment-queries.ts'
import { authorizeBehindLock, type RuntimeParams, refuseAhead, runtimesOf } from './runtime-scope.ts'
import { findRuntime } from './shared-runtime-queries.ts'

export interface AttachmentParams extends RuntimeParams {
  readonly attachment_id: string
}

/** As its runtime's operator sees it: business with it is business with its project. */
export const attachmentKind: Kind<Attachment> = {
  type: 'shared_runtime_attachment',
  missing: 'attachment_not_found',
  placeOf: ({ id, org_id, project_id, shared_runtime_id }) => ({ id, tenant_id: org_id, project_id, shared_runtime_id, relations: [] }),
}

/** An operator's business with it is business with its project; people see to it as the tenant's, so that it can end when the project rests. */
const whereOf = ({ actor }: Work, { shared_runtime_id, attachment_id: id }: AttachmentParams, attachment: Attachment | undefined) => ({
  type: attachmentKind.type,
  id,
  shared_runtime_id,
  project_id: actor.type === 'user' ? null : (attachment?.project_id ?? null),
})

const present = (attachment: Attachment | undefined): Attachment => {
  if (!attachment) throw new Problem('attachment_not_found')
  return attachment
}

/** The attachment of that runtime of that organization, as far as each is there. */
const find = async ({ tx }: Work, organization: Organization | undefined, { shared_runtime_id, attachment_id }: AttachmentParams) => {
  const runtime = organization && (await tx.maybe(findRuntime(organization.id, shared_runtime_id)))
  return { runtime, attachment: runtime && (await tx.maybe(findAttachment(runtime.id, attachment_id))) }
}

export const authorizeToSeeAttachment = async (work: Work, params: AttachmentParams) => {
  const found = await work.tx.maybe(findOrganization(params.org_id))
  const { runtime, attachment } = await find(work, found, params)
  await authorize(work, 'tenant.shared_runtime.read', runtimesOf(whereOf(work, params, attachment)), found)
  if (!runtime) throw new Problem('shared_runtime_not_found')
  return present(attachment)
}

/** One that counts, and is about to be changed. Behind the lock of its organization nobody else attaches or detaches. */
export const authorizeAttachment = async <A extends Action>(work: Work, action: A, params: AttachmentParams) => {
  await refuseAhead(work, action, params, async (organization) =>
    whereOf(work, params, (await find(work, organization, params)).attachment),
  )
  const locked = await work.tx.maybe(lockOrganization(params.org_id))
  const found = await find(work, locked, params)
  const { organization, runtime } = await authorizeBehindLock(work, action, locked, whereOf(work, params, found.attachment))
  const attachment = present(found.attachment)
  if (attachment.state === 'detached') throw new Problem('state_conflict', { state: attachment.state })
  return { organization, runtime, attachment }
}
