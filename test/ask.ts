import type { Asking } from '../contract/src/client.ts'
import type { Operation } from '../contract/src/operation.ts'
import type { ProblemBody } from '../contract/src/shapes.ts'

interface Sent {
  readonly headers?: Readonly<Record<string, string>>
  /** The replica that is asked; the first server otherwise. */
  readonly base?: string | undefined
}

type Given<P, Q, B> = Asking<P, Q, B> & Sent
// biome-ignore lint/complexity/noBannedTypes: a request of which nothing is required
type Nothing = {}
export type Asked<P, Q, B> = Nothing extends Asking<P, Q, B> ? [given?: Given<P, Q, B>] : [given: Given<P, Q, B>]

/** The members of a problem; a test reads them where the server refused. */
type Refusal = Partial<ProblemBody>

/** The answer to an operation of the contract: its reply, or a problem. */
export interface Answer<R> {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: R & Omit<Refusal, keyof R>
}

/** The body of a request of this operation, for a step that takes it as an argument. */
export type BodyOf<O> =
  O extends Operation<infer P, infer Q, infer B, unknown> ? (Asking<P, Q, B> extends { readonly body: infer X } ? X : never) : never

interface Loose extends Sent {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>>
  readonly body?: unknown
  readonly idempotency_key?: string
}

/** The request that an operation declares, ready to be sent. */
export const requestOf = (operation: Operation, given: object = {}) => {
  const { params = {}, query = {}, body, headers = {}, idempotency_key, base } = given as Loose
  const at = operation.path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name]!))
  const search = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.append(name, String(value))
  return {
    path: search.size > 0 ? `${at}?${search}` : at,
    sending: {
      ...(body === undefined ? {} : { body }),
      headers: { ...(idempotency_key === undefined ? {} : { 'idempotency-key': idempotency_key }), ...headers },
    },
    base,
  }
}

/** The answer to a request outside the contract. */
export interface Answered {
  status: number
  headers: Headers
  // biome-ignore lint/suspicious/noExplicitAny: a test reads answers as a stranger would, without our types
  body: any
  text: string
}

export interface Sending {
  body?: unknown
  /** Sent as it is, instead of a body made from a value. */
  raw?: string | Uint8Array
  headers?: Record<string, string>
}

type Call = (person: string | null, method: string, path: string, sending?: Sending, base?: string) => Promise<Answered>

/** Asks an operation of the contract: request and answer have the types that it declares. */
export const askThrough =
  (call: Call) =>
  <P, Q, B, R>(
    person: string | null,
    operation: Operation<P, Q, B, R>,
    ...[given]: Asked<NoInfer<P>, NoInfer<Q>, NoInfer<B>>
  ): Promise<Answer<R>> => {
    const { path, sending, base } = requestOf(operation, given)
    return call(person, operation.method, path, sending, base)
  }
