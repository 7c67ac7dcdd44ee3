import type {
  listAttachments as List,
  listEligibleProjects as ListEligible,
  readAttachment as Read,
} from '@gatehouse/contract/shared-runtimes'
import { type Answering, listed } from '../http/answer.ts'
import { attachmentsOf, eligibleProjects } from './attachment-queries.ts'
import { authorizeToSeeAttachment } from './attachment-scope.ts'
import { idAfter, placeAmong } from './operator-cursor.ts'
import { authorizeToSee } from './runtime-scope.ts'

/** An operator is shown nothing of a project that is not attached any more, be it history. */
export const listAttachments: Answering<typeof List> = async (work, { params, query, slice }) => {
  const { runtime } = await authorizeToSee(work, 'tenant.shared_runtime.read', params)
  const is_of_attached = work.actor.type !== 'user'
  const after = is_of_attached ? idAfter(runtime, slice.after) : slice.after
  const which = { is_detached: query.state === 'detached', is_of_attached }
  const rows = await work.tx.many(attachmentsOf(runtime, which, after, slice.limit + 1))
  const page = listed(rows, slice, ({ id }) => (is_of_attached ? placeAmong(runtime, id) : id))
  for (const { project_id } of page.items) work.trail.shown_of.add(project_id)
  return page
}

export const readAttachment: Answering<typeof Read> = (work, { params }) => authorizeToSeeAttachment(work, params)

export const listEligible: Answering<typeof ListEligible> = async (work, { params, slice }) => {
  const { runtime } = await authorizeToSee(work, 'tenant.shared_runtime.manage', params)
  const rows = await work.tx.many(eligibleProjects(runtime, slice.after, slice.limit + 1))
  return listed(rows, slice, ({ project_id }) => project_id)
}
