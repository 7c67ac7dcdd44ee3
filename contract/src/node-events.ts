import Type, { type Static } from 'typebox'
import { listOperation, operation } from './operation.ts'
import { Exactly, GivenInstant, Id, Instant, Named, Nullable, OneOf } from './shapes.ts'

const maybe = Type.Optional
const Fingerprint = Type.String({ pattern: '^SHA256:[A-Za-z0-9+/]{43}$', minLength: 50, maxLength: 50 })
const Generation = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })
const Count = Type.Integer({ minimum: 0, maximum: 2 ** 31 - 1 })
const SessionId = Type.String({ pattern: '^[A-Za-z0-9._-]{1,100}$' })

/** Why a session ended: by itself, or because the agent ended it. `lost`: the agent found it gone and did not see it go. */
export const sessionEnds = ['closed', 'key_removed', 'key_expired', 'account_removed', 'lost'] as const

/** What happened on a node without anybody having asked for it. Sessions come with their id and key, ends with their cause, a drift that was put right with what was found, and one that could not be with why not. */
export const NodeEvent = Named('NodeEvent', {
  event_id: Id('node event'),
  kind: OneOf(['session_started', 'session_ended', 'drift_restored', 'drift_found']),
  at: GivenInstant,
  allocation_id: Id('allocation'),
  /** The set that was in force. */
  generation: Generation,
  session_id: maybe(SessionId),
  fingerprint: maybe(Fingerprint),
  source_ip: maybe(Type.String({ maxLength: 45, pattern: '^[0-9A-Fa-f.:]{2,45}$' })),
  end: maybe(OneOf(sessionEnds)),
  processes_ended: maybe(Count),
  may_have_left_processes: maybe(Type.Boolean()),
  /** Of a drift: what was found. */
  found: maybe(OneOf(['changed', 'missing', 'not_ours', 'sshd_reads_more', 'account_left'])),
  /** Of a drift that could not be put right: the word for why not. */
  failure: maybe(Type.String({ pattern: '^[a-z_]{1,63}$', minLength: 1, maxLength: 63 })),
})
export type NodeEvent = Static<typeof NodeEvent>

export const reportNodeEvents = operation({
  id: 'node.event.report',
  // Each event is recorded as what it is.
  recorded_as: [
    'node.event.report',
    'allocation.ssh_session.start',
    'allocation.ssh_session.end',
    'allocation.access_drift',
    'allocation.access_drift.not_restored',
  ],
  method: 'POST',
  path: '/internal/v1/nodes/:node_id/events',
  summary: 'What happened on a node by itself: sessions that began and ended, and keys that somebody changed by hand. Each counts once.',
  actors: ['node_agent'],
  identified_by: 'certificate',
  action: 'node.task.report',
  effect: 'change',
  listener: 'nodes',
  params: { node_id: Id('node') },
  body: Exactly({ events: Type.Array(NodeEvent, { minItems: 1, maxItems: 100 }) }),
  reply: Exactly({ accepted: Type.Array(Id('node event')) }),
  /** All of it had been told before. */
  success_again: 200,
  problems: [],
})

export const SshSession = Named('SshSession', {
  session_id: Type.String(),
  allocation_id: Id('allocation'),
  node_id: Id('node'),
  fingerprint: Type.String(),
  /** Whose key it was then; several where several hold the same one, none where nobody’s. */
  user_ids: Type.Array(Id('user')),
  grant_ids: Type.Array(Id('access grant')),
  source_ip: Nullable(Type.String()),
  /** By the node’s clock, like the end; null: only its end has been told of. */
  started_at: Nullable(Instant),
  ended_at: Nullable(Instant),
  end: Nullable(OneOf(sessionEnds)),
  processes_ended: Nullable(Type.Integer()),
  may_have_left_processes: Nullable(Type.Boolean()),
})
export type SshSession = Static<typeof SshSession>

export const listSshSessions = listOperation({
  id: 'allocation.ssh_session.list',
  path: '/api/v1/allocations/:allocation_id/ssh-sessions',
  summary: 'Who was on an allocation, with which key, from when to when; what was told of last comes first.',
  actors: ['user'],
  action: ['project.access_grant.read', 'tenant.access_grant.manage'],
  params: { allocation_id: Id('allocation') },
  item: SshSession,
  problems: ['allocation_not_found'],
})
