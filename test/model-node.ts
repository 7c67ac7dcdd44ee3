import { createPublicKey, randomUUID, sign, verify, X509Certificate } from 'node:crypto'
import { applyOrder } from '../contract/src/apply-order.ts'
import type { NodeDescription } from '../contract/src/node-description.ts'
import { node_protocol_header } from '../contract/src/node-protocol.ts'
import {
  type Leftover,
  receiptTextOf,
  type SignedTask,
  signerPurpose,
  type TaskParams,
  type TaskResult,
  type TaskSigner,
  type TaskType,
} from '../contract/src/node-tasks.ts'
import { refusalOf, type TaskRefusal } from '../contract/src/verify-task.ts'
import type { EnrolledNode, Told } from './enrolled-node.ts'

/** What a model of a node holds for one allocation. It stays when the account is gone: the generation must not be forgotten. */
export interface Applied {
  readonly generation: number
  readonly username: string
  readonly is_there: boolean
  /** Fingerprints, in the order of the set. */
  readonly keys: readonly string[]
  readonly grant_ids: readonly string[]
}

type Install = TaskParams<'allocation.install_authorized_keys'>

/** What a task makes of what was applied before. */
const applied = (before: Applied | undefined, task: SignedTask): Applied => {
  const { username, keys } = task.params as unknown as Install
  const account = { generation: task.generation, username, is_there: true, keys: [], grant_ids: [] }
  if (task.type === 'allocation.deprovision_user') return { ...account, is_there: false }
  if (task.type === 'allocation.provision_user') return { ...account, keys: before?.keys ?? [] }
  return {
    ...account,
    keys: keys.map(({ fingerprint }) => fingerprint),
    grant_ids: keys.flatMap(({ holders }) => holders.flatMap(({ grant_id }) => (grant_id === null ? [] : [grant_id]))),
  }
}

/** One delivery to a node that holds this: what it holds afterwards, and what it says. Pure, and the whole of the rule. */
export const performed = (
  before: Applied | undefined,
  task: SignedTask,
  orderOf = applyOrder,
): { readonly after: Applied | undefined; readonly result: TaskResult } => {
  const { generation } = task
  if (task.type === 'diag.health_probe')
    return { after: before, result: { outcome: 'completed', generation, receipt: { applied_generation: 0, facts: { kernel: 'model' } } } }
  if (orderOf(before?.generation, generation) === 'older')
    return { after: before, result: { outcome: 'superseded', generation, receipt: { applied_generation: before!.generation } } }
  const after = applied(before, task)
  const { set_hash } = task.params as Partial<Install>
  return {
    after,
    result: {
      outcome: 'completed',
      generation,
      receipt: {
        applied_generation: generation,
        fingerprints: [...after.keys],
        grant_ids: [...after.grant_ids] as never[],
        ...(set_hash === undefined ? {} : { set_hash }),
      },
    },
  }
}

/** How a listed signer's word is believed: its certificate is the authority's, for this purpose, and names the key. */
export const believing = (authority_pem: string, signers: readonly TaskSigner[]) => {
  const authority = new X509Certificate(authority_pem)
  return (kid: string, text: string, signature: string): boolean => {
    const listed = signers.find((signer) => signer.kid === kid)
    if (!listed) return false
    const certificate = new X509Certificate(listed.certificate)
    if (!certificate.verify(authority.publicKey) || !certificate.keyUsage?.includes(signerPurpose)) return false
    if (!certificate.subject.split('\n').includes(`CN=${kid}`)) return false
    return verify(null, Buffer.from(text), certificate.publicKey, Buffer.from(signature, 'base64url'))
  }
}

/** Signed as an agent signs: by the key of its certificate. */
export const signedResult = (key_pem: string, task_id: string, result: TaskResult): TaskResult => {
  const text = Buffer.from(receiptTextOf(task_id, result))
  const signature =
    createPublicKey(key_pem).asymmetricKeyType === 'ec'
      ? sign('sha256', text, { key: key_pem, dsaEncoding: 'ieee-p1363' })
      : sign(null, text, key_pem)
  return { ...result, receipt_signature: signature.toString('base64url') }
}

/** What may go wrong on the way; nothing, unless said. */
export interface Mishaps {
  /** What of an answer arrives, and in which order: may lose, double and turn round. */
  readonly deliver?: (tasks: readonly SignedTask[]) => readonly SignedTask[]
  /** The report is never sent: it is as if the agent had died before. */
  readonly loseReport?: (task: SignedTask) => boolean
  /** The report arrives and its answer does not: it is sent again with the same key. */
  readonly loseAnswer?: (task: SignedTask) => boolean
  /** How the node tells which of two generations is the later one. */
  readonly orderOf?: typeof applyOrder
  /** What the account has left beyond its sessions. */
  readonly leftovers?: (task: SignedTask) => Leftover[]
  /** Why the node cannot do it. */
  readonly fail?: (task: SignedTask) => string | undefined
}

/** A node whose files are a map in memory; all else of it is real: its connection, what it verifies, what it reports. */
export const modelNode = (
  _live: unknown,
  node: Pick<EnrolledNode, 'id' | 'key' | 'authority' | 'call'>,
  mishaps: Mishaps = {},
  { url, agent_version }: { url?: string; agent_version?: string } = {},
) => {
  const held = new Map<string, Applied>()
  const refused: { task: SignedTask; why: TaskRefusal }[] = []
  const reports: Told[] = []
  let run: string = randomUUID()
  let signers: readonly TaskSigner[] = []
  let is_stopping = false
  let running: Promise<void> = Promise.resolve()
  const path = `/internal/v1/nodes/${node.id}/tasks`
  // As an agent of 0.1.0 until somebody says otherwise: it says no version.
  let spoken: Record<string, string> = {}
  const given = new Map<string, SignedTask>()
  const call = (method: string, to: string, body?: unknown, headers: Record<string, string> = {}) =>
    node.call(method, to, body, { ...spoken, ...headers }, ...(url === undefined ? [] : [url]))

  const wait = (wait_seconds = 0) =>
    call(
      'GET',
      `${path}/wait?run=${run}&wait_seconds=${wait_seconds}${agent_version === undefined ? '' : `&agent_version=${agent_version}`}`,
    )

  const report = async (task: SignedTask, result: TaskResult): Promise<Told | undefined> => {
    if (mishaps.loseReport?.(task)) return undefined
    // The same for as long as the agent has not heard the answer.
    const headers = { 'idempotency-key': `result-${task.task_id}-${run}` }
    const send = () => call('POST', `${path}/${task.task_id}/result`, signedResult(node.key, task.task_id, result), headers)
    if (mishaps.loseAnswer?.(task)) await send()
    const answered = await send()
    reports.push(answered)
    return answered
  }

  /** Verifies one delivery, applies it and says so. */
  const perform = async (task: SignedTask, now = Date.now()): Promise<Told | undefined> => {
    const why = refusalOf(task, { node_id: node.id, now, skew_ms: 60_000, isSignedBy: believing(node.authority, signers) })
    if (why) {
      refused.push({ task, why })
      return undefined
    }
    if (task.params.allocation_id !== undefined) given.set(`${task.type} ${task.params.allocation_id}`, task)
    const failure = mishaps.fail?.(task)
    if (failure !== undefined) return report(task, { outcome: 'failed', generation: task.generation, failure })
    const allocation_id = task.params.allocation_id as string | undefined
    const { after, result } = performed(allocation_id === undefined ? undefined : held.get(allocation_id), task, mishaps.orderOf)
    if (allocation_id !== undefined && after) held.set(allocation_id, after)
    const leftovers = mishaps.leftovers?.(task) ?? []
    if (leftovers.length === 0 || !result.receipt) return report(task, result)
    return report(task, { ...result, receipt: { ...result.receipt, leftovers } })
  }

  /** Asks once and does what it is told; the tasks that came. */
  const step = async (wait_seconds = 0): Promise<readonly SignedTask[]> => {
    const told = await wait(wait_seconds)
    if (told.status !== 200) throw new Error(`waiting for tasks: ${told.status} ${told.text}`)
    signers = told.body.signers
    const tasks: readonly SignedTask[] = mishaps.deliver?.(told.body.tasks) ?? told.body.tasks
    for (const task of tasks) await perform(task)
    return tasks
  }

  return {
    id: node.id,
    held,
    refused,
    reports,
    wait,
    report,
    perform,
    step,
    signers: () => signers,
    /** As an agent that speaks this version, from now on. */
    speak: (protocol: number) => {
      spoken = protocol === 1 ? {} : { [node_protocol_header]: String(protocol) }
    },
    describe: (description: NodeDescription) => call('POST', `/internal/v1/nodes/${node.id}/description`, description),
    /** What it was last told of an allocation by a task of this type, and had no reason to refuse. */
    lastTask: (type: TaskType, allocation_id: string) => given.get(`${type} ${allocation_id}`),
    /** Until there is nothing more to do. */
    settle: async () => {
      while ((await step()).length > 0);
    },
    /** As an agent that was killed: what it was given and had not reported is lost, what it applied is not. */
    restart: () => {
      run = randomUUID()
    },
    run: () => {
      running = (async () => {
        while (!is_stopping) await step(1)
      })()
      // Whoever stops it hears of it.
      running.catch(() => {})
    },
    stop: async () => {
      is_stopping = true
      await running
    },
  }
}
export type ModelNode = ReturnType<typeof modelNode>
