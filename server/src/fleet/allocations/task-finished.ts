import type { Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import { systemProof } from '#rails/authz/authorize.ts'
import type { FinishedTask } from '../node-tasks/task-subscribers.ts'
import { type AllocationParts, type AllocationRow, recordedOf } from './allocation.ts'
import { confirmGeneration, isSetSent, lockAllocation, moveAllocation, setCleared } from './allocation-queries.ts'
import { endAllocation } from './end-allocation.ts'
import { movedBy } from './states.ts'
import { sendWholeSet } from './sync-access.ts'

const proof = systemProof('task_finished', 'allocation.release', {})

/**
 * Which generation the node has applied by its own word; without a receipt, that it did what it was asked for. What it could not do is
 * never confirmed by saying so: it is owed, and asked for again.
 */
const appliedBy = ({ task, outcome, result: { receipt } }: FinishedTask): number => {
  const applied = receipt?.applied_generation ?? (outcome === 'completed' ? task.generation : 0)
  return outcome === 'failed' && applied >= task.generation ? 0 : applied
}

const aboutTask = ({ task, outcome }: FinishedTask) => ({
  node_id: task.node_id,
  task_id: task.id,
  type: task.type,
  generation: task.generation,
  outcome,
})

const confirm = async (work: Work, row: AllocationRow, finished: FinishedTask): Promise<AllocationRow> =>
  (await work.tx.maybe(confirmGeneration(proof, row.id, appliedBy(finished), work.now))) ?? row

/** The report itself is recorded with its receipt; this is what somebody should look at (SG-20). */
const noteTrouble = (work: Work, row: AllocationRow, finished: FinishedTask): void => {
  const { failure = null, receipt } = finished.result
  const noted = { ...recordedOf(row), severity: 'warning', metadata: { ...aboutTask(finished), failure } } as const
  if (receipt?.drift_found) record(work, { action: 'allocation.ssh_keys.restore', ...noted })
  if (finished.outcome === 'failed') record(work, { action: 'allocation.ssh_keys.not_applied', ...noted })
}

/** What the account had planned or left running beyond its sessions; what is not ended may let somebody back in, or go on for who has left. */
const noteLeftovers = (work: Work, row: AllocationRow, finished: FinishedTask): void => {
  const leftovers = finished.result.receipt?.leftovers ?? []
  if (leftovers.length === 0) return
  record(work, {
    action: 'allocation.leftovers',
    ...recordedOf(row),
    severity: leftovers.every(({ is_ended }) => is_ended) ? 'info' : 'high',
    metadata: { ...aboutTask(finished), kinds: [...new Set(leftovers.map(({ kind }) => kind))].sort(), leftovers },
  })
}

/** The latest that the node was asked for has failed, and no other is under way. */
const isLatestFailed = (row: AllocationRow, { task }: FinishedTask): boolean =>
  task.state === 'failed' && task.generation === row.generation

/** Nobody is let in any more, and the node is asked to put away what it may have made. */
const fail = async (work: Work, parts: AllocationParts, row: AllocationRow, finished: FinishedTask): Promise<void> => {
  const to = movedBy(row.state, 'not_provided')
  if (!to || !isLatestFailed(row, finished)) return
  const failure = finished.result.failure ?? 'node_failed'
  const { sent } = await endAllocation(work, parts, proof, row, {
    to,
    cause: 'allocation_failed',
    reason: failure,
    failure,
    is_cleared: false,
  })
  record(work, {
    action: 'allocation.fail',
    ...recordedOf(row),
    severity: 'warning',
    metadata: { ...aboutTask(finished), failure, cleanup_task_id: sent.task_id },
  })
}

const provisioned = async (work: Work, parts: AllocationParts, row: AllocationRow, finished: FinishedTask): Promise<void> => {
  if (finished.outcome === 'failed') return fail(work, parts, row, finished)
  if (finished.outcome !== 'completed' || row.state !== 'provisioning' || (await work.tx.one(isSetSent(row.id))).is_sent) return
  const sent = await sendWholeSet(work, parts.signing, row)
  record(work, {
    action: 'allocation.ssh_keys.install',
    ...recordedOf(row),
    metadata: { node_id: row.node_id, username: row.username_on_node, ...sent },
  })
}

const installed = async (work: Work, parts: AllocationParts, row: AllocationRow, finished: FinishedTask): Promise<void> => {
  noteTrouble(work, row, finished)
  if (finished.outcome === 'failed') return fail(work, parts, row, finished)
  const to = movedBy(row.state, 'installed')
  if (finished.outcome !== 'completed' || !to) return
  await work.tx.one(moveAllocation(proof, row, { state: to }, work.now))
  record(work, { action: 'allocation.activate', ...recordedOf(row), metadata: aboutTask(finished) })
}

const deprovisioned = async (work: Work, row: AllocationRow, finished: FinishedTask): Promise<void> => {
  const { outcome, result } = finished
  const metadata = { ...aboutTask(finished), failure: result.failure ?? null, sessions_ended: result.receipt?.sessions_ended ?? [] }
  if (outcome === 'completed') {
    if (row.state === 'failed' && row.cleared_at === null) {
      await work.tx.one(setCleared(proof, row.id, work.now))
      record(work, { action: 'allocation.clear', ...recordedOf(row), metadata })
      return
    }
    const to = movedBy(row.state, 'cleared')
    if (!to) return
    await work.tx.one(moveAllocation(proof, row, { state: to, is_cleared: true }, work.now))
    record(work, { action: 'allocation.released', ...recordedOf(row), metadata })
    return
  }
  const to = movedBy(row.state, 'not_cleared')
  if (!to || !isLatestFailed(row, finished)) return
  await work.tx.one(moveAllocation(proof, row, { state: to, failure: result.failure ?? 'node_failed' }, work.now))
  record(work, { action: 'allocation.release_fail', ...recordedOf(row), severity: 'high', metadata })
}

/** Before the task is: allocations are locked first, everywhere. */
export const lockAllocationOfTask = (work: Work, allocation_id: string): Promise<unknown> => work.tx.maybe(lockAllocation(allocation_id))

/** The workflow goes on by what the node has said, and by nothing else. */
export const onTaskFinished =
  (parts: AllocationParts) =>
  async (work: Work, finished: FinishedTask): Promise<void> => {
    const { task } = finished
    if (task.allocation_id === null) return
    const row = await work.tx.maybe(lockAllocation(task.allocation_id))
    if (row?.node_id !== task.node_id) return
    const known = await confirm(work, row, finished)
    noteLeftovers(work, known, finished)
    if (task.type === 'allocation.provision_user') await provisioned(work, parts, known, finished)
    else if (task.type === 'allocation.install_authorized_keys') await installed(work, parts, known, finished)
    else if (task.type === 'allocation.deprovision_user') await deprovisioned(work, known, finished)
  }
