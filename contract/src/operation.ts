import Type, { type Static, type TProperties, type TSchema } from 'typebox'
import type { ProblemCode } from './problems.ts'
import { Exactly, Page } from './shapes.ts'

export const actorTypes = ['user', 'service_account', 'shared_runtime_operator', 'workload', 'node_agent', 'platform_operator'] as const
export type ActorType = (typeof actorTypes)[number]

/** `read` changes nothing and leaves no record; `recorded_read` is a read worth a record; `change` changes something and is recorded. */
export type Effect = 'read' | 'recorded_read' | 'change'
export type IdentifiedBy = 'bearer' | 'credential' | 'client' | 'certificate'
/** At which door it is asked: the API's, or that of nodes, which show certificates of our authority. */
export type Listener = 'api' | 'nodes'
export type Speech = 'json' | 'oauth'
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

/**
 * One thing the world may ask, declared once. Validation, types, serialisation, OpenAPI, the actor allowlist and the documents
 * are derived from it. The type parameters hold the computed types, so that nobody downstream computes them again.
 */
export interface Operation<P = unknown, Q = unknown, B = unknown, R = unknown, A extends string = string> {
  readonly id: string
  readonly method: Method
  readonly path: string
  readonly summary: string
  readonly description: string | undefined
  readonly actors: readonly ActorType[]
  /** The action that is judged; several are alternatives in a fixed order, of which one must be allowed. */
  readonly actions: readonly A[]
  readonly effect: Effect
  /**
   * The actions of its audit rows. The first names the act, done or refused alike; the others are outcomes that are recorded in its place.
   */
  readonly recorded_as: readonly string[]
  readonly params: TSchema
  readonly query: TSchema
  readonly body: TSchema | undefined
  readonly reply: TSchema | undefined
  readonly success: 200 | 201 | 202 | 204
  /** Where the verb says that it was so already (`Again`). */
  readonly success_again: 200 | undefined
  readonly is_paged: boolean
  /** A list that can also be taken away as JSON Lines, with `format=jsonl`. */
  readonly is_exportable: boolean
  /** The answer holds secret material: it is never stored, replayed or cached. */
  readonly is_secret_reply: boolean
  /**
   * How the caller says who they are: by a bearer token; by a credential in the request itself, which the verb verifies; as an
   * OAuth client does, which is either of both; or by the certificate of their connection.
   */
  readonly identified_by: IdentifiedBy
  readonly listener: Listener
  /** In which manner it is asked and refused: in JSON with our problems, or in forms with the errors of OAuth. */
  readonly speaks: Speech
  /** What makes a repeat of a change one: the caller's `Idempotency-Key`, or what is sent itself. What is no change, or a GET, needs neither. */
  readonly repeated_by: 'key' | 'request' | undefined
  /** The project may be named by `X-Project-ID`, since the path has none. */
  readonly takes_project_header: boolean
  /** The member of the body that names what is asked for, of a shape that no secret has: what is refused is recorded with it. */
  readonly target_named_by: string | undefined
  /** Asks the engine and nothing else: answered without a transaction of its own, and counted against the limit for decisions. */
  readonly is_decision: boolean
  readonly problems: readonly ProblemCode[]
  /** Exists only in the types. */
  readonly types?: { readonly params: P; readonly query: Q; readonly body: B; readonly reply: R }
}

interface Declared<P extends TProperties, Q extends TProperties, B extends TSchema, R extends TSchema, A extends string> {
  id: string
  method: Method
  path: string
  summary: string
  description?: string
  actors: readonly ActorType[]
  action: A | readonly A[]
  effect: Effect
  /** Its own id, where nothing is said. */
  recorded_as?: string | readonly string[]
  params?: P
  query?: Q
  body?: B
  reply?: R
  success?: 200 | 201 | 202 | 204
  success_again?: 200
  is_secret_reply?: boolean
  identified_by?: IdentifiedBy
  listener?: Listener
  speaks?: Speech
  repeated_by?: 'request'
  takes_project_header?: boolean
  target_named_by?: keyof Static<B> & string
  is_decision?: boolean
  problems: readonly ProblemCode[]
}

type Members<P extends TProperties> = Static<ReturnType<typeof Exactly<P>>>
// biome-ignore lint/complexity/noBannedTypes: an operation without parameters has an object without members
type None = {}

export const operation = <
  P extends TProperties = None,
  Q extends TProperties = None,
  B extends TSchema = TSchema,
  R extends TSchema = TSchema,
  const A extends string = string,
>(
  declared: Declared<P, Q, B, R, A>,
): Operation<Members<P>, Members<Q>, Static<B>, Static<R>, A> => ({
  id: declared.id,
  method: declared.method,
  path: declared.path,
  summary: declared.summary,
  description: declared.description,
  actors: declared.actors,
  actions: typeof declared.action === 'string' ? [declared.action] : declared.action,
  effect: declared.effect,
  recorded_as: [declared.recorded_as ?? declared.id].flat(),
  params: Exactly(declared.params ?? {}),
  query: Exactly(declared.query ?? {}),
  body: declared.body,
  reply: declared.reply,
  success: declared.success ?? (declared.reply ? 200 : 204),
  success_again: declared.success_again,
  is_paged: false,
  is_exportable: false,
  is_secret_reply: declared.is_secret_reply ?? false,
  identified_by: declared.identified_by ?? 'bearer',
  listener: declared.listener ?? 'api',
  speaks: declared.speaks ?? 'json',
  repeated_by: declared.effect === 'change' && declared.method !== 'GET' ? (declared.repeated_by ?? 'key') : undefined,
  takes_project_header: declared.takes_project_header ?? false,
  target_named_by: declared.target_named_by,
  is_decision: declared.is_decision ?? false,
  problems: declared.problems,
})

const exported =
  '`jsonl`: JSON Lines (`application/x-ndjson`), one row a line; the next cursor is in the header `X-Next-Cursor`, and without `limit` up to 10 000 rows come at once.'

/** A list: `limit` and `cursor` are added to the query, the items come in a stable order. */
export const listOperation = <
  P extends TProperties = None,
  Q extends TProperties = None,
  I extends TSchema = TSchema,
  const A extends string = string,
>({
  item,
  query,
  problems,
  is_exportable = false,
  ...declared
}: Omit<Declared<P, Q, TSchema, TSchema, A>, 'body' | 'reply' | 'success' | 'method' | 'effect'> & {
  item: I
  effect?: Effect
  is_exportable?: boolean
}) => {
  const listed = operation({
    ...declared,
    method: 'GET',
    effect: declared.effect ?? 'read',
    query: {
      ...query,
      ...(is_exportable ? { format: Type.Optional(Type.String({ enum: ['json', 'jsonl'], description: exported })) } : {}),
      limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
      cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 2048, pattern: '^[A-Za-z0-9_-]+$' })),
    },
    reply: Page(item),
    problems: ['cursor_invalid', ...problems],
  })
  return { ...listed, is_paged: true, is_exportable } as Operation<
    Members<P>,
    Members<Q> & { limit?: number; cursor?: string; format?: 'json' | 'jsonl' },
    unknown,
    { items: Static<I>[]; next_cursor: string | null },
    A
  >
}

export type Input<O> = O extends Operation<infer P, infer Q, infer B, unknown> ? { params: P; query: Q; body: B } : never
export type Reply<O> = O extends Operation<unknown, unknown, unknown, infer R> ? R : never
