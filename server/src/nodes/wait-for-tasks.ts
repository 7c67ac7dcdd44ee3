import type { SignedTask } from '@gatehouse/contract/node-tasks'
import type { waitForTasks as Op } from '@gatehouse/contract/nodes'
import { record } from '../audit/record.ts'
import { authorize } from '../authz/authorize.ts'
import type { Wakes } from '../db/listen.ts'
import type { AnsweringWaiting } from '../http/answer.ts'
import type { Work } from '../work/work.ts'
import { renewAfter } from './give-certificate.ts'
import { nodeKind } from './node.ts'
import { agentVersionOf, isTaskThere, latestCertificateOf, noteAgentVersion, type TaskRow, takeTasks } from './node-task-queries.ts'
import { toldSigners } from './task-signer-queries.ts'

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

/** The tenant sees in its own record when the node was told. */
const recordDispatch = (work: Work, task: TaskRow) =>
  record(work, {
    action: 'node.task.dispatch',
    resource_type: 'node_task',
    resource_id: task.id,
    tenant_id: task.org_id,
    project_id: task.project_id,
    metadata: {
      node_id: task.node_id,
      task_type: task.type,
      allocation_id: task.allocation_id,
      generation: task.generation,
      attempt: task.attempts,
      queued_by: task.correlation_id,
    },
  })

/** What nodes are told beside their tasks. */
const toldBeside = async ({ tx, now }: Work, node_id: string) => ({
  signers: await tx.many(toldSigners()),
  renew_after: renewAfter((await tx.maybe(latestCertificateOf(node_id)))?.issued_at ?? now),
})

export const waitForTasks = (wakes: Wakes): AnsweringWaiting<typeof Op> => ({
  look: async (work, { params: { node_id }, query: { run = null, agent_version } }) => {
    const { tx, now } = work
    await authorize(work, 'node.task.read', nodeKind, { id: node_id })
    const { is_there } = await tx.one(isTaskThere({ node_id, run, now }))
    const is_changed = agent_version !== undefined && (await tx.maybe(agentVersionOf(node_id)))?.agent_version !== agent_version
    return { is_there: is_there || is_changed, nothing: { tasks: [], ...(await toldBeside(work, node_id)) } }
  },

  take: async (work, { params: { node_id }, query: { run = null, agent_version } }) => {
    const { tx, now } = work
    const node = await authorize(work, 'node.task.read', nodeKind, { id: node_id })
    const noted = agent_version === undefined ? undefined : await tx.maybe(noteAgentVersion(node, node_id, agent_version))
    if (noted) record(work, { action: 'node.agent_version', resource_type: 'node', resource_id: node_id, metadata: { agent_version } })
    const tasks = await tx.many(takeTasks(node, { node_id, run, now }, most_tasks))
    for (const task of tasks) recordDispatch(work, task)
    if (tasks.length === 0 && !noted) return undefined
    return { tasks: tasks.map(signedTaskOf), ...(await toldBeside(work, node_id)) }
  },

  wait: ({ params: { node_id }, query: { wait_seconds = 25 } }) => ({
    until_ms: wait_seconds * 1000,
    changed: (signal) => wakes.next(node_id, signal),
  }),
})
