import type { Append } from '../audit/append.ts'
import { record } from '../audit/record.ts'
import { systemProof } from '../authz/authorize.ts'
import type { Database } from '../db/database.ts'
import { newId } from '../kernel/ids.ts'
import { systemWork, type Work } from '../work/work.ts'
import { countOverdue, expireTask, lockTaskToRenew, noteOverdue, type TaskRow, tasksToRenew } from './node-task-queries.ts'
import { insertSigned } from './queue-task.ts'
import type { TaskSigning } from './task-signing.ts'
import type { TaskSubscribers } from './task-subscribers.ts'

export interface TaskTending {
  readonly database: Database
  readonly append: Append
  readonly signing: TaskSigning
  readonly subscribers: Pick<TaskSubscribers, 'beforeTaskLocked'>
}

/** Longer than a node that is there needs. */
const overdue_seconds = 60
const most_at_once = 200
const proof = systemProof('node_tending', 'platform.node.manage', {})

const told = (work: Work, action: string, task: TaskRow, more: object, severity: 'info' | 'high' = 'info') =>
  record(work, {
    action,
    resource_type: 'node_task',
    resource_id: task.id,
    tenant_id: task.org_id,
    project_id: task.project_id,
    severity,
    metadata: {
      node_id: task.node_id,
      task_type: task.type,
      allocation_id: task.allocation_id,
      generation: task.generation,
      attempts: task.attempts,
      ...more,
    },
  })

/** A sign of life is wanted now or not at all, and a node that is no more is asked for nothing. */
const isWantedStill = ({ type, is_node_live }: Pick<TaskRow, 'type'> & { is_node_live: boolean }) =>
  is_node_live && type !== 'diag.health_probe'

/** The same again, with a new id, signature and end; or the end of it. */
const renew = async (work: Work, { signing, subscribers }: TaskTending, { id, allocation_id }: TaskRow): Promise<void> => {
  if (allocation_id !== null) for (const lock of subscribers.beforeTaskLocked) await lock(work, allocation_id)
  const task = await work.tx.maybe(lockTaskToRenew(id, work.now))
  if (!task) return
  await work.tx.one(expireTask(proof, id))
  if (!isWantedStill(task)) return told(work, 'node.task.expire', task, {})
  const next = await insertSigned(work, signing, proof, task)
  told(work, 'node.task.renew', task, { next_task_id: next.id, was_expired: task.expires_at <= work.now })
}

const within = async ({ database, append }: TaskTending, act: (work: Work) => Promise<void>) =>
  database.transaction('write', async (tx) => {
    const work = systemWork(tx, 'node_tending', newId('correlation'))
    await act(work)
    await append(work)
  })

/**
 * Sees to it that what is wanted of nodes is signed by a key that they believe and is not over, and tells once of each task that takes too
 * long. To be run every second or so; several processes may.
 */
export const tendTasks = async (tending: TaskTending): Promise<{ readonly open: number; readonly overdue: number }> => {
  const { database } = tending
  const { now } = await database.transaction('read', async (tx) => ({ now: tx.now }))
  for (const task of await database.reader.many(tasksToRenew(now, most_at_once)))
    await within(tending, (work) => renew(work, tending, task))
  const counted = await database.reader.one(countOverdue(overdue_seconds))
  if (counted.overdue > 0)
    await within(tending, async (work) => {
      const late = await work.tx.many(noteOverdue(proof, work.now, overdue_seconds, most_at_once))
      for (const task of late) told(work, 'node.task.overdue', task, { state: task.state, since: task.created_at }, 'high')
    })
  return counted
}
