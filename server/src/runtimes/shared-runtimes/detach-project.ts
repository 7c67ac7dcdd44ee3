import type { deleteAttachment as Op } from '@gatehouse/contract/runtime-attachments'
import { record } from '#rails/audit/record.ts'
import type { Answering } from '#rails/http/answer.ts'
import { endAttachment } from './attachment-queries.ts'
import { authorizeAttachment } from './attachment-scope.ts'
import { type RuntimeRow, recordedIn } from './shared-runtime.ts'
import { endCursors, takeOffList } from './shared-runtime-queries.ts'

/** What its operator may still attach by itself, where that has changed. */
const left = ({ eligible_project_ids, version }: RuntimeRow) => ({ eligible_project_ids, version })

/** From the commit on the project is not there for the runtime's operator; and what people have taken away it does not take back. */
export const detachProject: Answering<typeof Op> = async (work, { params, body: { reason } }) => {
  const { actor, tx, now } = work
  const action = actor.type === 'user' ? 'tenant.shared_runtime.manage' : 'shared_runtime.detach'
  const { organization, runtime, attachment } = await authorizeAttachment(work, action, params)
  const ended = await tx.one(endAttachment(organization, attachment.id, actor, reason, now))
  await tx.one(endCursors(organization, runtime.id, now))
  const listed = actor.type === 'user' ? await tx.maybe(takeOffList(organization, runtime.id, ended.project_id, now)) : undefined
  record(work, {
    action: 'shared_runtime.attachment.delete',
    resource_type: 'shared_runtime_attachment',
    resource_id: ended.id,
    ...recordedIn(organization, ended.project_id),
    metadata: { shared_runtime_id: runtime.id, display_name: runtime.display_name, reason, ...(listed ? left(listed) : {}) },
  })
  return ended
}
