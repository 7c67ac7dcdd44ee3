import { applyOrder } from '@gatehouse/contract/apply-order'
import type { DesiredKey, SignedTask, TaskParams, TaskResult, TaskType } from '@gatehouse/contract/node-tasks'
import { type AllocationBook, isGone, together } from './allocation-book.ts'
import { isFull } from './atomic-file.ts'
import { type Done, type Ended, type Hands, HandsFailed, Interrupted, type KeepEnded, type Receipt, whyOf } from './hands.ts'
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

export const failureOf = (error: unknown): string => {
  if (error instanceof HandsFailed && /^[a-z_]{1,63}$/.test(error.failure)) return error.failure
  return isFull(error) ? 'disk_full' : 'unexpected'
}

const askHands = (hands: Hands, { type, params, generation }: VerifiedTask, keepEnded: KeepEnded = async () => {}): Promise<Done> => {
  switch (type) {
    case 'allocation.provision_user':
      return hands.provisionUser(params as TaskParams<typeof type>, generation)
    case 'allocation.install_authorized_keys':
      return hands.installKeys(params as TaskParams<typeof type>, generation, keepEnded)
    case 'allocation.deprovision_user':
      return hands.deprovisionUser(params as TaskParams<typeof type>, generation, keepEnded)
    case 'diag.health_probe':
      return hands.probe()
  }
}

/** As many as a report holds. */
const named_at_most = 1000

const saidOf = (ended: Ended): Pick<Receipt, 'sessions_ended' | 'sessions_ended_count'> =>
  ended.length <= named_at_most
    ? { sessions_ended: ended as Receipt['sessions_ended'] & {} }
    : { sessions_ended: ended.slice(0, named_at_most), sessions_ended_count: ended.length }

/** An account is one allocation's: another's keys in it would let strangers in. */
const accountFault = (book: AllocationBook, allocation_id: string, username: string): string | undefined => {
  const known = book.get(allocation_id)
  if (known && known.username !== username) return 'username_changed'
  const is_taken = book.all().some((each) => each.allocation_id !== allocation_id && each.username === username && !isGone(each))
  return is_taken ? 'username_taken' : undefined
}

/** Whether somebody is to be out by it who may be in now. */
const takesAway = (known: AllocationState | undefined, { type, params }: VerifiedTask): boolean => {
  if (type === 'allocation.deprovision_user') return true
  if (type !== 'allocation.install_authorized_keys') return false
  const keysIn = (of: unknown): readonly DesiredKey[] => (of as Partial<TaskParams<typeof type>>).keys ?? []
  const wanted = new Map(keysIn(params).map((key) => [key.fingerprint, key.expires_at]))
  // Of what was begun and not finished nobody knows how much is there.
  if (!known?.applied || known.applied.generation !== known.begun) return true
  return keysIn(known.applied.params).some(({ fingerprint, expires_at }) => wanted.get(fingerprint) !== expires_at)
}

/**
 * Does what a task says and returns what is to be reported. What is begun is written down before and what is applied after: a crash in
 * between is followed by the same task or a later one, and by none that is older.
 */
export const performTask = async ({ hands, book, log, now }: Performing, task: VerifiedTask): Promise<TaskResult> => {
  const { task_id, type, params, generation } = task
  const told = { task_id, type, generation }
  const failed = (error: unknown, applied_generation: number, ended: Ended = []): TaskResult => {
    log('error', 'task_failed', { ...told, failure: failureOf(error), why: whyOf(error) })
    return {
      outcome: 'failed',
      generation,
      failure: failureOf(error),
      receipt: { applied_generation, ...(ended.length === 0 ? {} : saidOf(ended)) },
    }
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

  const unknown = { allocation_id, username, begun: generation, applied: null, drift_found_at: null }
  const { in_doubt: _asked, ...before }: AllocationState = known ?? unknown
  let begun: AllocationState = {
    ...before,
    begun: generation,
    begun_task: { type, params, is_written: false },
  }
  if (known?.begun !== generation)
    try {
      await book.keep(begun)
    } catch (error) {
      if (!takesAway(known, task)) throw error
      // An end does not wait for room to write it down. That it is done is not said: after a crash nobody would know.
      book.hold(begun)
    }
  const keepEnded: KeepEnded = async (more) => {
    await book.noteEnded(allocation_id, more)
    begun = { ...begun, ended: book.get(allocation_id)?.ended ?? [] }
  }
  let done: Done
  try {
    done = await askHands(hands, task, keepEnded)
  } catch (error) {
    if (error instanceof Interrupted) throw error
    return failed(error, applied_generation, begun.ended)
  }
  const applied = { type, generation, params, task_id, at: now().toISOString() }
  const kept: AllocationState = { ...begun, begun_task: null, applied, drift_found_at: null }
  try {
    await book.keep(kept)
  } catch (error) {
    if (!takesAway(known, task)) throw error
    book.hold({ ...begun, begun_task: { ...begun.begun_task!, is_written: true } })
    return failed(error, applied_generation, begun.ended)
  }
  log('info', 'task_completed', told)
  const drift = begun.drift_found_at === null ? {} : { drift_found: true }
  const ended = together(begun.ended, done.sessions_ended)
  const said = done.sessions_ended || ended.length > 0 ? saidOf(ended) : {}
  return { outcome: 'completed', generation, receipt: { ...done, ...said, applied_generation: generation, ...drift } }
}
