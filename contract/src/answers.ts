import type { TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { Clean } from 'typebox/value'
import type { Operation } from './operation.ts'
import { ProblemBody } from './shapes.ts'

/** What every failed call says: of which operation, and what it can be told apart by. */
interface Failed {
  readonly operation_id: string
  readonly retry_after_seconds: number | undefined
}

/** The server refused. `code` is one of `problems.ts`, or one that a later server knows. */
export class ProblemError extends Error implements Failed {
  override readonly name = 'ProblemError'
  readonly operation_id: string
  readonly status: number
  readonly code: string
  readonly reason_code: string | null
  readonly correlation_id: string
  readonly retry_after_seconds: number | undefined
  readonly details: unknown

  constructor(operation_id: string, status: number, problem: ProblemBody, retry_after_seconds?: number) {
    const reason = (problem.details as { reason_code?: unknown } | undefined)?.reason_code
    const reason_code = typeof reason === 'string' ? reason : null
    super(`${operation_id}: ${status} ${problem.code}${reason_code === null ? '' : ` (${reason_code})`}`)
    this.operation_id = operation_id
    this.status = status
    this.code = problem.code
    this.reason_code = reason_code
    this.correlation_id = problem.correlation_id
    this.retry_after_seconds = retry_after_seconds
    this.details = problem.details
  }
}

/** Something answered, and not as the contract says. What it said is not repeated: nobody knows what is in it. */
export class UnexpectedAnswerError extends Error implements Failed {
  override readonly name = 'UnexpectedAnswerError'
  readonly operation_id: string
  readonly status: number
  readonly retry_after_seconds: number | undefined

  constructor(operation_id: string, status: number, why: string, retry_after_seconds?: number) {
    super(`${operation_id}: ${status} ${why}`)
    this.operation_id = operation_id
    this.status = status
    this.retry_after_seconds = retry_after_seconds
  }
}

/** No answer came, or not the whole of it. Whether it was heard is not known. */
export class NoAnswerError extends Error implements Failed {
  override readonly name = 'NoAnswerError'
  readonly operation_id: string
  readonly retry_after_seconds = undefined

  constructor(operation_id: string, why: string) {
    super(`${operation_id}: ${why}`)
    this.operation_id = operation_id
  }
}

export type CallError = ProblemError | UnexpectedAnswerError | NoAnswerError

const checks = new WeakMap<TSchema, (value: unknown) => boolean>()
export const fits = (schema: TSchema, value: unknown): boolean => {
  const known = checks.get(schema)
  if (known) return known(value)
  const validator = Compile(schema)
  const check = (told: unknown) => validator.Check(told)
  checks.set(schema, check)
  return check(value)
}

/** Seconds, or a date; what is neither says nothing. */
export const retryAfter = (said: string | null, now: number): number | undefined => {
  if (said === null) return undefined
  if (/^\d+$/.test(said)) return Number(said)
  // Whatever else the platform would read as a date is none of HTTP's.
  const at = /^[A-Z][a-z]{2}, /.test(said) ? Date.parse(said) : Number.NaN
  return Number.isNaN(at) ? undefined : Math.max(0, Math.ceil((at - now) / 1000))
}

const TooLong = Symbol('too long')

/** Never more than so many bytes, whatever was announced, and counted as they come out of any compression. */
const textOf = async (response: Response, most_bytes: number): Promise<string | typeof TooLong> => {
  if (response.body === null) return ''
  const decoder = new TextDecoder()
  let text = ''
  let size = 0
  // Leaving the loop early ends the stream, and with it the connection.
  for await (const chunk of response.body) {
    size += chunk.byteLength
    if (size > most_bytes) return TooLong
    text += decoder.decode(chunk, { stream: true })
  }
  return text + decoder.decode()
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What the operation promises, or the error that was meant. Members that only a later server knows are left out. */
export const readAnswer = async (operation: Operation, response: Response, most_bytes: number): Promise<unknown> => {
  const { id, reply } = operation
  const { status } = response
  const retry = retryAfter(response.headers.get('retry-after'), Date.now())
  const unexpected = (why: string) => new UnexpectedAnswerError(id, status, why, retry)
  if (status >= 300 && status < 400) {
    await response.body?.cancel()
    throw unexpected('it points elsewhere, and is not followed')
  }
  const text = await textOf(response, most_bytes)
  if (text === TooLong) throw unexpected('the answer is too long')
  const told = parsed(text)
  if (status >= 400)
    throw fits(ProblemBody, told) ? new ProblemError(id, status, told as ProblemBody, retry) : unexpected('says no problem')
  if (status !== operation.success && status !== operation.success_again) throw unexpected('is not the status of success')
  if (reply === undefined) return undefined
  if (fits(reply, told)) return told
  const known = Clean(reply, told)
  if (fits(reply, known)) return known
  throw unexpected('the answer has not the shape that was promised')
}
