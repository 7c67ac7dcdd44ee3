import type { Database } from '#ground/db/database.ts'
import type { Work } from '#ground/work/work.ts'
import type { Append } from '#rails/audit/append.ts'
import { record } from '#rails/audit/record.ts'
import { tendEach } from '#rails/audit/tend-each.ts'
import { systemProof } from '#rails/authz/authorize.ts'
import type { TaskSigning } from '../task-signers/task-signing.ts'
import { recordedTask } from './node-task.ts'
import { countOverdue, expireTask, lockTaskToRenew, noteOverdue, type TaskRow, tasksToRenew } from './node-task-queries.ts'
import { insertSigned } from './queue-task.ts'
import type { TaskSubscribers } from './task-subscribers.ts'

/** Tasks that nodes have not reported on, and those of them that take too long. */
export interface CountedTasks {
  readonly open: number
  readonly overdue: number
}

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

/** A sign of life is wanted now or not at all, and a node that is no more is asked for nothing. */
const isWantedStill = ({ type, is_node_live }: Pick<TaskRow, 'type'> & { is_node_live: boolean }) =>
  is_node_live && type !== 'diag.health_probe'

/** The same again, with a new id, signature and end; or the end of it. */
const renew = async (work: Work, { signing, subscribers }: TaskTending, { id, allocation_id }: TaskRow): Promise<void> => {
  if (allocation_id !== null) for (const lock of subscribers.beforeTaskLocked) await lock(work, allocation_id)
  const task = await work.tx.maybe(lockTaskToRenew(id, work.now))
  if (!task) return
  await work.tx.one(expireTask(proof, id))
  const { attempts } = task
  if (!isWantedStill(task)) return record(work, { action: 'node.task.expire', ...recordedTask(task, { attempts }) })
  const next = await insertSigned(work, signing, proof, task)
  const renewed = { attempts, next_task_id: next.id, was_expired: task.expires_at <= work.now }
  record(work, { action: 'node.task.renew', ...recordedTask(task, renewed) })
}

const noteLate = async (work: Work): Promise<void> => {
  for (const task of await work.tx.many(noteOverdue(proof, work.now, overdue_seconds, most_at_once))) {
    const about = { attempts: task.attempts, state: task.state, since: task.waiting_since }
    record(work, { action: 'node.task.overdue', ...recordedTask(task, about), severity: 'high' })
  }
}

/**
 * Sees to it that what is wanted of nodes is signed by a key that they believe and is not over, and tells once of each task that takes too
 * long. To be run every second or so; several processes may.
 */
export const tendTasks = async (tending: TaskTending): Promise<CountedTasks> => {
  const { database } = tending
  const { now } = await database.transaction('read', async (tx) => ({ now: tx.now }))
  const stale = await database.reader.many(tasksToRenew(now, most_at_once))
  const renewed = await tendEach(tending, 'node_tending', stale, (work, task) => renew(work, tending, task))
  const counted = await database.reader.one(countOverdue(overdue_seconds))
  const noted = await tendEach(tending, 'node_tending', counted.overdue > 0 ? [noteLate] : [], (work, note) => note(work))
  const failed = [...renewed.failed, ...noted.failed]
  if (failed.length > 0) throw failed[0]
  return counted
}
