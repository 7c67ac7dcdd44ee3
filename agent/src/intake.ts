import type { SignedTask, TaskResult, TaskSigner, TaskType } from '@gatehouse/contract/node-tasks'
import { refusalOf, type TaskRefusal } from '@gatehouse/contract/verify-task'
import type { AllocationBook } from './allocation-book.ts'
import type { Hands } from './hands.ts'
import type { Lanes } from './lanes.ts'
import type { Log } from './log.ts'
import type { Outbox } from './outbox.ts'
import { performTask, type VerifiedTask } from './perform-task.ts'
import { trustedSigners } from './trusted-signers.ts'
import type { Wearing } from './wearing.ts'

const skew_ms = 60_000

/** What an answer to the wait holds, as far as we read it: a newer control plane may say more. */
export interface Delivery {
  readonly tasks: readonly unknown[]
  readonly signers: readonly TaskSigner[]
  readonly renew_after: string
}

export const deliveryIn = (body: unknown): Delivery | undefined => {
  const { tasks, signers, renew_after } = (typeof body === 'object' && body !== null ? body : {}) as Partial<
    Record<keyof Delivery, unknown>
  >
  if (!Array.isArray(tasks) || !Array.isArray(signers) || typeof renew_after !== 'string') return undefined
  const are_signers = signers.every((each) => typeof each?.kid === 'string' && typeof each?.certificate === 'string')
  return are_signers ? { tasks, signers, renew_after } : undefined
}

interface Parts {
  readonly wearing: Wearing
  readonly book: AllocationBook
  readonly outbox: Outbox
  readonly lanes: Lanes
  readonly hands: Hands
  readonly log: Log
  readonly now: () => Date
  /** Which version of the protocol the control plane speaks. */
  readonly speaks: () => number
}

export interface Refused {
  readonly count: number
  readonly last: { readonly reason: TaskRefusal; readonly at: string } | null
}

export interface Intake {
  readonly take: (delivery: Delivery) => Promise<void>
  readonly refused: () => Refused
  readonly kids: () => readonly string[]
}

/** What the control plane signed and we do not understand is answered; what it did not sign, or no longer means, is not. */
const isAnswered = (refusal: TaskRefusal): refusal is 'unknown_type' | 'bad_params' =>
  refusal === 'unknown_type' || refusal === 'bad_params'

/** An older control plane refuses a report that says more than it knows of. */
const withoutLeftovers = (result: TaskResult): TaskResult => {
  if (!result.receipt?.leftovers) return result
  const { leftovers: _, ...receipt } = result.receipt
  return { ...result, receipt }
}

/** Where tasks come in: each is verified, and those that are new go to their lanes. */
export const openIntake = (parts: Parts): Intake => {
  const { wearing, outbox, lanes, log, now } = parts
  const under_way = new Set<string>()
  let refused: Refused = { count: 0, last: null }
  let kids: readonly string[] = []

  const refuse = async (task: unknown, reason: TaskRefusal): Promise<void> => {
    refused = { count: refused.count + 1, last: { reason, at: now().toISOString() } }
    const { task_id, generation } = (typeof task === 'object' && task !== null ? task : {}) as Partial<SignedTask>
    log('error', 'task_refused', { reason, task_id: typeof task_id === 'string' ? task_id.slice(0, 36) : null })
    if (!isAnswered(reason) || (await outbox.repeat(task_id!))) return
    await outbox.report(task_id!, { outcome: 'failed', generation: generation!, failure: reason })
  }

  /** The report is on disk now, and has it. */
  const dropEnded = async ({ params }: VerifiedTask): Promise<void> => {
    const known = parts.book.get((params as { allocation_id?: string }).allocation_id ?? '')
    if (!known?.ended) return
    const { ended: _said, ...rest } = known
    await parts.book.keep(rest)
  }

  const perform = async (task: VerifiedTask): Promise<void> => {
    try {
      const result = await performTask(parts, task)
      await outbox.report(task.task_id, parts.speaks() >= 2 ? result : withoutLeftovers(result))
      if (result.outcome === 'completed') await dropEnded(task)
    } catch (error) {
      // Nothing was reported: it comes again.
      log('error', 'task_not_kept', { task_id: task.task_id, why: error instanceof Error ? error.message : 'unknown' })
    } finally {
      under_way.delete(task.task_id)
    }
  }

  return {
    take: async ({ tasks, signers }) => {
      const { identity } = wearing.current()
      const trusted = trustedSigners(signers, identity.authority, now().getTime())
      kids = trusted.kids
      const judging = { node_id: identity.node_id, now: now().getTime(), skew_ms, isSignedBy: trusted.isSignedBy }
      for (const task of tasks) {
        const reason = refusalOf(task, judging)
        if (reason) {
          await refuse(task, reason)
          continue
        }
        const verified = task as SignedTask & { type: TaskType }
        if (under_way.has(verified.task_id) || (await outbox.repeat(verified.task_id))) continue
        under_way.add(verified.task_id)
        const { allocation_id } = verified.params as { allocation_id?: string }
        lanes.add(allocation_id?.toLowerCase() ?? verified.task_id, verified.type, () => perform(verified))
      }
    },
    refused: () => refused,
    kids: () => kids,
  }
}
