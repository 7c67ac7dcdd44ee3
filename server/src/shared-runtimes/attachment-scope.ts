import type { Attachment } from '@gatehouse/contract/shared-runtimes'
import type { Action } from '../authz/actions.ts'
import { authorize } from '../authz/authorize.ts'
import { Problem } from '../kernel/problem.ts'
import { findOrganization } from '../tenancy/organization-queries.ts'
import type { Work } from '../work/work.ts'
import { findAttachment } from './attachment-queries.ts'
import { authorizeToChange, type RuntimeParams, runtimesOf } from './runtime-scope.ts'
import { findRuntime } from './shared-runtime-queries.ts'

export interface AttachmentParams extends RuntimeParams {
  readonly attachment_id: string
}

/** An operator's business with it is business with its project; people see to it as the tenant's, so that it can end when the project rests. */
const whereOf = ({ actor }: Work, id: string, attachment: Attachment | undefined) => ({
  type: 'shared_runtime_attachment',
  id,
  project_id: actor.type === 'user' ? null : (attachment?.project_id ?? null),
})

const present = (attachment: Attachment | undefined): Attachment => {
  if (!attachment) throw new Problem('attachment_not_found')
  return attachment
}

export const authorizeToSeeAttachment = async (work: Work, { org_id, shared_runtime_id, attachment_id }: AttachmentParams) => {
  const found = await work.tx.maybe(findOrganization(org_id))
  const runtime = found && (await work.tx.maybe(findRuntime(found.id, shared_runtime_id)))
  const attachment = runtime && (await work.tx.maybe(findAttachment(runtime.id, attachment_id)))
  const where = { ...whereOf(work, attachment_id, attachment), shared_runtime_id }
  await authorize(work, 'tenant.shared_runtime.read', runtimesOf(where), found)
  if (!runtime) throw new Problem('shared_runtime_not_found')
  return present(attachment)
}

/** One that counts, and is about to be changed. Behind the lock of its organization nobody else attaches or detaches. */
export const authorizeAttachment = async <A extends Action>(work: Work, action: A, params: AttachmentParams) => {
  let attachment: Attachment | undefined
  const { organization, runtime } = await authorizeToChange(work, action, params, async ({ id }) => {
    const known = await work.tx.maybe(findRuntime(id, params.shared_runtime_id))
    attachment = known && (await work.tx.maybe(findAttachment(known.id, params.attachment_id)))
    return whereOf(work, params.attachment_id, attachment)
  })
  const found = present(attachment)
  if (found.state === 'detached') throw new Problem('state_conflict', { state: found.state })
  return { organization, runtime, attachment: found }
}
