import Type, { type Static } from 'typebox'
import { canonicalJson } from './canonical-json.ts'
import { DevicePaths } from './node-description.ts'
import { Exactly, Id, Instant, Named, Nullable, OneOf } from './shapes.ts'

/** How an account on a node is called: made by the control plane, and never a name that a system has. */
export const usernamePattern = '^gh-[a-z0-9]{6,20}$'
const Username = Type.String({ pattern: usernamePattern, maxLength: 23 })
const Fingerprint = Type.String({ pattern: '^SHA256:[A-Za-z0-9+/]{43}$', minLength: 50, maxLength: 50 })

export const keyTypes = [
  'ssh-ed25519',
  'ssh-rsa',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'sk-ssh-ed25519@openssh.com',
  'sk-ecdsa-sha2-nistp256@openssh.com',
] as const

/** Why a key is there: it is the owner's or the project's, or a grant's. `user_id` is the person who holds it, if it is a person. */
export const KeyHolder = Exactly({
  grant_id: Nullable(Id('access grant')),
  ssh_key_id: Id('ssh key'),
  user_id: Nullable(Id('user')),
  expires_at: Nullable(Instant),
})
export type KeyHolder = Static<typeof KeyHolder>

/** One key of a set. It is there once, however many hold it; its end is the last of theirs. */
export const DesiredKey = Exactly({
  key_type: OneOf(keyTypes),
  blob: Type.String({ pattern: '^[A-Za-z0-9+/]+={0,2}$', minLength: 60, maxLength: 4096 }),
  fingerprint: Fingerprint,
  expires_at: Nullable(Instant),
  holders: Type.Array(KeyHolder, { minItems: 1, maxItems: 1000 }),
  /** Of a security key: sshd must be shown that its holder was verified. Protocol 2. */
  verify_required: Type.Optional(Type.Literal(true)),
})
export type DesiredKey = Static<typeof DesiredKey>

const account = { allocation_id: Id('allocation'), username: Username }

/** What an allocation's sessions may take up together (SG-28). */
export const SessionBounds = Exactly({
  sessions_max: Type.Integer({ minimum: 1, maximum: 1000 }),
  tasks_max: Type.Integer({ minimum: 1, maximum: 4_194_304 }),
  /** Null: the node's share. */
  memory_max_bytes: Nullable(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
})
export type SessionBounds = Static<typeof SessionBounds>

/**
 * What the sessions of an allocation may open and take up. Sent to nodes that speak protocol 2. Without `devices` nothing is kept from them:
 * the node has not said which it has. With them, these and no other device nodes of GPUs: its own, and those that every session needs.
 */
const terms = { devices: Type.Optional(DevicePaths), bounds: Type.Optional(SessionBounds) }

/** What can be asked of a node, and nothing else; each with exactly these parameters. */
export const taskParams = {
  'allocation.provision_user': Exactly({ ...account, ...terms }),
  /** The whole set, sorted by fingerprint: what is not in it does not log in. */
  'allocation.install_authorized_keys': Exactly({
    ...account,
    keys: Type.Array(DesiredKey, { maxItems: 1000 }),
    set_hash: Type.String(),
    ...terms,
  }),
  /** Ends all access first, then the account with all that runs as it. */
  'allocation.deprovision_user': Exactly(account),
  'diag.health_probe': Exactly({}),
} as const
export type TaskType = keyof typeof taskParams
export type TaskParams<T extends TaskType> = Static<(typeof taskParams)[T]>
export const taskTypes = Object.keys(taskParams) as readonly TaskType[]

/** A task as it is signed and sent. `generation` orders what concerns one allocation; a later one is never undone by an earlier one. */
export const SignedTask = Named('SignedTask', {
  task_id: Id('node task'),
  node_id: Id('node'),
  type: Type.String({ maxLength: 63 }),
  params: Type.Record(Type.String(), Type.Unknown()),
  generation: Type.Integer({ minimum: 0 }),
  expires_at: Instant,
  kid: Type.String({ description: 'Which signer signed it.' }),
  signature: Type.String({ description: 'Ed25519 over the canonical JSON of all other members but `kid`, in base64url.' }),
})
export type SignedTask = Static<typeof SignedTask>

/** What a signature is made over. */
export const signedTextOf = ({ task_id, node_id, type, params, generation, expires_at }: Omit<SignedTask, 'kid' | 'signature'>): string =>
  canonicalJson({ task_id, node_id, type, params, generation, expires_at })

/** What a signer's certificate is for, and nothing else is: the one extended key usage in it. */
export const signerPurpose = '2.25.320883220226239987218839198565150928914'

/** A version of the key that signs tasks; the authority vouches for it in its certificate, and one that is not listed is not believed. */
export const TaskSigner = Named('TaskSigner', {
  kid: Type.String(),
  version: Type.Integer({ minimum: 1 }),
  state: OneOf(['staged', 'active', 'grace']),
  certificate: Type.String({ description: 'In PEM, issued by the authority that nodes pin.' }),
})
export type TaskSigner = Static<typeof TaskSigner>

const EndedSession = Exactly({
  session_id: Type.String({ maxLength: 100 }),
  fingerprint: Fingerprint,
  processes_ended: Type.Integer({ minimum: 0 }),
  /** Something that the session started could not be told apart from others’, and may still run. */
  may_have_left_processes: Type.Boolean(),
})

export const leftoverKinds = ['cron', 'at', 'user_unit', 'linger', 'process'] as const

/** What an account had planned or left running beyond its sessions, and whether the agent has ended it. */
export const Leftover = Exactly({
  kind: OneOf(leftoverKinds),
  /** Of a unit or program. Tenants choose it, so it is one line of printable ASCII, cut off. */
  name: Type.Optional(Type.String({ pattern: '^[ -~]{1,100}$', minLength: 1, maxLength: 100 })),
  count: Type.Optional(Type.Integer({ minimum: 1, maximum: 2 ** 31 - 1 })),
  is_ended: Type.Boolean(),
})
export type Leftover = Static<typeof Leftover>

/** What a node says of a task. */
export const TaskResult = Named('TaskResult', {
  outcome: Type.Unsafe<'completed' | 'failed' | 'superseded'>({
    ...OneOf(['completed', 'failed', 'superseded']),
    description: '`superseded`: the node has applied a later generation already and left it as it was.',
  }),
  generation: Type.Integer({ minimum: 0, description: 'Of the task that it answers.' }),
  /** Why it failed, in a word. */
  failure: Type.Optional(Type.String({ pattern: '^[a-z_]{1,63}$' })),
  receipt: Type.Optional(
    Exactly({
      /** Which generation the node has applied when it says this. */
      applied_generation: Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }),
      set_hash: Type.Optional(Type.String({ maxLength: 64 })),
      fingerprints: Type.Optional(Type.Array(Fingerprint, { maxItems: 1000 })),
      grant_ids: Type.Optional(Type.Array(Id('access grant'), { maxItems: 1000 })),
      sessions_ended: Type.Optional(Type.Array(EndedSession, { maxItems: 1000 })),
      /** How many there were, where there were more than are named; each was told of as an event, too. */
      sessions_ended_count: Type.Optional(Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 })),
      drift_found: Type.Optional(Type.Boolean()),
      /** Something still runs as the account, or is planned to: it may be what somebody began whose key is gone. */
      may_have_left_processes: Type.Optional(Type.Boolean()),
      /** Protocol 2. */
      leftovers: Type.Optional(Type.Array(Leftover, { maxItems: 100 })),
      facts: Type.Optional(Type.Record(Type.String({ maxLength: 63 }), Type.String({ maxLength: 200 }), { maxProperties: 32 })),
    }),
  ),
  receipt_signature: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9_-]+$',
      maxLength: 700,
      description:
        'By the key of the node’s certificate (ECDSA P-256 with SHA-256, r and s side by side; or Ed25519) over the canonical JSON of `task_id`, `generation`, `outcome` and `receipt`, in base64url.',
    }),
  ),
})
export type TaskResult = Static<typeof TaskResult>

/** What a receipt's signature is made over. */
export const receiptTextOf = (task_id: string, { generation, outcome, receipt }: TaskResult): string =>
  canonicalJson({ task_id, generation, outcome, receipt })
