import Type, { type Static } from 'typebox'
import { listOperation, operation } from './operation.ts'
import { Exactly, GivenInstant, Id, Instant, Named, Nullable, OneOf, Reason } from './shapes.ts'
import { oneRuntime } from './shared-runtimes.ts'

const maybe = Type.Optional
const { path: one, params, gone } = oneRuntime
const people = ['user'] as const
const manage = 'tenant.shared_runtime.manage'
const Because = Exactly({ reason: Reason })

export const OperatorCredential = Named('OperatorCredential', {
  key_id: Id('operator credential'),
  shared_runtime_id: Id('shared runtime'),
  state: OneOf(['active', 'expired', 'revoked', 'ended_by_restore']),
  created_at: Instant,
  created_by: Id('user'),
  expires_at: Nullable(Instant),
  last_used_at: Nullable(Type.String({ ...Instant, description: 'To the minute.' })),
  revoked_at: Nullable(Instant),
})
export type OperatorCredential = Static<typeof OperatorCredential>
const NewOperatorCredential = Named('NewOperatorCredential', {
  ...OperatorCredential.properties,
  client_secret: Type.String({ description: 'Shown once; only its salted hash is kept.' }),
  credential_session_id: Type.String({ description: 'The id of the credential: by it a repeated request says which one was made.' }),
})

export const listOperatorCredentials = listOperation({
  id: 'shared_runtime.operator_credential.list',
  path: `${one}/operator-credentials`,
  summary: 'The credentials of a runtime’s operator, also those that have ended; never a secret.',
  actors: people,
  action: manage,
  params,
  item: OperatorCredential,
  problems: gone,
})

export const createOperatorCredential = operation({
  id: 'shared_runtime.operator_credential.create',
  method: 'POST',
  path: `${one}/operator-credentials`,
  summary:
    'Make a credential for a runtime’s operator; its secret is in this answer and nowhere else. Several may count at once, to rotate.',
  description: 'Making a credential counts as granting: you need `tenant.role.assign_any`, since no role gives all that an operator has.',
  actors: people,
  action: manage,
  effect: 'change',
  params,
  body: Exactly({ expires_at: maybe(GivenInstant), reason: maybe(Reason) }),
  reply: NewOperatorCredential,
  success: 201,
  is_secret_reply: true,
  problems: [...gone, 'state_conflict', 'limit_reached'],
})

export const revokeOperatorCredential = operation({
  id: 'shared_runtime.operator_credential.revoke',
  method: 'DELETE',
  path: `${one}/operator-credentials/:key_id`,
  summary: 'Revoke a credential: at once it gets no token, and those that it got are refused.',
  actors: people,
  action: manage,
  effect: 'change',
  params: { ...params, key_id: Id('operator credential') },
  body: Because,
  problems: [...gone, 'operator_credential_not_found', 'state_conflict'],
})
