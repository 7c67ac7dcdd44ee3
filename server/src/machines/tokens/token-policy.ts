import { carriedInTokens } from '#rails/authz/carried-keys.ts'
import type { MachineClass } from './machine-class.ts'
import { allowedFor, normaliseScope } from './normalise-scope.ts'

/** What is asked for; all but the wishes are assertions, which must be true and choose nothing. */
export interface TokenRequest {
  readonly audience?: string
  readonly scope?: string
  readonly ttl_seconds?: number
  readonly actor_type?: string
  readonly actor_id?: string
  readonly org_id?: string
  readonly project_id?: string
  readonly resource_type?: string
  readonly resource_id?: string
}

/** Whom the credential is of, by the record: the only source of what a token is bound to. */
export interface Bound {
  readonly actor_type: MachineClass
  readonly actor_id: string
  readonly org_id: string
  readonly project_id: string | null
  /** What the token may be said to be for. The first one is what the record names. */
  readonly resources: readonly { readonly type: string; readonly id: string }[]
  /** The keys that the actor holds now. */
  readonly held: ReadonlySet<string>
}

/** Every limit, as policy says it at that place. */
export interface TokenPolicy {
  readonly ttl_seconds: number
  readonly max_ttl_seconds: number
  readonly allowed_audiences: readonly string[]
  readonly allowed_scopes: Readonly<Record<string, readonly string[]>>
  /** What a token is for if nobody says. */
  readonly default_audience: string
}

export interface Grant {
  readonly audience: string
  readonly scope: readonly string[]
  readonly ttl_seconds: number
}

export type Refusal = 'binding' | 'audience' | 'scope'
export type Evaluation = { readonly granted: Grant } | { readonly refused: Refusal }

const isTrue = (asserted: string | undefined, recorded: string | null): boolean => asserted === undefined || asserted === recorded

const isBoundSo = (request: TokenRequest, bound: Bound): boolean =>
  isTrue(request.actor_type, bound.actor_type) &&
  isTrue(request.actor_id, bound.actor_id) &&
  isTrue(request.org_id, bound.org_id) &&
  isTrue(request.project_id, bound.project_id) &&
  bound.resources.some(({ type, id }) => isTrue(request.resource_type, type) && isTrue(request.resource_id, id))

/** A list of a policy is one thing as long as nobody writes it anew; so is what a class may carry by it. */
const worked = new WeakMap<object, Map<MachineClass, ReadonlySet<string>>>()
const allowedIn = (actor_type: MachineClass, allowed_scopes: TokenPolicy['allowed_scopes']): ReadonlySet<string> => {
  const known = worked.get(allowed_scopes) ?? new Map<MachineClass, ReadonlySet<string>>()
  worked.set(allowed_scopes, known)
  const allowed = known.get(actor_type) ?? allowedFor(actor_type, allowed_scopes)
  known.set(actor_type, allowed)
  return allowed
}

/** Of what is asked for, or of everything: what is held, can be carried and is allowed. */
const grantedScope = (asked: string | undefined, { actor_type, held }: Bound, { allowed_scopes }: TokenPolicy): string[] => {
  const can_carry = carriedInTokens(actor_type)
  const allowed = allowedIn(actor_type, allowed_scopes)
  const candidates = asked === undefined ? [...held].sort() : normaliseScope(asked)
  return candidates.filter((key) => held.has(key) && can_carry.has(key) && allowed.has(key))
}

/**
 * Whether a token is given, and which. Pure: the same request, record and policy come to the same token. A wish narrows; none widens.
 */
export const evaluateIssuance = (request: TokenRequest, bound: Bound, policy: TokenPolicy): Evaluation => {
  if (!isBoundSo(request, bound)) return { refused: 'binding' }
  const audience = request.audience ?? policy.default_audience
  if (!policy.allowed_audiences.includes(audience)) return { refused: 'audience' }
  const scope = grantedScope(request.scope, bound, policy)
  if (scope.length === 0) return { refused: 'scope' }
  // The lifetime of the class is a limit too: a tenant that lives by a shorter one means it.
  const longest = Math.min(policy.ttl_seconds, policy.max_ttl_seconds)
  return { granted: { audience, scope, ttl_seconds: Math.min(request.ttl_seconds ?? longest, longest) } }
}
