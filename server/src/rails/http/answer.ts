import type { ActorType, Operation } from '@gatehouse/contract/operation'
import type { Payer } from '#ground/db/database.ts'
import type { FreshReader } from '#ground/epochs/fresh.ts'
import type { Actor, Trail, Work } from '#ground/work/work.ts'
import type { Action } from '../authz/actions.ts'
import type { TenantTurns } from './tenant-turns.ts'

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

/** What was asked for was there already: answered with the operation's `success_again`. Where nothing changed, nothing is recorded. */
export class Again<R> {
  readonly reply: R
  readonly is_changed: boolean
  constructor(reply: R, is_changed: boolean) {
    this.reply = reply
    this.is_changed = is_changed
  }
}

type Answered<R> = R extends { items: (infer Item)[]; next_cursor: string | null } ? Listed<Item> : R

/** What was asked. `project_header` is what `X-Project-ID` named: for operations that say that they take it. `node_protocol` is what both sides speak, at the nodes' door. */
export interface Asked<P, Q, B> {
  readonly params: P
  readonly query: Q
  readonly body: B
  readonly slice: Slice
  readonly project_header: string | undefined
  readonly node_protocol: number
}

export type Verb<P, Q, B, R> = (work: Work, input: Asked<P, Q, B>) => Promise<Answered<R>>
/** The same where it may have been so already. */
export type VerbAgain<P, Q, B, R> = (work: Work, input: Asked<P, Q, B>) => Promise<R | Again<R>>

/**
 * Answers when there is something to answer with. Nothing is held meanwhile: it looks, waits, and looks again, each time in a transaction
 * of its own.
 */
export interface Waiting<P, Q, B, R> {
  /** A read: what to answer with nothing in it, and whether there is more. */
  readonly look: (work: Work, input: Asked<P, Q, B>) => Promise<{ readonly is_there: boolean; readonly nothing: R }>
  /** A change: takes what was seen; undefined where somebody else was faster. `Again` where it is nothing new to the record. */
  readonly take: (work: Work, input: Asked<P, Q, B>) => Promise<R | Again<R> | undefined>
  /** How long to wait at most, and what ends the wait early. `ending` is aborted when it is over; who aborts it ends it with nothing. */
  readonly wait: (
    input: Asked<P, Q, B>,
    ending: AbortController,
  ) => { readonly until_ms: number; readonly changed: (signal: AbortSignal) => Promise<void> }
}

/** Who asks the engine: no transaction, only reads that are proved to be no older than the request. */
export interface Asker {
  readonly actor: Actor & { readonly type: ActorType }
  readonly correlation_id: string
  readonly source_ip: string
  readonly fresh: FreshReader
  readonly trail: Trail
  readonly turns: TenantTurns
  /** To be called when it is known whose time it takes: what reading the request and writing the answer took is theirs, too. */
  readonly paidBy: (tenant: string) => void
}

/** Answers a question to the engine, of which nothing is kept. */
export type Ask<P, Q, B, R> = (asker: Asker, input: { params: P; query: Q; body: B }) => Promise<R>

/** Whoever shows something, before it is known whose it is. */
export interface Showing {
  readonly correlation_id: string
  readonly fresh: FreshReader
  /**
   * To be called when it is known who he is, and before anything is written: from now on the request is his, and counts against his
   * limit. However often it is called, it counts once. `requireStill` throws once that does not hold any more: a body may come long after.
   */
  readonly identified: (actor: Actor, requireStill?: () => Promise<unknown>) => Promise<void>
}

/** The first call does it, and all others have its outcome. */
export const identifiedOnce = (identified: Showing['identified']): Showing['identified'] => {
  let done: Promise<void> | undefined
  return (actor, requireStill) => {
    done ??= identified(actor, requireStill)
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
  readonly node_protocol: number
  readonly trail: Trail
  /**
   * To be called before something is issued, when it is known which tenant's time that takes: it comes back when that tenant has a turn, with the
   * account that the rest is charged to.
   */
  readonly turnOf: (tenant: string) => Promise<Payer>
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
  | { readonly operation: Operation; readonly waiting: Waiting<never, never, never, unknown> }

/** Pairs them; an operation that names an action the registry does not have does not compile. */
export const answer = <P, Q, B, R, A extends Action>(operation: Operation<P, Q, B, R, A>, verb: Verb<P, Q, B, R>): Answer => ({
  operation: operation as Operation,
  verb: verb as Verb<never, never, never, unknown>,
})

export const answerAgain = <P, Q, B, R, A extends Action>(operation: Operation<P, Q, B, R, A>, verb: VerbAgain<P, Q, B, R>): Answer => ({
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

export const answerWaiting = <P, Q, B, R, A extends Action>(operation: Operation<P, Q, B, R, A>, waiting: Waiting<P, Q, B, R>): Answer => ({
  operation: operation as Operation,
  waiting: waiting as Waiting<never, never, never, unknown>,
})

/** An issuer as its operation wants it: `Issuing<typeof Op>`. */
export type Issuing<O> = O extends Operation<infer P, infer Q, infer B, infer R> ? Issue<P, Q, B, R> : never

/** A question as its operation wants it: `Asking<typeof Op>`. */
export type Asking<O> = O extends Operation<infer P, infer Q, infer B, infer R> ? Ask<P, Q, B, R> : never

/** A verb as its operation wants it: `Answering<typeof Op>`. */
export type Answering<O> = O extends Operation<infer P, infer Q, infer B, infer R> ? Verb<P, Q, B, R> : never

export type AnsweringAgain<O> = O extends Operation<infer P, infer Q, infer B, infer R> ? VerbAgain<P, Q, B, R> : never
export type AnsweringWaiting<O> = O extends Operation<infer P, infer Q, infer B, infer R> ? Waiting<P, Q, B, R> : never

/** A page of rows, of which one more was read than asked for, to know whether there is more. */
export const listed = <Row>(rows: readonly Row[], { limit }: Slice, placeOf: (row: Row) => string): Listed<Row> => {
  const items = rows.slice(0, limit)
  const last = items.at(-1)
  return { items, after: rows.length > limit && last !== undefined ? placeOf(last) : null }
}
