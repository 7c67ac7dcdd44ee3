import type { Act } from '#ground/work/work.ts'
import type { Bound, TokenPolicy } from './token-policy.ts'

/** The token that another one comes from, and that the other must stay within. */
export interface Parent {
  readonly id: string
  readonly audience: string
  readonly scope: readonly string[]
  /** In seconds since 1970. */
  readonly exp: number
  /** Who acts by the token to come. */
  readonly act: Act | null
}

/**
 * Whether a token for one audience may become one for another: itself, or from us to somebody whom policy allows. Whoever holds a token
 * for our own API is whom we answer, and the token endpoint is part of that; what somebody else was given for himself never comes back
 * as one for us, nor goes on to a third.
 */
export const isWithin = (audience: string, of: string, own_audience: string): boolean => audience === of || of === own_audience

const secondsOf = (instant: string): number => Math.floor(Date.parse(instant) / 1000)

/**
 * No token outlives the credential that it is issued for: a resource server that only verifies the signature would believe it past that
 * end. Claims hold whole seconds, so the last begun one is cut off; null where none is left.
 */
export const untilEndOf = (ends_at: string | null, policy: TokenPolicy, issued_at: string): TokenPolicy | null => {
  if (ends_at === null) return policy
  const left_seconds = secondsOf(ends_at) - secondsOf(issued_at)
  return left_seconds > 0 ? { ...policy, max_ttl_seconds: Math.min(policy.max_ttl_seconds, left_seconds) } : null
}

/**
 * By what a token is judged that comes from another: as by what its subject holds and what policy allows now, and by nothing that the
 * other does not have. Every limit is the smaller of both, so whatever is then granted lies within both.
 */
export const narrowed = (
  parent: Parent,
  { bound, policy, issued_at }: { readonly bound: Bound; readonly policy: TokenPolicy; readonly issued_at: string },
): { readonly bound: Bound; readonly policy: TokenPolicy } => {
  const left_seconds = parent.exp - secondsOf(issued_at)
  const own = policy.default_audience
  return {
    bound: { ...bound, held: new Set(parent.scope.filter((key) => bound.held.has(key))) },
    policy: {
      ...policy,
      max_ttl_seconds: Math.min(policy.max_ttl_seconds, left_seconds),
      allowed_audiences: policy.allowed_audiences.filter((audience) => isWithin(audience, parent.audience, own)),
      default_audience: parent.audience,
    },
  }
}
