import type { updateAttachment as Op } from '@gatehouse/contract/runtime-attachments'
import { record } from '#rails/audit/record.ts'
import type { Answering } from '#rails/http/answer.ts'
import { setContribution } from './attachment-queries.ts'
import { authorizeAttachment } from './attachment-scope.ts'
import { recordedIn } from './shared-runtime.ts'
import { endCursors } from './shared-runtime-queries.ts'

export const updateAttachment: Answering<typeof Op> = async (work, { params, body: { contribution_policy, reason } }) => {
  const { organization, runtime, attachment } = await authorizeAttachment(work, 'tenant.shared_runtime.manage', params)
  const written = await work.tx.one(setContribution(organization, attachment.id, contribution_policy, work.now))
  await work.tx.one(endCursors(organization, runtime.id, work.now))
  record(work, {
    action: 'shared_runtime.attachment.update',
    resource_type: 'shared_runtime_attachment',
    resource_id: written.id,
    ...recordedIn(organization, written.project_id),
    metadata: {
      shared_runtime_id: runtime.id,
      display_name: runtime.display_name,
      from: attachment.contribution_policy,
      contribution_policy,
      reason,
    },
  })
  return written
}
