import * as nodes from '@gatehouse/contract/nodes'
import type { Wakes } from '../db/listen.ts'
import { type Answer, answer, answerWaiting } from '../http/answer.ts'
import { listNodeTasks } from './list-node-tasks.ts'
import { listTaskSigners } from './list-task-signers.ts'
import { probeNode } from './probe-node.ts'
import { reportTask } from './report-task.ts'
import { revokeTaskSigner } from './revoke-task-signer.ts'
import { rotateTaskSigner } from './rotate-task-signer.ts'
import type { TaskSigning } from './task-signing.ts'
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

export const nodeTaskRoutes = ({ signing, wakes, tendSoon }: NodeTasks, subscribers: TaskSubscribers): readonly Answer[] => [
  answer(nodes.probeNode, probeNode(signing)),
  answer(nodes.listNodeTasks, listNodeTasks),
  answer(nodes.listTaskSigners, listTaskSigners),
  answer(nodes.rotateTaskSigner, rotateTaskSigner(tendSoon)),
  answer(nodes.revokeTaskSigner, revokeTaskSigner(tendSoon)),
  answerWaiting(nodes.waitForTasks, waitForTasks(wakes)),
  answer(nodes.reportTask, reportTask(subscribers)),
]
