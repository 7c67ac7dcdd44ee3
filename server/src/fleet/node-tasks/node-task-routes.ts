import * as nodes from '@gatehouse/contract/nodes'
import type { Wakes } from '#ground/db/listen.ts'
import { type Answer, answer, answerWaiting } from '#rails/http/answer.ts'
import type { NodeSubscribers } from '../nodes/node-subscribers.ts'
import type { TaskSigning } from '../task-signers/task-signing.ts'
import { listNodeTasks } from './list-node-tasks.ts'
import { probeNode } from './probe-node.ts'
import { reportTask } from './report-task.ts'
import type { TaskSubscribers } from './task-subscribers.ts'
import { waitForTasks } from './wait-for-tasks.ts'

/** What lives as long as the process. */
export interface NodeTasks {
  readonly signing: TaskSigning
  /** Tells when a node has something to do. */
  readonly wakes: Wakes
  /** A next version is needed, or what was signed must be signed anew; done aside. */
  readonly tendSoon: () => void
}

export const nodeTaskRoutes = (
  { signing, wakes }: NodeTasks,
  subscribers: TaskSubscribers,
  ofNodes: Pick<NodeSubscribers, 'beforeNodeLocked' | 'onNodeDescribed'>,
): readonly Answer[] => [
  answer(nodes.probeNode, probeNode(signing)),
  answer(nodes.listNodeTasks, listNodeTasks),
  answerWaiting(nodes.waitForTasks, waitForTasks(wakes, ofNodes)),
  answer(nodes.reportTask, reportTask(subscribers)),
]
