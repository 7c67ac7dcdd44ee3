import type {
  listAttachments as List,
  listEligibleProjects as ListEligible,
  readAttachment as Read,
} from '@gatehouse/contract/runtime-attachments'
import { authorizedAmong } from '../authz/authorize.ts'
import { type Answering, listed } from '../http/answer.ts'
import { seenIn } from '../http/seen-page.ts'
import { attachmentsOf, eligibleProjects } from './attachment-queries.ts'
import { attachmentKind, authorizeToSeeAttachment } from './attachment-scope.ts'
import { idAfter, placeAmong } from './operator-cursor.ts'
import { authorizeToSee } from './runtime-scope.ts'

/**
 * An operator is shown nothing of a project that is not attached any more, be it history; and of those that are, what it could read one by
 * one: each may have rules of its own.
 */
const listForOperator: Answering<typeof List> = async (work, { params, query, slice }) => {
  const { runtime } = await authorizeToSee(work, 'tenant.shared_runtime.read', params)
  const which = { is_detached: query.state === 'detached', is_of_attached: true }
  const seen = await seenIn(
    { ...slice, after: idAfter(runtime, slice.after) },
    (after, limit) => work.tx.many(attachmentsOf(runtime, which, after, limit)),
    (rows) => authorizedAmong(work, 'tenant.shared_runtime.read', attachmentKind, rows),
  )
  const page = listed(seen, slice, ({ id }) => placeAmong(runtime, id))
  for (const { project_id } of page.items) work.trail.shown_of.add(project_id)
  return page
}

const listForPeople: Answering<typeof List> = async (work, { params, query, slice }) => {
  const { runtime } = await authorizeToSee(work, 'tenant.shared_runtime.read', params)
  const which = { is_detached: query.state === 'detached', is_of_attached: false }
  return listed(await work.tx.many(attachmentsOf(runtime, which, slice.after, slice.limit + 1)), slice, ({ id }) => id)
}

export const listAttachments: Answering<typeof List> = (work, asked) =>
  work.actor.type === 'user' ? listForPeople(work, asked) : listForOperator(work, asked)

export const readAttachment: Answering<typeof Read> = (work, { params }) => authorizeToSeeAttachment(work, params)

export const listEligible: Answering<typeof ListEligible> = async (work, { params, slice }) => {
  const { runtime } = await authorizeToSee(work, 'tenant.shared_runtime.manage', params)
  const rows = await work.tx.many(eligibleProjects(runtime, slice.after, slice.limit + 1))
  return listed(rows, slice, ({ project_id }) => project_id)
}
