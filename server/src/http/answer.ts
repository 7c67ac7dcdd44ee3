import type { ActorType, Operation } from '@gatehouse/contract/operation'
import type { Action } from '../authz/actions.ts'
import type { FreshReader } from '../epochs/fresh.ts'
import type { Actor, Trail, Work } from '../work/work.ts'

/** Where in a list to go on, and how far. */
export interface Slice {
  readonly limit: number
  readonly after: string | null
}

/** What a list verb returns: `after` is the place of its last item if there are more. */
export interface Listed<Item> {
  readonly items: readonly Item[]
  readonly after: string | null
}

/** A list told as JSON Lines: the same rows, one a line, for those who take them away. */
export class Lines<Item> implements Listed<Item> {
  readonly items: readonly Item[]
  readonly after: string | null
  constructor(items: readonly Item[], after: string | null) {
    this.items = items
    this.after = after
  }
}

type Answered<R> = R extends { items: (infer Item)[]; next_cursor: string | null } ? Listed<Item> : R

export type Verb<P, Q, B, R> = (work: Work, input: { params: P; query: Q; body: B; slice: Slice }) => Promise<Answered<R>>

/** Who asks the engine: no transaction, only reads that are proved to be no older than the request. */
export interface Asker {
  readonly actor: Actor & { readonly type: ActorType }
  readonly correlation_id: string
  readonly source_ip: string
  readonly fresh: FreshReader
  readonly trail: Trail
}

/** Answers a question to the engine, of which nothing is kept. */
export type Ask<P, Q, B, R> = (asker: Asker, input: { params: P; query: Q; body: B }) => Promise<R>

/** Whoever shows something, before it is known whose it is. */
export interface Showing {
  readonly correlation_id: string
  readonly fresh: FreshReader
  /**
   * To be called when it is known who he is, and before anything is written: from now on the request is his, and counts against his
   * limit. However often it is called, it counts once.
   */
  readonly identified: (actor: Actor) => Promise<void>
}

/** The first call does it, and all others have its outcome. */
export const identifiedOnce = (identified: Showing['identified']): Showing['identified'] => {
  let done: Promise<void> | undefined
  return (actor) => {
    done ??= identified(actor)
    return done
  }
}

/** Whoever brings a credential, before it is known whose it is. */
export interface Caller extends Showing {
  readonly source_ip: string
  readonly idempotency_key: string | undefined
  /** What he asked for, as the route is written. */
  readonly method: string
  readonly path: string
  /** The headers with which a client may say who it is. */
  readonly authorization: string | undefined
  readonly dpop: string | undefined
  readonly trail: Trail
}

/**
 * Answers with a credential. It verifies, decides, signs and commits by itself, in that order, because what is signed may be signed
 * elsewhere; its refusals it records itself.
 */
export type Issue<P, Q, B, R> = (caller: Caller, input: { params: P; query: Q; body: B }) => Promise<R>

/** An operation and the verb that answers it; or, where it only asks the engine, the question; or the issuer. */
export type Answer =
  | { readonly operation: Operation; readonly verb: Verb<never, never, never, unknown> }
  | { readonly operation: Operation; readonly ask: Ask<never, never, never, unknown> }
  | { readonly operation: Operation; readonly issue: Issue<never, never, never, unknown> }

/** Pairs them; an operation that names an action the registry does not have does not compile. */
export const answer = <P, Q, B, R, A extends Action>(operation: Operation<P, Q, B, R, A>, verb: Verb<P, Q, B, R>): Answer => ({
  operation: operation as Operation,
  verb: verb as Verb<never, never, never, unknown>,
})

export const answerAsking = <P, Q, B, R, A extends Action>(operation: Operation<P, Q, B, R, A>, ask: Ask<P, Q, B, R>): Answer => ({
  operation: operation as Operation,
  ask: ask as Ask<never, never, never, unknown>,
})

export const answerIssuing = <P, Q, B, R, A extends Action>(operation: Operation<P, Q, B, R, A>, issue: Issue<P, Q, B, R>): Answer => ({
  operation: operation as Operation,
  issue: issue as Issue<never, never, never, unknown>,
})

/** An issuer as its operation wants it: `Issuing<typeof Op>`. */
export type Issuing<O> = O extends Operation<infer P, infer Q, infer B, infer R> ? Issue<P, Q, B, R> : never

/** A question as its operation wants it: `Asking<typeof Op>`. */
export type Asking<O> = O extends Operation<infer P, infer Q, infer B, infer R> ? Ask<P, Q, B, R> : never

/** A verb as its operation wants it: `Answering<typeof Op>`. */
export type Answering<O> = O extends Operation<infer P, infer Q, infer B, infer R> ? Verb<P, Q, B, R> : never

/** A page of rows, of which one more was read than asked for, to know whether there is more. */
export const listed = <Row>(rows: readonly Row[], { limit }: Slice, placeOf: (row: Row) => string): Listed<Row> => {
  const items = rows.slice(0, limit)
  const last = items.at(-1)
  return { items, after: rows.length > limit && last !== undefined ? placeOf(last) : null }
}
