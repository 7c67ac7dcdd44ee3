import Type, { type Static } from 'typebox'
import { listOperation, operation } from './operation.ts'
import { Exactly, Instant, Named, Nullable, OneOf, Reason } from './shapes.ts'

export const signingAlgorithms = ['ES256', 'EdDSA', 'HS256'] as const
export const SigningKeyAlgorithm = OneOf(signingAlgorithms)
export const SigningKeyState = OneOf(['staged', 'active', 'grace', 'retired', 'revoked'])

export const SigningKey = Named('SigningKey', {
  kid: Type.String({ description: 'As it stands in the header of a token.' }),
  alg: SigningKeyAlgorithm,
  custody: OneOf(['envelope', 'transit', 'envelope_key']),
  state: SigningKeyState,
  created_at: Instant,
  activated_at: Nullable(Instant),
  grace_until: Nullable(Instant),
  ended_at: Nullable(Instant),
  end_reason: Nullable(Type.String()),
})
export type SigningKey = Static<typeof SigningKey>

const path = '/api/v1/admin/signing-keys'
const byKid = { kid: Type.String({ pattern: '^[A-Za-z0-9_-]{8,128}$', minLength: 8, maxLength: 128, description: 'The id of one key.' }) }
const actors = ['user'] as const
const action = 'platform.admin'

export const listSigningKeys = listOperation({
  id: 'signing_key.list',
  path,
  summary: 'Every key that tokens are or were signed with; never its private part.',
  actors,
  action,
  item: SigningKey,
  problems: [],
})

export const rotateSigningKey = operation({
  id: 'signing_key.rotate',
  method: 'POST',
  path: `${path}/rotate`,
  summary: 'Sign with the next key from now on; the former one still verifies until its last token has expired.',
  description:
    'The next key must have been public for as long as others may keep the key set; before that it is 409 `state_conflict` with `usable_at`.',
  actors,
  action,
  effect: 'change',
  body: Exactly({ reason: Reason }),
  reply: SigningKey,
  problems: ['state_conflict', 'policy_unavailable'],
})

export const retireSigningKey = operation({
  id: 'signing_key.retire',
  method: 'POST',
  path: `${path}/:kid/retire`,
  summary: 'Put a key away that does not sign; tokens that it signed end.',
  actors,
  action,
  effect: 'change',
  params: byKid,
  body: Exactly({ reason: Reason }),
  reply: SigningKey,
  problems: ['signing_key_not_found', 'state_conflict'],
})

export const revokeSigningKey = operation({
  id: 'signing_key.revoke',
  method: 'POST',
  path: `${path}/:kid/revoke`,
  summary: 'Emergency: every token that this key signed ends at once; if it was the one that signs, the next one takes its place.',
  actors,
  action,
  effect: 'change',
  params: byKid,
  body: Exactly({ reason: Reason }),
  reply: SigningKey,
  problems: ['signing_key_not_found', 'state_conflict'],
})
