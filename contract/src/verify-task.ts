import { Compile } from 'typebox/compile'
import { SignedTask, signedTextOf, type TaskType, taskParams, taskTypes } from './node-tasks.ts'

/** Why a node touches nothing for a task. */
export type TaskRefusal = 'malformed' | 'bad_signature' | 'other_node' | 'expired' | 'unknown_type' | 'bad_params'

export interface TaskJudging {
  /** Who the node is. */
  readonly node_id: string
  /** Its clock, in milliseconds. */
  readonly now: number
  /** By how much that may be behind or ahead. */
  readonly skew_ms: number
  /** Whether this text was signed by this version of the key: one that is listed, and that the pinned authority vouches for. */
  readonly isSignedBy: (kid: string, text: string, signature: string) => boolean
}

const task_shape = Compile(SignedTask)
const shapes = new Map(taskTypes.map((type) => [type as string, Compile(taskParams[type as TaskType])]))

/**
 * Whether a task may be performed: undefined, or why not. It is judged in this order: nothing of a task means anything before its signature
 * does. How it stands to what was applied before is said by `applyOrder`.
 */
export const refusalOf = (task: unknown, { node_id, now, skew_ms, isSignedBy }: TaskJudging): TaskRefusal | undefined => {
  if (!task_shape.Check(task)) return 'malformed'
  if (!isSignedBy(task.kid, signedTextOf(task), task.signature)) return 'bad_signature'
  if (task.node_id !== node_id) return 'other_node'
  if (Date.parse(task.expires_at) + skew_ms <= now) return 'expired'
  const shape = shapes.get(task.type)
  if (!shape) return 'unknown_type'
  return shape.Check(task.params) ? undefined : 'bad_params'
}
