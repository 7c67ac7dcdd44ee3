import * as attachments from '@gatehouse/contract/runtime-attachments'
import * as runtimes from '@gatehouse/contract/shared-runtimes'
import { answer } from '#rails/http/answer.ts'
import { attachProject } from './attach-project.ts'
import { createRuntime } from './create-runtime.ts'
import { deleteRuntime } from './delete-runtime.ts'
import { detachProject } from './detach-project.ts'
import { disableRuntime, enableRuntime } from './disable-runtime.ts'
import { listAttachments, readAttachment } from './list-attachments.ts'
import { listContributed } from './list-contributed.ts'
import { listEligible } from './list-eligible.ts'
import { listRuntimes, readRuntime } from './list-runtimes.ts'
import { readMembers, reportMembers } from './report-members.ts'
import { reportStatus } from './report-status.ts'
import type { RuntimeSubscribers } from './shared-runtime.ts'
import { updateAttachment } from './update-attachment.ts'
import { updateRuntime } from './update-runtime.ts'

export const sharedRuntimeRoutes = (subscribers: RuntimeSubscribers) => [
  answer(runtimes.listSharedRuntimes, listRuntimes),
  answer(runtimes.createSharedRuntime, createRuntime),
  answer(runtimes.readSharedRuntime, readRuntime),
  answer(runtimes.updateSharedRuntime, updateRuntime),
  answer(runtimes.disableSharedRuntime, disableRuntime(subscribers)),
  answer(runtimes.enableSharedRuntime, enableRuntime),
  answer(runtimes.deleteSharedRuntime, deleteRuntime(subscribers)),
  answer(attachments.listAttachments, listAttachments),
  answer(attachments.createAttachment, attachProject),
  answer(attachments.readAttachment, readAttachment),
  answer(attachments.updateAttachment, updateAttachment),
  answer(attachments.deleteAttachment, detachProject),
  answer(attachments.listEligibleProjects, listEligible),
  answer(runtimes.reportRuntimeStatus, reportStatus),
  answer(runtimes.reportRuntimeMembers, reportMembers),
  answer(runtimes.listRuntimeMembers, readMembers),
  answer(runtimes.listRuntimeAllocations, listContributed),
]
