import type { Moment } from '#ground/epochs/moment.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { Trail } from '#ground/work/work.ts'
import type { Action } from '#rails/authz/actions.ts'
import { requireAllowed } from '#rails/authz/authorize.ts'
import type { Facts } from '#rails/authz/facts.ts'
import type { Place } from '#rails/authz/kind.ts'
import type { MachineClass } from './machine-class.ts'
import { narrowed, type Parent, untilEndOf } from './narrow.ts'
import { type Bound, evaluateIssuance, type Grant, type Refusal, type TokenPolicy, type TokenRequest } from './token-policy.ts'

export type Refusals = Readonly<Record<Refusal | 'subject', () => Problem>>

/** How somebody stands. */
interface Standing {
  readonly place: Place
  readonly facts: Facts
}

/** The token that is brought, and how its subject stands, if another asks; or why it cannot be exchanged, which is recorded. */
export type Exchange = { readonly parent: Parent; readonly subject: Standing | null } | { readonly refused: Problem; readonly why: string }

/** All that an issuance is judged by, as it was at one moment; its standing is that of who asks. */
export interface ToBeJudged extends Standing {
  /** Of whom the token is to be: of who asks, or of the one whose token they bring. */
  readonly bound: Bound
  /** Throws where a value is missing. */
  readonly policy: () => TokenPolicy
  readonly moment: Moment
  /** When the credential of who asks ends; null: never by itself. */
  readonly credential_ends_at: string | null
  /** Why the caller gets nothing, though the credential is theirs; recorded. */
  readonly refused?: { readonly problem: Problem; readonly why: string }
  /** What else it rests on, where it comes from another token. */
  readonly exchange?: Exchange
}

/** How refusals are called where nobody calls them otherwise. */
const usual: Refusals = {
  subject: () => new Problem('insufficient_permissions', { reason_code: 'permission_denied' }),
  binding: () => new Problem('insufficient_permissions', { reason_code: 'scope_mismatch' }),
  scope: () => new Problem('insufficient_permissions', { reason_code: 'scope_mismatch' }),
  audience: () => new Problem('validation_error', [{ in: 'body', field: 'audience', message: 'is not an allowed audience' }]),
}

/** A refusal with what the record says of it. */
export class Refusing extends Error {
  readonly problem: Problem
  readonly why: string
  constructor(problem: Problem, why: string) {
    super(why)
    this.problem = problem
    this.why = why
  }
}

/** What is asked of the engine before a token is issued: by its own tier for each class. */
const issuingOf = (type: MachineClass): Action => (type === 'shared_runtime_operator' ? 'shared_runtime.token.issue' : 'auth.token.issue')

const requireMayBeIssued = (trail: Trail, type: MachineClass, { place, facts }: Standing, refuse: (problem: Problem) => Refusing): void => {
  try {
    // Unknown is only who was not verified, so this is never said.
    requireAllowed(trail, { alternatives: [issuingOf(type)], kind: { type, missing: 'token_invalid' }, place, is_there: true }, facts)
  } catch (error) {
    throw error instanceof Problem ? refuse(error) : error
  }
}

/** The decisions and the policies: whether, and if so which token. */
export const judged = (trail: Trail, asking: ToBeJudged, request: TokenRequest, refusals: Refusals = usual): Grant => {
  const { bound, policy, refused, exchange, moment, credential_ends_at } = asking
  if (refused) throw new Refusing(refused.problem, refused.why)
  requireMayBeIssued(trail, bound.actor_type, asking, (problem) => new Refusing(problem, 'decision'))
  if (exchange && 'refused' in exchange) throw new Refusing(exchange.refused, exchange.why)
  if (exchange?.subject)
    requireMayBeIssued(trail, bound.actor_type, exchange.subject, () => new Refusing(refusals.subject(), 'decision_on_subject'))
  let limits: TokenPolicy
  try {
    limits = policy()
  } catch (error) {
    throw error instanceof Problem ? new Refusing(error, 'policy') : error
  }
  const issued_at = moment.now
  const until_end = untilEndOf(credential_ends_at, limits, issued_at)
  if (!until_end) throw new Refusing(new Problem('token_invalid'), 'key_expired')
  const by = { bound, policy: until_end, issued_at }
  const within = exchange ? narrowed(exchange.parent, by) : by
  const evaluated = evaluateIssuance(request, within.bound, within.policy)
  if ('refused' in evaluated) throw new Refusing(refusals[evaluated.refused](), evaluated.refused)
  return evaluated.granted
}
