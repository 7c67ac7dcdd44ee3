import { applyOrder } from '@gatehouse/contract/apply-order'
import type { SignedTask, TaskParams, TaskResult, TaskType } from '@gatehouse/contract/node-tasks'
import { type AllocationBook, isGone } from './allocation-book.ts'
import { type Done, type Hands, HandsFailed } from './hands.ts'
import type { Log } from './log.ts'
import type { AllocationState } from './state.ts'

interface Performing {
  readonly hands: Hands
  readonly book: AllocationBook
  readonly log: Log
  readonly now: () => Date
}

/** A task that was verified: its type is known and its parameters are of that type. */
export type VerifiedTask = SignedTask & { readonly type: TaskType }

const failureOf = (error: unknown): string =>
  error instanceof HandsFailed && /^[a-z_]{1,63}$/.test(error.failure) ? error.failure : 'unexpected'

const askHands = (hands: Hands, { type, params, generation }: VerifiedTask): Promise<Done> => {
  switch (type) {
    case 'allocation.provision_user':
      return hands.provisionUser(params as TaskParams<typeof type>, generation)
    case 'allocation.install_authorized_keys':
      return hands.installKeys(params as TaskParams<typeof type>, generation)
    case 'allocation.deprovision_user':
      return hands.deprovisionUser(params as TaskParams<typeof type>, generation)
    case 'diag.health_probe':
      return hands.probe()
  }
}

/** An account is one allocation's: another's keys in it would let strangers in. */
const accountFault = (book: AllocationBook, allocation_id: string, username: string): string | undefined => {
  const known = book.get(allocation_id)
  if (known && known.username !== username) return 'username_changed'
  const is_taken = book.all().some((each) => each.allocation_id !== allocation_id && each.username === username && !isGone(each))
  return is_taken ? 'username_taken' : undefined
}

/**
 * Does what a task says and returns what is to be reported. What is begun is written down before and what is applied after: a crash in
 * between is followed by the same task or a later one, and by none that is older.
 */
export const performTask = async ({ hands, book, log, now }: Performing, task: VerifiedTask): Promise<TaskResult> => {
  const { task_id, type, params, generation } = task
  const told = { task_id, type, generation }
  const failed = (error: unknown, applied_generation: number): TaskResult => {
    log('error', 'task_failed', { ...told, failure: failureOf(error), why: error instanceof Error ? error.message : 'unknown' })
    return { outcome: 'failed', generation, failure: failureOf(error), receipt: { applied_generation } }
  }

  if (type === 'diag.health_probe') {
    try {
      return { outcome: 'completed', generation, receipt: { ...(await askHands(hands, task)), applied_generation: generation } }
    } catch (error) {
      return failed(error, 0)
    }
  }

  const { allocation_id, username } = params as TaskParams<'allocation.provision_user'>
  const known = book.get(allocation_id)
  const applied_generation = known?.applied?.generation ?? 0
  if (applyOrder(known?.begun, generation) === 'older') {
    log('info', 'task_superseded', { ...told, begun: known!.begun })
    // Where the later one was begun and not finished there is nothing yet that could be vouched for.
    return { outcome: 'superseded', generation, ...(applied_generation > generation ? { receipt: { applied_generation } } : {}) }
  }
  const fault = accountFault(book, allocation_id, username)
  if (fault) return failed(new HandsFailed(fault), applied_generation)

  const begun: AllocationState = { ...(known ?? { allocation_id, username, applied: null, drift_found_at: null }), begun: generation }
  if (known?.begun !== generation) await book.keep(begun)
  let done: Done
  try {
    done = await askHands(hands, task)
  } catch (error) {
    return failed(error, applied_generation)
  }
  await book.keep({ ...begun, applied: { type, generation, params, task_id, at: now().toISOString() }, drift_found_at: null })
  log('info', 'task_completed', told)
  const drift = begun.drift_found_at === null ? {} : { drift_found: true }
  return { outcome: 'completed', generation, receipt: { ...done, applied_generation: generation, ...drift } }
}
