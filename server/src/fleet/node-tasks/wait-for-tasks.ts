import type { SignedTask } from '@gatehouse/contract/node-tasks'
import type { waitForTasks as Op } from '@gatehouse/contract/nodes'
import type { Wakes } from '#ground/db/listen.ts'
import type { Work } from '#ground/work/work.ts'
import { record } from '#rails/audit/record.ts'
import { type Authorized, authorize } from '#rails/authz/authorize.ts'
import { Again, type AnsweringWaiting } from '#rails/http/answer.ts'
import { latestCertificateOf } from '../nodes/certificate-queries.ts'
import { renewAfter } from '../nodes/give-certificate.ts'
import { nodeKind } from '../nodes/node.ts'
import { describedNode, isProtocolNew } from '../nodes/node-description-queries.ts'
import { isAgentVersionNew, lockNode, noteAgentVersion } from '../nodes/node-queries.ts'
import type { NodeSubscribers } from '../nodes/node-subscribers.ts'
import { noteProtocol } from '../nodes/note-protocol.ts'
import { toldSigners } from '../task-signers/task-signer-queries.ts'
import { recordedTask } from './node-task.ts'
import { isTaskThere, type TaskRow, takeTasks } from './node-task-queries.ts'
import { nodeWaits } from './node-waits.ts'

/** A set of keys can be large; what is left over is asked for next. */
const most_tasks = 20

const signedTaskOf = ({ id, node_id, type, params, generation, expires_at, kid, signature }: TaskRow): SignedTask => ({
  task_id: id,
  node_id,
  type,
  params,
  generation,
  expires_at,
  kid,
  signature,
})

/** What nodes are told beside their tasks. */
const toldBeside = async ({ tx, now }: Work, node_id: string) => ({
  signers: await tx.many(toldSigners()),
  renew_after: renewAfter((await tx.maybe(latestCertificateOf(node_id)))?.issued_at ?? now),
})

/** The first time, and each time that it was given twice as often: a node that never answers must not fill the record. */
const isFirstOrDoubled = ({ attempts }: TaskRow) => Number.isInteger(Math.log2(attempts))

type OfNodes = Pick<NodeSubscribers, 'beforeNodeLocked' | 'onNodeDescribed'>
type Reading = Authorized<'node.task.read', { readonly id: string }>

/** What is to be done is put in other words for an agent that speaks another version than the one before it; what lies on the node is locked first. */
const moveProtocol = async (
  work: Work,
  node: Reading,
  spoken: number,
  { beforeNodeLocked, onNodeDescribed }: OfNodes,
): Promise<boolean> => {
  if (!(await work.tx.maybe(isProtocolNew(node.id, spoken)))) return false
  for (const lock of beforeNodeLocked) await lock(work, node)
  await work.tx.one(lockNode(node.id))
  const { protocol_version } = await work.tx.one(describedNode(node.id))
  if (!(await noteProtocol(work, node, protocol_version, spoken))) return false
  for (const subscriber of onNodeDescribed) await subscriber(work, node)
  return true
}

const answering = (waitFor: ReturnType<typeof nodeWaits>, ofNodes: OfNodes): AnsweringWaiting<typeof Op> => ({
  look: async (work, { params: { node_id }, query: { run = null, agent_version }, node_protocol }) => {
    const { tx, now } = work
    await authorize(work, 'node.task.read', nodeKind, { id: node_id })
    const { is_there } = await tx.one(isTaskThere({ node_id, run, now }))
    const is_changed =
      (agent_version !== undefined && (await tx.maybe(isAgentVersionNew(node_id, agent_version))) !== undefined) ||
      (await tx.maybe(isProtocolNew(node_id, node_protocol))) !== undefined
    return { is_there: is_there || is_changed, nothing: { tasks: [], ...(await toldBeside(work, node_id)) } }
  },

  take: async (work, { params: { node_id }, query: { run = null, agent_version }, node_protocol }) => {
    const { tx, now } = work
    const node = await authorize(work, 'node.task.read', nodeKind, { id: node_id as string })
    const is_moved = await moveProtocol(work, node, node_protocol, ofNodes)
    const noted = agent_version === undefined ? undefined : await tx.maybe(noteAgentVersion(node, node_id, agent_version))
    if (noted) record(work, { action: 'node.agent_version', resource_type: 'node', resource_id: node_id, metadata: { agent_version } })
    const tasks = await tx.many(takeTasks(node, { node_id, run, now }, most_tasks))
    const told = tasks.filter(isFirstOrDoubled)
    for (const task of told) {
      const about = { attempt: task.attempts, queued_by: task.correlation_id }
      record(work, { action: 'node.task.dispatch', ...recordedTask(task, about) })
    }
    if (tasks.length === 0 && !noted && !is_moved) return undefined
    const reply = { tasks: tasks.map(signedTaskOf), ...(await toldBeside(work, node_id)) }
    return noted || is_moved || told.length > 0 ? reply : new Again(reply, false)
  },

  wait: ({ params: { node_id }, query: { wait_seconds = 25 } }, ending) => ({
    until_ms: wait_seconds * 1000,
    changed: waitFor(node_id, ending),
  }),
})

export const waitForTasks = (wakes: Wakes, ofNodes: OfNodes) => answering(nodeWaits(wakes), ofNodes)
