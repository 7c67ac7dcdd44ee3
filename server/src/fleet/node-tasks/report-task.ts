import type { TaskResult } from '@gatehouse/contract/node-tasks'
import type { reportTask as Op } from '@gatehouse/contract/nodes'
import { Problem } from '#ground/kernel/problem.ts'
import type { Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import { authorize } from '#rails/authz/authorize.ts'
import type { Answering } from '#rails/http/answer.ts'
import { receiptKeysOf } from '../nodes/certificate-queries.ts'
import { nodeKind } from '../nodes/node.ts'
import { recordedTask, taskKind } from './node-task.ts'
import { findTask, keepResult, latestDispatched, lockTask, type TaskRow } from './node-task-queries.ts'
import { fits, isReceiptSigned } from './receipt.ts'
import type { TaskSubscribers } from './task-subscribers.ts'

const refused = (reason_code: 'scope_mismatch' | 'permission_denied') => new Problem('insufficient_permissions', { reason_code })

/** The latest generation that the node was given of this; it can have applied none beyond. */
const latestSent = async ({ tx }: Pick<Work, 'tx'>, { node_id, allocation_id, generation }: TaskRow): Promise<number> =>
  allocation_id === null ? generation : (await tx.one(latestDispatched(node_id, allocation_id))).generation

/** Whatever is wrong with it, the node is told the same, and it is recorded as what a broken or taken node would do. */
const requireFitting = async ({ tx, now }: Work, task: TaskRow, result: TaskResult): Promise<void> => {
  if (task.dispatched_at === null || task.reported_at !== null) throw refused('permission_denied')
  if (!fits(task, result, await latestSent({ tx }, task))) throw refused('permission_denied')
  if (result.receipt_signature === undefined) return
  const keys = await tx.many(receiptKeysOf(task.node_id, now))
  const public_keys = keys.map(({ public_key }) => public_key)
  if (!isReceiptSigned(public_keys, task.id, result)) throw refused('permission_denied')
}

const reported = ({ outcome, failure, receipt, receipt_signature }: TaskResult) => ({
  outcome,
  failure: failure ?? null,
  receipt: receipt ?? null,
  receipt_signature: receipt_signature ?? null,
})

/**
 * What became of a task, accepted once. One that was superseded or had expired meanwhile stays so, but what the node has done is known
 * and rooms above hear of it.
 */
export const reportTask =
  ({ beforeTaskLocked, onTaskFinished }: TaskSubscribers): Answering<typeof Op> =>
  async (work, { params: { node_id, task_id }, body: result }) => {
    await authorize(work, 'node.task.report', nodeKind, { id: node_id })
    // One that is not there and one that is another's answer alike.
    const found = await work.tx.maybe(findTask(task_id))
    if (found?.node_id !== node_id) throw refused('scope_mismatch')
    const proof = await authorize(work, 'node.task.report', taskKind, found)
    if (found.allocation_id !== null) for (const lock of beforeTaskLocked) await lock(work, found.allocation_id)
    const task = await work.tx.one(lockTask(task_id))
    await requireFitting(work, task, result)
    const state = task.state === 'dispatched' ? result.outcome : task.state
    const kept = await work.tx.one(keepResult(proof, task_id, { state, result, now: work.now }))
    record(work, {
      action: 'node.task.report',
      ...recordedTask(kept, { state, ...reported(result) }),
      severity: result.outcome === 'failed' ? 'warning' : 'info',
    })
    for (const react of onTaskFinished) await react(work, { task: kept, outcome: result.outcome, result })
    return { task_id, state }
  }
