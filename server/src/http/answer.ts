import type { Operation } from '@gatehouse/contract/operation'
import type { Action } from '../authz/actions.ts'
import type { Work } from '../work/work.ts'

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

/** An operation and the verb that answers it. */
export interface Answer {
  readonly operation: Operation
  readonly verb: Verb<never, never, never, unknown>
}

/** Pairs them; an operation that names an action the registry does not have does not compile. */
export const answer = <P, Q, B, R, A extends Action>(operation: Operation<P, Q, B, R, A>, verb: Verb<P, Q, B, R>): Answer => ({
  operation: operation as Operation,
  verb: verb as Verb<never, never, never, unknown>,
})

/** A verb as its operation wants it: `Answering<typeof Op>`. */
export type Answering<O> = O extends Operation<infer P, infer Q, infer B, infer R> ? Verb<P, Q, B, R> : never

/** Reads one more row than asked for, to know whether there is more. */
export const listed = <Item, Row>(
  rows: readonly Row[],
  { limit }: Slice,
  placeOf: (row: Row) => string,
  itemOf: (row: Row) => Item,
): Listed<Item> => {
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  return { items: shown.map(itemOf), after: rows.length > limit && last !== undefined ? placeOf(last) : null }
}
