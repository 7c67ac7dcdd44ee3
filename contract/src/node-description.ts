import Type, { type Static } from 'typebox'
import { operation } from './operation.ts'
import { Exactly, GivenInstant, Id, Instant, Named, Nullable } from './shapes.ts'

/** A device node: no part of it leads elsewhere, since each begins with a letter or digit. */
export const DevicePath = Type.String({
  pattern: '^/dev(?:/[A-Za-z0-9][A-Za-z0-9._:-]{0,63}){1,6}$',
  minLength: 6,
  maxLength: 200,
  description: 'Absolute, below `/dev`.',
})

/** So many of one task: of every GPU that a node may have some. */
export const DevicePaths = Type.Array(DevicePath, { maxItems: 4096, uniqueItems: true })

const Device = Exactly({
  index: Type.Integer({ minimum: 0, maximum: 1023, description: 'By which an allocation has it; of one node each is there once.' }),
  paths: Type.Array(DevicePath, {
    minItems: 1,
    maxItems: 16,
    uniqueItems: true,
    description: 'The device nodes that are this GPU and no other.',
  }),
})

const SshHost = Type.String({
  pattern: '^[A-Za-z0-9:][A-Za-z0-9.:-]{0,252}$',
  minLength: 1,
  maxLength: 253,
  description: 'By which SSH clients reach the node: a name, or an address without brackets.',
})
const SshPort = Type.Integer({ minimum: 1, maximum: 65_535 })
const HostKeys = Type.Array(
  Type.String({
    pattern: '^(?:ssh-ed25519|ssh-rsa|ecdsa-sha2-nistp(?:256|384|521)) [A-Za-z0-9+/]{40,2000}={0,2}$',
    maxLength: 2048,
    description: 'Type and key in base64, as a file of known hosts has them.',
  }),
  { maxItems: 16, uniqueItems: true },
)

/** Where clients reach an account by SSH, and by which keys they know the machine. */
export const SshEndpoint = Named('SshEndpoint', { host: SshHost, port: SshPort, host_keys: HostKeys })
export type SshEndpoint = Static<typeof SshEndpoint>

/** What a node says of itself. */
export const NodeDescription = Named('NodeDescription', {
  devices: Type.Array(Device, {
    maxItems: 1024,
    description: 'Its GPUs; none where the agent found none, and then nothing is kept from anybody.',
  }),
  shared_devices: Type.Array(DevicePath, { maxItems: 64, uniqueItems: true, description: 'What every session with a GPU needs besides.' }),
  ssh_host: SshHost,
  ssh_port: SshPort,
  ssh_host_keys: HostKeys,
})
export type NodeDescription = Static<typeof NodeDescription>

/** A step of the agent’s that takes longer than a minute. */
export const StuckStep = Named('StuckStep', {
  step: Type.String({ pattern: '^[a-z][a-z0-9_.]{0,62}$', description: 'Which one, in a word of the agent’s.' }),
  allocation_id: Nullable(Id('allocation')),
  since: Instant,
})
export type StuckStep = Static<typeof StuckStep>

const params = { node_id: Id('node') }
const told = {
  actors: ['node_agent'],
  identified_by: 'certificate',
  action: 'node.task.report',
  effect: 'change',
  method: 'POST',
  listener: 'nodes',
  repeated_by: 'request',
  params,
  /** It was known already. */
  success_again: 200,
  problems: [],
} as const

export const describeNode = operation({
  ...told,
  id: 'node.describe',
  recorded_as: ['node.describe', 'node.protocol_version'],
  path: '/internal/v1/nodes/:node_id/description',
  summary: 'What a node says of itself: the devices of its GPUs, and where and by which keys its sshd is known.',
  description:
    'The whole of it, at each start of the agent and when something of it has changed. What was known already changes nothing. No index may be there twice, and no path in two places.',
  body: NodeDescription,
  reply: Exactly({ described_at: Instant }),
})

export const reportStuckSteps = operation({
  ...told,
  id: 'node.step.report',
  recorded_as: ['node.step.report', 'node.step.stuck', 'node.step.unstuck'],
  path: '/internal/v1/nodes/:node_id/stuck-steps',
  summary: 'Which steps of the agent take longer than a minute now. All of them: what is not there any more has gone on.',
  body: Exactly({
    steps: Type.Array(Exactly({ ...StuckStep.properties, since: GivenInstant }), { maxItems: 100 }),
  }),
  reply: Exactly({ stuck_since: Nullable(Instant) }),
})
