import type { TaskParams, TaskType } from '@gatehouse/contract/node-tasks'
import type { Id } from '@gatehouse/contract/shapes'
import { newId } from '#ground/kernel/ids.ts'
import type { Work } from '#ground/work/work.ts'
import type { Action } from '#rails/authz/actions.ts'
import type { Authorized } from '#rails/authz/authorize.ts'
import { type TaskSigning, task_lifetime_ms } from '../task-signers/task-signing.ts'
import { insertTask, supersedeTasks, type TaskRow } from './node-task-queries.ts'

/** Which of an allocation's tasks under way give way to one of this type; null: all of them. */
const superseding: Readonly<Record<TaskType, readonly TaskType[] | null>> = {
  // One of a time before a restore may still be under way.
  'allocation.provision_user': ['allocation.provision_user'],
  'allocation.install_authorized_keys': ['allocation.install_authorized_keys'],
  'allocation.deprovision_user': null,
  'diag.health_probe': [],
}

export interface Queued<T extends TaskType> {
  readonly node_id: Id<'node'>
  readonly type: T
  readonly params: TaskParams<T>
  readonly generation: number
  readonly allocation: { readonly id: Id<'allocation'>; readonly org_id: Id<'org'>; readonly project_id: Id<'project'> } | null
}

type Content = Pick<TaskRow, 'node_id' | 'type' | 'params' | 'generation' | 'allocation_id' | 'org_id' | 'project_id'>

/** Signs and inserts, with a new id and all its time ahead of it. */
export const insertSigned = async (
  work: Work,
  signing: TaskSigning,
  proof: Authorized<Action, object>,
  { node_id, type, params, generation, allocation_id, org_id, project_id }: Content,
): Promise<TaskRow> => {
  const expires_at = new Date(Date.parse(work.now) + task_lifetime_ms).toISOString()
  const unsigned = { task_id: newId('node task'), node_id, type, params, generation, expires_at }
  const task = { ...unsigned, ...(await signing.signed(work.tx, unsigned)) }
  const { now, correlation_id } = work
  return work.tx.one(insertTask(proof, { task, allocation_id, org_id, project_id, now, correlation_id }))
}

/**
 * Queues a task in the transaction of what it follows from: both are there or neither. It is signed here and now; a later key does not
 * change what was meant. The allocation, if there is one, must be locked: its tasks have their order from that.
 */
export const queueTask = async <T extends TaskType>(
  work: Work,
  signing: TaskSigning,
  proof: Authorized<Action, object>,
  { node_id, type, params, generation, allocation }: Queued<T>,
): Promise<{ id: Id<'node task'>; generation: number }> => {
  if (allocation) await work.tx.many(supersedeTasks(proof, allocation.id, superseding[type]))
  const { id } = await insertSigned(work, signing, proof, {
    node_id,
    type,
    params: { ...params },
    generation,
    allocation_id: allocation?.id ?? null,
    org_id: allocation?.org_id ?? null,
    project_id: allocation?.project_id ?? null,
  })
  return { id, generation }
}
