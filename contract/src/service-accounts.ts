import Type, { type Static } from 'typebox'
import { listOperation, operation } from './operation.ts'
import { Exactly, GivenInstant, Id, Instant, Name, Named, Nullable, OneOf, Reason, Slug } from './shapes.ts'

const maybe = Type.Optional

/** How long an older key still counts where nobody says. */
export const usual_overlap_seconds = 3600

export const ServiceAccount = Named('ServiceAccount', {
  id: Id('service account'),
  org_id: Id('org'),
  project_id: Id('project'),
  name: Name,
  slug: Slug,
  state: OneOf(['active', 'disabled']),
  created_at: Instant,
  created_by: Nullable(Id('user')),
  disabled_at: Nullable(Instant),
})
export type ServiceAccount = Static<typeof ServiceAccount>

const letters = (maxLength: number) => Type.String({ pattern: '^[A-Za-z0-9_-]+$', minLength: 1, maxLength })

/** The public part of a key whose private part stays where it was made. */
export const PublicJwk = Named('PublicJwk', {
  kty: OneOf(['EC', 'OKP', 'RSA']),
  crv: maybe(OneOf(['P-256', 'Ed25519'])),
  x: maybe(letters(43)),
  y: maybe(letters(43)),
  n: maybe(letters(683)),
  e: maybe(letters(6)),
  alg: maybe(OneOf(['ES256', 'EdDSA', 'Ed25519', 'RS256'])),
  use: maybe(OneOf(['sig'])),
  kid: maybe(Type.String({ maxLength: 255, description: 'Not kept: the key is named by its `key_id`.' })),
  key_ops: maybe(Type.Array(OneOf(['verify']), { maxItems: 1 })),
  ext: maybe(Type.Boolean()),
})
export type PublicJwk = Static<typeof PublicJwk>

const publicKey = Type.Unsafe<PublicJwk>({
  ...PublicJwk,
  description:
    'A public key in the place of a secret: P-256 (`ES256`), Ed25519 (`EdDSA`), or RSA of 2048 to 4096 bits with exponent 65537 (`RS256`). Its holder then signs assertions (`private_key_jwt`); there is no `client_secret`.',
})

export const ServiceAccountKey = Named('ServiceAccountKey', {
  key_id: Id('service account key'),
  service_account_id: Id('service account'),
  kind: OneOf(['secret', 'public_key']),
  alg: Nullable(OneOf(['ES256', 'EdDSA', 'RS256'])),
  public_jwk: Nullable(PublicJwk),
  state: Type.Unsafe<'active' | 'expired' | 'revoked' | 'ended_by_restore'>({
    ...OneOf(['active', 'expired', 'revoked', 'ended_by_restore']),
    description: '`ended_by_restore`: it was made before a backup was restored, and opens nothing; make a new one.',
  }),
  created_at: Instant,
  created_by: Id('user'),
  expires_at: Nullable(Instant),
  last_used_at: Nullable(Type.String({ ...Instant, description: 'To the minute.' })),
  revoked_at: Nullable(Instant),
})
export type ServiceAccountKey = Static<typeof ServiceAccountKey>

const secret = {
  ...ServiceAccountKey.properties,
  client_secret: maybe(Type.String({ description: 'Shown once; only its salted hash is kept. A public key has none.' })),
  credential_session_id: Type.String({ description: 'The id of the key: by it a repeated request says which key was made.' }),
}
const NewServiceAccountKey = Named('NewServiceAccountKey', secret)
const RotatedServiceAccountKey = Named('RotatedServiceAccountKey', {
  ...secret,
  replaces: Exactly({ key_id: Id('service account key'), ends_at: Instant }),
})

const inProject = { project_id: Id('project') }
const account = { ...inProject, service_account_id: Id('service account') }
const key = { ...account, key_id: Id('service account key') }
const path = '/api/v1/projects/:project_id/service-accounts'
const one = `${path}/:service_account_id`
const readers = ['user', 'service_account'] as const
const Because = Exactly({ reason: Reason })

export const listServiceAccounts = listOperation({
  id: 'service_account.list',
  path,
  summary: 'The service accounts of a project.',
  actors: readers,
  action: 'project.service_account.read',
  params: inProject,
  item: ServiceAccount,
  problems: ['project_not_found'],
})

export const createServiceAccount = operation({
  id: 'service_account.create',
  method: 'POST',
  path,
  summary: 'Create a service account: a machine that acts in this project, and stays when its maker goes.',
  actors: ['user'],
  action: 'project.service_account.manage',
  effect: 'change',
  params: inProject,
  body: Exactly({ name: Name, slug: Slug, reason: maybe(Reason) }),
  reply: ServiceAccount,
  success: 201,
  problems: ['project_not_found', 'service_account_already_exists', 'limit_reached'],
})

export const readServiceAccount = operation({
  id: 'service_account.read',
  method: 'GET',
  path: one,
  summary: 'One service account.',
  actors: readers,
  action: 'project.service_account.read',
  effect: 'read',
  params: account,
  reply: ServiceAccount,
  problems: ['project_not_found', 'service_account_not_found'],
})

const changed = {
  method: 'POST',
  actors: ['user'],
  action: 'project.service_account.manage',
  effect: 'change',
  params: account,
  body: Because,
  reply: ServiceAccount,
  problems: ['project_not_found', 'service_account_not_found', 'state_conflict'],
} as const

export const disableServiceAccount = operation({
  ...changed,
  id: 'service_account.disable',
  path: `${one}/disable`,
  summary: 'Disable a service account: at once it gets no token, and those it has are refused as `actor_disabled`.',
})

export const enableServiceAccount = operation({
  ...changed,
  id: 'service_account.enable',
  path: `${one}/enable`,
  summary: 'Enable a disabled service account again.',
})

export const deleteServiceAccount = operation({
  id: 'service_account.delete',
  method: 'DELETE',
  path: one,
  summary: 'End a service account for good, with its bindings, its keys and its tokens. Its slug is free again.',
  actors: ['user'],
  action: 'project.service_account.manage',
  effect: 'change',
  params: account,
  body: Because,
  problems: ['project_not_found', 'service_account_not_found'],
})

export const listServiceAccountKeys = listOperation({
  id: 'service_account.key.list',
  path: `${one}/keys`,
  summary: 'The keys of a service account, also those that have ended; never a secret, nor what is kept of it.',
  actors: readers,
  action: 'project.service_account.read',
  params: account,
  item: ServiceAccountKey,
  problems: ['project_not_found', 'service_account_not_found'],
})

export const createServiceAccountKey = operation({
  id: 'service_account.key.create',
  method: 'POST',
  path: `${one}/keys`,
  summary: 'Make a key: with a secret, which is in this answer and nowhere else, or of a public key that you bring.',
  description:
    'Making a key counts as granting: you need `project.role.assign_any`, or every permission that the service account has; else 403 with detail `assignment_ceiling`.',
  actors: ['user'],
  action: 'project.service_account.key.create',
  effect: 'change',
  params: account,
  body: Exactly({ public_jwk: maybe(publicKey), expires_at: maybe(GivenInstant), reason: maybe(Reason) }),
  reply: NewServiceAccountKey,
  success: 201,
  is_secret_reply: true,
  problems: ['project_not_found', 'service_account_not_found', 'limit_reached'],
})

export const rotateServiceAccountKey = operation({
  id: 'service_account.key.rotate',
  method: 'POST',
  path: `${one}/keys/:key_id/rotate`,
  summary: 'Make a key in the place of another, which ends after the overlap; the end that it had is never moved back.',
  description: 'Under the same ceiling as making a key. With an overlap of 0 the older key is revoked at once.',
  actors: ['user'],
  action: 'project.service_account.key.create',
  effect: 'change',
  params: key,
  body: Exactly({
    overlap_seconds: maybe(Type.Integer({ minimum: 0, maximum: 2_592_000, default: usual_overlap_seconds })),
    public_jwk: maybe(publicKey),
    expires_at: maybe(GivenInstant),
    reason: maybe(Reason),
  }),
  reply: RotatedServiceAccountKey,
  success: 201,
  is_secret_reply: true,
  problems: ['project_not_found', 'service_account_not_found', 'service_account_key_not_found', 'state_conflict', 'limit_reached'],
})

export const revokeServiceAccountKey = operation({
  id: 'service_account.key.revoke',
  method: 'DELETE',
  path: `${one}/keys/:key_id`,
  summary: 'Revoke a key: at once it gets no token, and those that it got are refused.',
  actors: ['user'],
  action: 'project.service_account.manage',
  effect: 'change',
  params: key,
  body: Because,
  problems: ['project_not_found', 'service_account_not_found', 'service_account_key_not_found', 'state_conflict'],
})
