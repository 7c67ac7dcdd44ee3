import type { listAttachments as List, readAttachment as Read } from '@gatehouse/contract/runtime-attachments'
import { authorizedAmong } from '#rails/authz/authorize.ts'
import { type Answering, listed } from '#rails/http/answer.ts'
import { attachmentsOf } from './attachment-queries.ts'
import { attachmentKind, authorizeToSeeAttachment } from './attachment-scope.ts'
import { listAcross } from './list-across.ts'
import { authorizeToSee } from './runtime-scope.ts'

/** An operator is shown nothing of a project that is not attached any more, be it history. */
const listForOperator: Answering<typeof List> = (work, asked) => {
  const which = { is_detached: asked.query.state === 'detached', is_of_attached: true }
  return listAcross(work, asked, {
    right: 'tenant.shared_runtime.read',
    type: attachmentKind.type,
    readAfter: (runtime, after, limit) => work.tx.many(attachmentsOf(runtime, which, after, limit)),
    seenAmong: (_, rows) => authorizedAmong(work, 'tenant.shared_runtime.read', attachmentKind, rows),
  })
}

/** People see each as the tenant's, so that all are judged as one is. */
const listForPeople: Answering<typeof List> = async (work, { params, query, slice }) => {
  const { runtime } = await authorizeToSee(work, 'tenant.shared_runtime.read', params, attachmentKind.type)
  const which = { is_detached: query.state === 'detached', is_of_attached: false }
  return listed(await work.tx.many(attachmentsOf(runtime, which, slice.after, slice.limit + 1)), slice, ({ id }) => id)
}

export const listAttachments: Answering<typeof List> = (work, asked) =>
  work.actor.type === 'user' ? listForPeople(work, asked) : listForOperator(work, asked)

export const readAttachment: Answering<typeof Read> = (work, { params }) => authorizeToSeeAttachment(work, params)
