import Type, { type Static } from 'typebox'
import { NodeDescription, StuckStep } from './node-description.ts'
import { SignedTask, TaskResult, TaskSigner } from './node-tasks.ts'
import { listOperation, operation } from './operation.ts'
import { Exactly, Id, Instant, Named, Nullable, OneOf, Reason, Slug, uuidPattern } from './shapes.ts'

const maybe = Type.Optional
const Because = Exactly({ reason: Reason })

export const Node = Named('Node', {
  id: Id('node'),
  name: Slug,
  region: Slug,
  sku: Slug,
  gpus: Type.Integer(),
  status: Type.Unsafe<'active' | 'drained' | 'unavailable' | 'retired'>({
    ...OneOf(['active', 'drained', 'unavailable', 'retired']),
    description: '`unavailable`: it has not enrolled yet, or has not asked for a while.',
  }),
  gpus_taken: Type.Integer({ description: 'By allocations of which something may still be there.' }),
  created_at: Instant,
  enrolled_at: Nullable(Instant),
  last_seen_at: Nullable(Instant),
  agent_version: Nullable(Type.String({ description: 'As it was last noted: a change at most once an hour.' })),
  certificate_expires_at: Nullable(Instant),
  retired_at: Nullable(Instant),
})
export type Node = Static<typeof Node>

const { devices, shared_devices, ssh_host, ssh_port, ssh_host_keys } = NodeDescription.properties

/** With what it says of itself. */
export const ShownNode = Named('ShownNode', {
  ...Node.properties,
  protocol_version: Type.Integer({ description: 'Of the nodes’ protocol, that its agent and this server both speak.' }),
  /** When it last said something new of itself; null: it never did. */
  described_at: Nullable(Instant),
  devices,
  shared_devices,
  ssh_host: Nullable(ssh_host),
  ssh_port: Nullable(ssh_port),
  ssh_host_keys,
  /** Since when something takes its agent longer than a minute. */
  stuck_since: Nullable(Instant),
  stuck_steps: Type.Array(StuckStep),
})
export type ShownNode = Static<typeof ShownNode>

const Enrolment = Named('NodeEnrolment', {
  node: Node,
  enrolment_token: Type.String({ description: 'Once, for this node, for 15 minutes; shown here and nowhere else. It pins our authority.' }),
  expires_at: Instant,
  credential_session_id: Type.String({ description: 'The id of the enrolment: by it a repeated request says which one was made.' }),
})

export const NodeTask = Named('NodeTask', {
  id: Id('node task'),
  node_id: Id('node'),
  type: Type.String(),
  allocation_id: Nullable(Id('allocation')),
  generation: Type.Integer(),
  state: OneOf(['queued', 'dispatched', 'completed', 'failed', 'expired', 'superseded']),
  created_at: Instant,
  expires_at: Instant,
  dispatched_at: Nullable(Instant),
  attempts: Type.Integer(),
  reported_at: Nullable(Instant),
  result: Nullable(TaskResult),
})
export type NodeTask = Static<typeof NodeTask>

export const SignerVersion = Named('TaskSignerVersion', {
  kid: Type.String(),
  version: Type.Integer(),
  state: OneOf(['staged', 'active', 'grace', 'retired', 'revoked']),
  created_at: Instant,
  activated_at: Nullable(Instant),
  grace_until: Nullable(Instant),
  ended_at: Nullable(Instant),
})
export type SignerVersion = Static<typeof SignerVersion>

const path = '/api/v1/admin/nodes'
const one = `${path}/:node_id`
const params = { node_id: Id('node') }
const managed = { actors: ['user'], action: 'platform.node.manage', effect: 'change' } as const

export const listNodes = listOperation({
  id: 'node.list',
  path,
  summary: 'The nodes of the platform.',
  actors: ['user'],
  action: ['platform.node.read', 'platform.node.manage'],
  item: Node,
  problems: [],
})

export const createNode = operation({
  ...managed,
  id: 'node.create',
  method: 'POST',
  path,
  summary: 'Register a node; the answer holds the token with which its agent enrols.',
  body: Exactly({ name: Slug, region: Slug, sku: Slug, gpus: Type.Integer({ minimum: 1, maximum: 1024 }), reason: maybe(Reason) }),
  reply: Enrolment,
  success: 201,
  is_secret_reply: true,
  problems: ['node_already_exists'],
})

export const readNode = operation({
  id: 'node.read',
  method: 'GET',
  path: one,
  summary: 'One node.',
  actors: ['user'],
  action: ['platform.node.read', 'platform.node.manage'],
  effect: 'read',
  params,
  reply: ShownNode,
  problems: ['node_not_found'],
})

export const enrolNodeAgain = operation({
  ...managed,
  id: 'node.enrolment.create',
  method: 'POST',
  path: `${one}/enrolments`,
  summary: 'Make a new enrolment token; the one before it is void. Who enrols with it takes the place of the certificates there were.',
  params,
  body: Because,
  reply: Enrolment,
  success: 201,
  is_secret_reply: true,
  problems: ['node_not_found', 'state_conflict'],
})

const moved = { ...managed, method: 'POST', params, body: Because, reply: Node, problems: ['node_not_found', 'state_conflict'] } as const

export const drainNode = operation({ ...moved, id: 'node.drain', path: `${one}/drain`, summary: 'Place nothing new on a node.' })
export const undrainNode = operation({ ...moved, id: 'node.undrain', path: `${one}/undrain`, summary: 'Place on a drained node again.' })
export const retireNode = operation({
  ...moved,
  id: 'node.retire',
  path: `${one}/retire`,
  summary: 'End a node’s identity for good and at once; what is allocated there fails, and all grants to it end.',
})

export const probeNode = operation({
  id: 'node.probe',
  method: 'POST',
  path: `${one}/probe`,
  summary: 'Ask a node for a sign of life; its answer is found among its tasks.',
  actors: ['user'],
  action: ['platform.node.probe', 'platform.node.manage'],
  effect: 'change',
  params,
  reply: NodeTask,
  success: 202,
  problems: ['node_not_found', 'state_conflict'],
})

export const listNodeTasks = listOperation({
  id: 'node.task.list',
  path: `${one}/tasks`,
  summary: 'The tasks of a node, the latest first; without the keys in them.',
  actors: ['user'],
  action: ['platform.node.read', 'platform.node.manage'],
  params,
  item: NodeTask,
  problems: ['node_not_found'],
})

export const listTaskSigners = listOperation({
  id: 'node.signer.list',
  path: '/api/v1/admin/node-signers',
  summary: 'The versions of the key that tasks are signed with.',
  actors: ['user'],
  action: ['platform.node.read', 'platform.node.manage'],
  item: SignerVersion,
  problems: [],
})

export const rotateTaskSigner = operation({
  ...managed,
  id: 'node.signer.rotate',
  method: 'POST',
  path: '/api/v1/admin/node-signers/rotate',
  summary: 'Let the staged version sign from now on; the former one counts until the last task it signed is over.',
  body: Because,
  reply: SignerVersion,
  problems: ['state_conflict'],
})

export const revokeTaskSigner = operation({
  ...managed,
  id: 'node.signer.revoke',
  method: 'POST',
  path: '/api/v1/admin/node-signers/:kid/revoke',
  summary: 'Revoke a version at once: no node believes it any more, and what it signed and is not done is signed anew.',
  params: { kid: Type.String({ pattern: '^[A-Za-z0-9_-]{43}$', minLength: 43, maxLength: 43 }) },
  body: Because,
  reply: SignerVersion,
  problems: ['signer_not_found', 'state_conflict'],
})

const internal = '/internal/v1/nodes'
const Csr = Type.String({
  minLength: 100,
  maxLength: 4096,
  description: 'A certificate signing request in PEM, for a P-256 or Ed25519 key that the node made.',
})
const Certificate = Named('NodeCertificate', {
  node_id: Id('node'),
  certificate: Type.String({ description: 'In PEM.' }),
  authority: Type.String({ description: 'In PEM.' }),
  expires_at: Instant,
  renew_after: Instant,
  signers: Type.Array(TaskSigner),
})
const agent = { actors: ['node_agent'], identified_by: 'certificate' } as const

export const enrolNode = operation({
  id: 'node.enrol',
  recorded_as: ['node.enrol', 'node.enrol.repeat'],
  method: 'POST',
  path: `${internal}/enroll`,
  summary: 'A node enrols with its token, and gets a certificate for a key that it made.',
  description:
    'Once. The same token with a request for the same key, within its 15 minutes, is a repeat: it gets the certificate that was issued then.',
  actors: ['node_agent'],
  action: 'node.certificate.renew',
  effect: 'change',
  identified_by: 'credential',
  listener: 'nodes',
  repeated_by: 'request',
  body: Exactly({
    enrolment_token: Type.String({ minLength: 1, maxLength: 4096 }),
    csr: Csr,
    agent_version: maybe(Type.String({ maxLength: 63 })),
  }),
  reply: Certificate,
  success: 201,
  problems: ['invalid_csr'],
})

export const renewCertificate = operation({
  ...agent,
  id: 'node.certificate.renew',
  method: 'POST',
  path: `${internal}/:node_id/certificate`,
  summary: 'A node renews its certificate, for the same key or a new one.',
  action: 'node.certificate.renew',
  effect: 'change',
  listener: 'nodes',
  params,
  body: Exactly({ csr: Csr }),
  reply: Certificate,
  success: 201,
  problems: ['invalid_csr'],
})

export const waitForTasks = operation({
  ...agent,
  id: 'node.task.wait',
  recorded_as: ['node.task.dispatch', 'node.agent_version', 'node.protocol_version'],
  method: 'GET',
  path: `${internal}/:node_id/tasks/wait`,
  summary: 'What the node has to do now; where that is nothing, the answer waits for it, 25 seconds at most.',
  description:
    'For each allocation the next task only. One that is not reported is given again: at once to another `run`, to the same after a while. Of one node four wait at a time; when a fifth comes, the oldest is answered with nothing.',
  action: 'node.task.read',
  effect: 'change',
  listener: 'nodes',
  params,
  query: {
    run: maybe(Type.String({ pattern: uuidPattern, description: 'A UUID that the agent made when it was started.' })),
    wait_seconds: maybe(Type.Integer({ minimum: 0, maximum: 25, default: 25 })),
    agent_version: maybe(Type.String({ pattern: '^[A-Za-z0-9.+-]{1,63}$' })),
  },
  reply: Exactly({ tasks: Type.Array(SignedTask), signers: Type.Array(TaskSigner), renew_after: Instant }),
  problems: [],
})

export const reportTask = operation({
  ...agent,
  id: 'node.task.report',
  method: 'POST',
  path: `${internal}/:node_id/tasks/:task_id/result`,
  summary: 'What became of a task. Once: a repeat carries the same `Idempotency-Key`.',
  action: 'node.task.report',
  effect: 'change',
  listener: 'nodes',
  params: { ...params, task_id: Id('node task') },
  body: TaskResult,
  reply: Exactly({ task_id: Id('node task'), state: NodeTask.properties.state }),
  problems: [],
})
