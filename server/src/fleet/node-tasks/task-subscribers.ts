import type { TaskResult } from '@gatehouse/contract/node-tasks'
import type { Work } from '#ground/work/work.ts'
import type { TaskRow } from './node-task-queries.ts'

/** What a node has said of a task, in this same transaction. */
export interface FinishedTask {
  /** As it is now. It may have been superseded, or have expired, before the node's word came. */
  readonly task: TaskRow
  readonly outcome: TaskResult['outcome']
  readonly result: TaskResult
}

/** Rooms above that act in the same transaction when a node has reported; any of them may refuse by throwing. */
export interface TaskSubscribers {
  /** Locks what must be locked before the task is: the allocation that it concerns. */
  readonly beforeTaskLocked: readonly ((work: Work, allocation_id: string) => Promise<unknown>)[]
  readonly onTaskFinished: readonly ((work: Work, finished: FinishedTask) => Promise<void>)[]
}
