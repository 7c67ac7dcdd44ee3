import Type, { type Static } from 'typebox'
import { actorTypes, operation } from './operation.ts'
import { Exactly, Id, Instant, OneOf, Reason } from './shapes.ts'

/** The claims of a token, as it holds them. For a resource server; whoever asked for the token need not read it. */
export const ServiceAccountClaims = Exactly({
  sub: Id('service account'),
  actor_type: OneOf(['service_account']),
  iss: Type.String(),
  aud: Type.String(),
  iat: Type.Integer(),
  exp: Type.Integer(),
  jti: Id('token'),
  scope: Type.String(),
  org_id: Id('organization'),
  project_id: Id('project'),
})

const audience = Type.String({
  minLength: 1,
  maxLength: 200,
  description: 'For whom the token is; one, and an allowed one. `gpuaas-api` when none is asked for.',
})

const scope = Type.String({
  minLength: 1,
  description:
    'Permission keys with spaces between them; order, case and repetition do not matter. What the actor does not hold, or its class may not carry, is left out. Without it: all that the actor holds now.',
})

const ttl = Type.Integer({
  minimum: 1,
  maximum: 315_360_000,
  description: 'How long it should live. It can shorten a token and never lengthen it past policy.',
})

/** What every request for a token may say; the last six are held against the record and choose nothing. */
const asked = {
  audience: Type.Optional(audience),
  scope: Type.Optional(scope),
  ttl_seconds: Type.Optional(ttl),
  reason: Type.Optional(Reason),
  source_workflow_id: Type.Optional(
    Type.String({
      pattern: '^[A-Za-z0-9._:/-]+$',
      minLength: 1,
      maxLength: 128,
      description: 'The workflow that asks; kept in the record.',
    }),
  ),
  actor_type: Type.Optional(OneOf(actorTypes)),
  actor_id: Type.Optional(Id('actor')),
  org_id: Type.Optional(Id('organization')),
  project_id: Type.Optional(Id('project')),
  resource_type: Type.Optional(Type.String({ pattern: '^[a-z][a-z0-9_]*$', minLength: 1, maxLength: 63 })),
  resource_id: Type.Optional(Id('resource')),
}

export const ServiceAccountTokenRequest = Exactly({
  service_account_id: Id('service account'),
  key_id: Id('service account key'),
  client_secret: Type.String({ minLength: 1, maxLength: 200, description: 'The secret that was shown when the key was made.' }),
  ...asked,
})
export type ServiceAccountTokenRequest = Static<typeof ServiceAccountTokenRequest>

export const IssuedServiceAccountToken = Exactly({
  credential_type: OneOf(['jwt_bearer']),
  token_type: OneOf(['Bearer']),
  access_token: Type.String({ description: 'Shown this once.' }),
  expires_in_seconds: Type.Integer(),
  expires_at: Instant,
  scope: Type.String({ description: 'What was granted.' }),
  issued_claims_summary: ServiceAccountClaims,
  credential_session_id: Id('token'),
})
export type IssuedServiceAccountToken = Static<typeof IssuedServiceAccountToken>

export const issueServiceAccountToken = operation({
  id: 'auth.service_account_token.issue',
  method: 'POST',
  path: '/api/v1/auth/service-account/token',
  summary: 'Turn the secret of a service account into a short-lived token.',
  description:
    'No bearer token is needed: the secret in the body says who asks. A wrong id, key or secret, a revoked or expired key and a disabled or deleted account are answered alike.',
  actors: ['service_account'],
  action: 'auth.token.issue',
  effect: 'change',
  body: ServiceAccountTokenRequest,
  reply: IssuedServiceAccountToken,
  is_secret_reply: true,
  identified_by: 'credential',
  problems: ['credential_already_issued', 'policy_unavailable'],
})
