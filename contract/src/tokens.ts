import Type, { type Static } from 'typebox'
import { actorTypes, listOperation, operation } from './operation.ts'
import { Exactly, GivenInstant, Id, Instant, Named, Nullable, OneOf, Reason } from './shapes.ts'
import { oneRuntime } from './shared-runtimes.ts'

const ofEveryToken = {
  iss: Type.String(),
  aud: Type.String(),
  iat: Type.Integer(),
  exp: Type.Integer(),
  jti: Id('token'),
  scope: Type.String(),
  org_id: Id('organization'),
}

/** The claims of a token, as it holds them. For a resource server; whoever asked for the token need not read it. */
export const ServiceAccountClaims = Exactly({
  sub: Id('service account'),
  actor_type: OneOf(['service_account']),
  ...ofEveryToken,
  project_id: Id('project'),
})

/** The same of the operator of a shared runtime, who is bound to a tenant and to no project of it. */
export const SharedRuntimeOperatorClaims = Exactly({
  sub: Id('shared runtime'),
  actor_type: OneOf(['shared_runtime_operator']),
  ...ofEveryToken,
  shared_runtime_id: Id('shared runtime'),
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

/** What every answer with a token says, beside what the token itself holds. */
const issued = {
  credential_type: OneOf(['jwt_bearer']),
  token_type: OneOf(['Bearer']),
  access_token: Type.String({ description: 'Shown this once.' }),
  expires_in_seconds: Type.Integer(),
  expires_at: Instant,
  scope: Type.String({ description: 'What was granted.' }),
  credential_session_id: Id('token'),
}

export const IssuedServiceAccountToken = Exactly({ ...issued, issued_claims_summary: ServiceAccountClaims })
export type IssuedServiceAccountToken = Static<typeof IssuedServiceAccountToken>

export const issueServiceAccountToken = operation({
  id: 'auth.service_account_token.issue',
  recorded_as: 'auth.token.issue',
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

export const SharedRuntimeOperatorTokenRequest = Exactly({
  shared_runtime_id: Id('shared runtime'),
  key_id: Id('operator credential'),
  client_secret: Type.String({ minLength: 1, maxLength: 200, description: 'The secret that was shown when the credential was made.' }),
  ...asked,
})
export type SharedRuntimeOperatorTokenRequest = Static<typeof SharedRuntimeOperatorTokenRequest>

export const IssuedSharedRuntimeOperatorToken = Exactly({ ...issued, issued_claims_summary: SharedRuntimeOperatorClaims })

export const issueSharedRuntimeOperatorToken = operation({
  id: 'auth.shared_runtime_operator_token.issue',
  recorded_as: 'auth.token.issue',
  method: 'POST',
  path: '/api/v1/auth/shared-runtime-operator/token',
  summary: 'Turn the secret of a shared runtime’s operator into a short-lived token.',
  description:
    'No bearer token is needed: the secret in the body says who asks. The token is bound to one organization and one shared runtime, and to no project: `org_id` and `shared_runtime_id` are in it, `sub` is the runtime, and there is no `project_id`. A wrong id, key or secret, a revoked or expired credential and a disabled or deleted runtime are answered alike.',
  actors: ['shared_runtime_operator'],
  action: 'shared_runtime.token.issue',
  effect: 'change',
  body: SharedRuntimeOperatorTokenRequest,
  reply: IssuedSharedRuntimeOperatorToken,
  is_secret_reply: true,
  identified_by: 'credential',
  problems: ['credential_already_issued', 'policy_unavailable'],
})

export const IssuedToken = Named('IssuedToken', {
  id: Id('token'),
  actor_type: OneOf(actorTypes),
  actor_id: Id('actor'),
  credential_id: Nullable(Id('credential')),
  parent_id: Nullable(Id('token')),
  acting_id: Nullable(Id('actor')),
  project_id: Nullable(Id('project')),
  audience: Type.String(),
  scope: Type.String({ description: 'What it was granted, with spaces between.' }),
  issued_at: Instant,
  expires_at: Instant,
  state: OneOf(['live', 'ended', 'expired']),
  revoked_at: Nullable(Instant),
  revoke_reason: Nullable(Type.String()),
})
export type IssuedToken = Static<typeof IssuedToken>

/** Who manages the credential manages what was issued for it. */
const managing = ['project.service_account.manage', 'platform.admin'] as const

export const listProjectTokens = listOperation({
  id: 'auth.token.list_of_project',
  path: '/api/v1/projects/:project_id/tokens',
  summary: 'The tokens that were issued in a project, the newest first; never a token itself.',
  description:
    '`ended`: revoked, or ended with its credential, actor, project or organization, or with `parent_id`, the token that it was exchanged for. `acting_id`: who uses it for the actor, where that is another; the credential is his.',
  actors: ['user'],
  action: managing,
  effect: 'recorded_read',
  params: { project_id: Id('project') },
  item: IssuedToken,
  problems: ['project_not_found'],
})

const runtimes = ['tenant.shared_runtime.manage', 'platform.admin'] as const

export const listRuntimeTokens = listOperation({
  id: 'auth.token.list_of_shared_runtime',
  path: `${oneRuntime.path}/tokens`,
  summary: 'The tokens that were issued to the operator of a shared runtime, the newest first; never a token itself.',
  description: '`ended`: revoked, or ended with its credential, its runtime or its organization.',
  actors: ['user'],
  action: runtimes,
  effect: 'recorded_read',
  params: oneRuntime.params,
  item: IssuedToken,
  problems: oneRuntime.gone,
})

export const revokeTokens = operation({
  id: 'auth.token.revoke',
  method: 'POST',
  path: '/api/v1/auth/tokens/revoke',
  summary: 'End tokens at once and for good: one, or all that were issued until now to an actor, for a credential, in a project and so on.',
  description:
    'Exactly one of `token_id`, `credential_id`, `actor`, `project_id`, `org_id` and `platform` says which. An operator is the actor of that type with the id of its shared runtime; his tokens are ended by those who manage the runtime. All but the first end what was issued until `issued_before`, or until now; of several such cut-offs the latest counts. The last two are the platform’s to use. A credential that is not revoked itself may be used for a new token.',
  actors: ['user'],
  action: ['project.service_account.manage', ...runtimes],
  effect: 'change',
  body: Exactly({
    token_id: Type.Optional(Id('token')),
    credential_id: Type.Optional(Id('credential')),
    actor: Type.Optional(Exactly({ type: OneOf(actorTypes), id: Id('actor') })),
    project_id: Type.Optional(Id('project')),
    org_id: Type.Optional(Id('organization')),
    platform: Type.Optional(Type.Literal(true)),
    issued_before: Type.Optional(GivenInstant),
    reason: Type.Optional(Reason),
  }),
  reply: Exactly({
    subject_type: OneOf(['token', 'credential', 'actor', 'project', 'organization', 'platform']),
    subject_id: Nullable(Type.String()),
    issued_before: Nullable(Instant),
    revoked_at: Instant,
  }),
  problems: ['token_not_found', 'project_not_found', 'organization_not_found'],
})
