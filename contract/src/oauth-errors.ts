import Type from 'typebox'
import { type ProblemCode, problems } from './problems.ts'

/** The shape of every refusal where OAuth is spoken (RFC 6749, 5.2); the correlation id is in its header. */
export const OAuthError = Type.Object({
  error: Type.String(),
  error_description: Type.Optional(Type.String()),
})

interface Told {
  readonly error: string
  readonly status: number
}

/** What a refusal is called in OAuth, where its own name is not one of OAuth's. */
const named: Partial<Record<ProblemCode, Told>> = {
  token_missing: { error: 'invalid_client', status: 401 },
  token_invalid: { error: 'invalid_client', status: 401 },
  token_expired: { error: 'invalid_client', status: 401 },
  proof_invalid: { error: 'invalid_dpop_proof', status: 400 },
  insufficient_permissions: { error: 'unauthorized_client', status: 400 },
  unsupported_grant_type: { error: 'unsupported_grant_type', status: 400 },
  invalid_scope: { error: 'invalid_scope', status: 400 },
  invalid_target: { error: 'invalid_target', status: 400 },
  rate_limit_exceeded: { error: 'temporarily_unavailable', status: 429 },
  policy_unavailable: { error: 'temporarily_unavailable', status: 503 },
  dependency_unavailable: { error: 'temporarily_unavailable', status: 503 },
  internal_error: { error: 'server_error', status: 500 },
}

/** Whatever else can be wrong is wrong with the request. */
export const oauthErrorOf = (code: ProblemCode): Told => named[code] ?? { error: 'invalid_request', status: problems[code].status }
