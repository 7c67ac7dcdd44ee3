import type { deleteSharedRuntime as Op } from '@gatehouse/contract/shared-runtimes'
import { record } from '#rails/audit/record.ts'
import type { Answering } from '#rails/http/answer.ts'
import { detachAll } from './attachment-queries.ts'
import { forgetMembers } from './member-queries.ts'
import { authorizeToManage } from './runtime-scope.ts'
import { type RuntimeSubscribers, recordedIn } from './shared-runtime.ts'
import { endRuntime } from './shared-runtime-queries.ts'

/** So many attachments have a row of the record each, in the log of their own project; beyond that they are counted. */
const told_apart = 200

/** The row stays, for the record and for what names it; everything that rests on it ends with it. */
export const deleteRuntime =
  ({ onRuntimeDeleted }: Pick<RuntimeSubscribers, 'onRuntimeDeleted'>): Answering<typeof Op> =>
  async (work, { params, body: { reason } }) => {
    const { organization, runtime } = await authorizeToManage(work, params)
    const detached = await work.tx.many(detachAll(organization, runtime.id, work.actor.id, reason, work.now))
    await work.tx.many(forgetMembers(organization, runtime.id))
    await work.tx.one(endRuntime(organization, runtime.id, work.actor.id, reason, work.now))
    const { id: shared_runtime_id, display_name } = runtime
    for (const { id, project_id } of detached.toSorted((a, b) => (a.id < b.id ? -1 : 1)).slice(0, told_apart))
      record(work, {
        action: 'shared_runtime.attachment.delete',
        resource_type: 'shared_runtime_attachment',
        resource_id: id,
        ...recordedIn(organization, project_id),
        metadata: { shared_runtime_id, display_name, cause: 'runtime_deleted', reason },
      })
    record(work, {
      action: 'shared_runtime.delete',
      resource_type: 'shared_runtime',
      resource_id: runtime.id,
      ...recordedIn(organization),
      metadata: { display_name, attachments_ended: detached.length, reason },
    })
    for (const subscriber of onRuntimeDeleted) await subscriber(work, organization, runtime, reason)
  }
