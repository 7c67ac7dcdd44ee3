import Type, { type Static } from 'typebox'
import { listOperation, operation } from './operation.ts'
import { Exactly, Id, Instant, Named, Nullable, OneOf, Reason } from './shapes.ts'
import { oneRuntime } from './shared-runtimes.ts'

const maybe = Type.Optional
const { path: one, params, gone } = oneRuntime
const people = ['user'] as const
const operator = ['shared_runtime_operator'] as const
const manage = 'tenant.shared_runtime.manage'
const Because = Exactly({ reason: Reason })

export const RuntimeCredential = Named('RuntimeCredential', {
  id: Id('runtime credential'),
  shared_runtime_id: Id('shared runtime'),
  name: Type.String(),
  version: Type.Integer(),
  state: OneOf(['active', 'delivered', 'revoked', 'ended_by_restore']),
  created_at: Instant,
  created_by: Id('user'),
  delivered_at: Nullable(Instant),
  revoked_at: Nullable(Instant),
})
export type RuntimeCredential = Static<typeof RuntimeCredential>

export const listRuntimeCredentials = listOperation({
  id: 'shared_runtime.credential.list',
  path: `${one}/credentials`,
  summary: 'The secrets left for a runtime, by name; never their content.',
  actors: people,
  action: manage,
  params,
  item: RuntimeCredential,
  problems: gone,
})

export const depositRuntimeCredential = operation({
  id: 'shared_runtime.credential.deposit',
  method: 'POST',
  path: `${one}/credentials`,
  summary: 'Leave a secret for a runtime under a name; one of the same name is replaced. Nobody reads it back: its operator takes it.',
  actors: people,
  action: manage,
  effect: 'change',
  params,
  body: Exactly({
    name: Type.String({ pattern: '^[a-z0-9](?:[a-z0-9_.-]*[a-z0-9])?$', minLength: 1, maxLength: 63 }),
    secret: Type.String({ minLength: 1, maxLength: 16384, writeOnly: true }),
    reason: maybe(Reason),
  }),
  reply: RuntimeCredential,
  success: 201,
  problems: [...gone, 'limit_reached'],
})

export const revokeRuntimeCredential = operation({
  id: 'shared_runtime.credential.revoke',
  method: 'DELETE',
  path: `${one}/credentials/:credential_id`,
  summary: 'Take a secret back; what waits to be delivered of it is void.',
  actors: people,
  action: manage,
  effect: 'change',
  params: { ...params, credential_id: Id('runtime credential') },
  body: Because,
  problems: [...gone, 'runtime_credential_not_found', 'state_conflict'],
})

export const deliverRuntimeCredential = operation({
  id: 'shared_runtime.credential.deliver',
  method: 'POST',
  path: `${one}/credential-deliveries`,
  summary: 'Ask for a secret by name: the answer holds a token that opens it once, within a minute. Only so many wait at a time.',
  actors: operator,
  action: 'shared_runtime.credential.deliver',
  effect: 'change',
  params,
  body: Exactly({ name: Type.String({ minLength: 1, maxLength: 63, pattern: '^[a-z0-9](?:[a-z0-9_.-]*[a-z0-9])?$' }) }),
  reply: Named('WrappedDelivery', {
    delivery_id: Id('delivery'),
    wrapping_token: Type.String({ description: 'Give it to `POST /api/v1/deliveries/unwrap` as the same operator.' }),
    expires_at: Instant,
    credential_session_id: Type.String(),
  }),
  success: 201,
  is_secret_reply: true,
  target_named_by: 'name',
  problems: [...gone, 'runtime_credential_not_found', 'limit_reached'],
})

export const unwrapDelivery = operation({
  id: 'delivery.unwrap',
  method: 'POST',
  path: '/api/v1/deliveries/unwrap',
  summary: 'Open a delivery: once, by whoever asked for it, before it ends.',
  actors: operator,
  action: 'shared_runtime.credential.deliver',
  effect: 'change',
  body: Exactly({ wrapping_token: Type.String({ minLength: 1, maxLength: 200 }) }),
  reply: Named('UnwrappedDelivery', {
    delivery_id: Id('delivery'),
    name: Type.String(),
    version: Type.Integer(),
    secret: Type.String(),
    credential_session_id: Type.String(),
  }),
  is_secret_reply: true,
  problems: ['delivery_not_found'],
})
