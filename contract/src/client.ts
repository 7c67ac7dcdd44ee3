import { type CallError, fits, NoAnswerError, ProblemError, readAnswer, UnexpectedAnswerError } from './answers.ts'
import type { Operation } from './operation.ts'
import type { Id } from './shapes.ts'

export { NoAnswerError, ProblemError, UnexpectedAnswerError } from './answers.ts'

export interface ClientSettings {
  /** Where the server is; a path in it comes before those of the operations. */
  readonly url: string
  /**
   * The token to show, which nobody here looks into. Asked before each try. When one was not accepted, it is asked once more with that one: another
   * is tried, the same one is not.
   */
  readonly token?: (refused?: string) => Promise<string>
  readonly fetch?: typeof fetch
  /** Of one try, to the last byte of the answer. */
  readonly timeout_ms?: number
  /** How often it is asked at most, where asking again does no harm. */
  readonly tries?: number
  readonly first_pause_ms?: number
  /** Whoever is told to come back later than this is told so instead of waiting. */
  readonly longest_pause_ms?: number
  readonly longest_answer_bytes?: number
}

/** An id is any text to whoever writes it down; the server tells what it names. */
type Plain<T> = T extends Id<string> ? string : T extends string ? T : T extends object ? { [K in keyof T]: Plain<T[K]> } : T
// biome-ignore lint/complexity/noBannedTypes: an input of which nothing is required
type Nothing = {}
type Given<K extends string, T> = Nothing extends T ? { readonly [_ in K]?: Plain<T> } : { readonly [_ in K]: Plain<T> }

export type Asking<P, Q, B> = Given<'params', P> &
  Given<'query', Q> &
  (unknown extends B ? Nothing : { readonly body: Plain<B> }) & {
    /** For a change; one is made up otherwise. Give the same to ask for the same change again. */
    readonly idempotency_key?: string
    readonly signal?: AbortSignal
  }
type Asked<P, Q, B> = Nothing extends Asking<P, Q, B> ? [asking?: Asking<P, Q, B>] : [asking: Asking<P, Q, B>]

interface Loose {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Readonly<Record<string, unknown>> & { readonly cursor?: unknown }
  readonly body?: unknown
  readonly idempotency_key?: string
  readonly signal?: AbortSignal
}

interface PageOf<I> {
  readonly items: I[]
  readonly next_cursor: string | null
}

export interface Client {
  readonly call: <P, Q, B, R>(operation: Operation<P, Q, B, R>, ...asked: Asked<P, Q, B>) => Promise<R>
  /** A list, page by page. What has become invalid on the way is thrown as it comes; begin anew then. */
  readonly pages: <P, Q, B, I>(operation: Operation<P, Q, B, PageOf<I>>, ...asked: Asked<P, Q, B>) => AsyncGenerator<I[], void>
  readonly each: <P, Q, B, I>(operation: Operation<P, Q, B, PageOf<I>>, ...asked: Asked<P, Q, B>) => AsyncGenerator<I, void>
}

/** Says nothing about what was done, or that nothing was; a moment later it may be otherwise. */
const isPassing = (error: CallError): boolean =>
  error instanceof NoAnswerError ||
  [429, 502, 503, 504].includes(error.status) ||
  // An earlier try of ours, whose answer was lost, is still at it.
  (error instanceof ProblemError && error.code === 'idempotency_in_progress')

const isCallError = (error: unknown): error is CallError =>
  error instanceof ProblemError || error instanceof UnexpectedAnswerError || error instanceof NoAnswerError

/** What a header can hold without being read as two. */
const visible = /^[\x21-\x7e]+$/

/** Nothing is changed by it, or a second time is known as such. */
const mayRepeat = ({ effect, repeated_by }: Operation): boolean => effect !== 'change' || repeated_by !== undefined

const pathOf = (operation: Operation, params: Readonly<Record<string, string>>): string => {
  // What stands in a path must be what it says it is: an id with dots and slashes would lead elsewhere.
  if (!fits(operation.params, params)) throw new TypeError(`${operation.id}: its parameters do not fit`)
  return operation.path.replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name]!))
}

const originOf = (url: string): URL => {
  const at = URL.canParse(url) ? new URL(url) : undefined
  const isPlain = at && at.username === '' && at.password === '' && at.search === '' && at.hash === ''
  // Not repeated: a password may stand in it.
  if (!isPlain || !['http:', 'https:'].includes(at.protocol)) throw new TypeError('url must be that of an HTTP server, and nothing more')
  return at
}

const pause = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      reject(signal!.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', end)
      resolve()
    }, ms)
    signal?.addEventListener('abort', end, { once: true })
    if (signal?.aborted) end()
  })

/** Longer each time up to a bound, and never all callers at the same moment. */
const pauseAfter = (failures: number, first_ms: number, longest_ms: number): number => {
  const longest = Math.min(longest_ms, first_ms * 2 ** Math.min(failures - 1, 20))
  return longest / 2 + (Math.random() * longest) / 2
}

/** The operations of the contract, called: what is sent and what comes back have the types that the operation declares. */
export const client = ({
  url,
  token,
  fetch: send = fetch,
  timeout_ms = 15_000,
  tries = 4,
  first_pause_ms = 250,
  longest_pause_ms = 10_000,
  longest_answer_bytes = 16 * 1024 * 1024,
}: ClientSettings): Client => {
  const origin = originOf(url)

  const addressOf = (operation: Operation, { params = {}, query = {} }: Loose): URL => {
    const at = new URL(origin)
    at.pathname = `${at.pathname.replace(/\/$/, '')}${pathOf(operation, params)}`
    for (const [name, value] of Object.entries(query)) if (value !== undefined) at.searchParams.append(name, String(value))
    return at
  }

  const shownFor = async (operation: Operation, refused?: string): Promise<string | undefined> => {
    if (!token || operation.identified_by === 'credential') return undefined
    const shown = await token(refused)
    // The platform would say the whole header when it refuses it.
    if (!visible.test(shown)) throw new TypeError('the token is not one that can be shown')
    return shown
  }

  const ask = async (operation: Operation, loose: Loose, key: string | undefined, shown: string | undefined): Promise<unknown> => {
    const { body, signal } = loose
    const timeout = AbortSignal.timeout(timeout_ms)
    const at = addressOf(operation, loose)
    const sent: RequestInit = {
      method: operation.method,
      // Wherever it points, the token was not meant for there.
      redirect: 'manual',
      headers: {
        accept: 'application/json',
        ...(shown === undefined ? {} : { authorization: `Bearer ${shown}` }),
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(key === undefined ? {} : { 'idempotency-key': key }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    }
    try {
      return await readAnswer(operation, await send(at, sent), longest_answer_bytes)
    } catch (error) {
      if (isCallError(error)) throw error
      if (signal?.aborted) throw signal.reason
      if (timeout.aborted) throw new NoAnswerError(operation.id, 'no answer in time')
      // The cause's code and no more: messages of the platform may hold what was sent.
      const { code } = ((error as Error).cause ?? error) as { code?: unknown }
      throw new NoAnswerError(operation.id, typeof code === 'string' ? code : 'the connection ended')
    }
  }

  /** With the token that there is, and once more with another where that one is not accepted: nothing was done then. */
  const askAs = async (operation: Operation, loose: Loose, key: string | undefined): Promise<unknown> => {
    const shown = await shownFor(operation)
    try {
      return await ask(operation, loose, key, shown)
    } catch (error) {
      if (!(error instanceof ProblemError) || error.status !== 401 || shown === undefined) throw error
      const another = await shownFor(operation, shown)
      if (another === shown) throw error
      return ask(operation, loose, key, another)
    }
  }

  const callLoosely = async (operation: Operation, loose: Loose): Promise<unknown> => {
    if (operation.listener !== 'api' || operation.speaks !== 'json') throw new TypeError(`${operation.id} is not asked in this manner`)
    const key = operation.repeated_by === 'key' ? (loose.idempotency_key ?? crypto.randomUUID()) : undefined
    if (key !== undefined && !visible.test(key)) throw new TypeError(`${operation.id}: its idempotency key does not fit`)
    for (let tried = 1; ; tried += 1) {
      try {
        return await askAs(operation, loose, key)
      } catch (error) {
        // What went wrong where the token is got has been tried again there.
        const isOurs = isCallError(error) && error.operation_id === operation.id
        if (!isOurs || !isPassing(error) || !mayRepeat(operation) || tried >= tries) throw error
        const told_ms = (error.retry_after_seconds ?? 0) * 1000
        if (told_ms > longest_pause_ms) throw error
        await pause(told_ms + pauseAfter(tried, first_pause_ms, longest_pause_ms), loose.signal)
      }
    }
  }

  async function* pagesOf(operation: Operation, loose: Loose): AsyncGenerator<unknown[], void> {
    let cursor = loose.query?.cursor
    for (;;) {
      const page = (await callLoosely(operation, { ...loose, query: { ...loose.query, cursor } })) as PageOf<unknown>
      yield page.items
      if (page.next_cursor === null) return
      if (page.next_cursor === cursor) throw new UnexpectedAnswerError(operation.id, operation.success, 'the list does not go on')
      cursor = page.next_cursor
    }
  }

  async function* eachOf(operation: Operation, loose: Loose): AsyncGenerator<unknown, void> {
    for await (const items of pagesOf(operation, loose)) yield* items
  }

  return {
    call: (operation: Operation, asking: Loose = {}) => callLoosely(operation, asking),
    pages: (operation: Operation, asking: Loose = {}) => pagesOf(operation, asking),
    each: (operation: Operation, asking: Loose = {}) => eachOf(operation, asking),
  } as Client
}
