import Type from 'typebox'
import type { Operation } from './operation.ts'
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

/** The same where a token is shown in the place of a client's credential: as at any resource (RFC 6750, 3.1; RFC 9449, 7.1). */
const namedOfShown: Partial<Record<ProblemCode, Told>> = {
  token_invalid: { error: 'invalid_token', status: 401 },
  token_expired: { error: 'invalid_token', status: 401 },
  proof_invalid: { error: 'invalid_dpop_proof', status: 401 },
}

/** Whatever else can be wrong is wrong with the request. */
export const oauthErrorOf = (code: ProblemCode, is_token_shown = false): Told =>
  (is_token_shown ? namedOfShown[code] : undefined) ?? named[code] ?? { error: 'invalid_request', status: problems[code].status }

/** All that a problem is called at one endpoint; a proof comes with a token wherever one can be shown. */
export const oauthErrorsOf = (code: ProblemCode, { identified_by }: Pick<Operation, 'identified_by'>): readonly Told[] => {
  const [plain, shown] = [oauthErrorOf(code), oauthErrorOf(code, true)]
  if (identified_by !== 'client' || (plain.error === shown.error && plain.status === shown.status)) return [plain]
  return code === 'proof_invalid' ? [shown] : [plain, shown]
}
