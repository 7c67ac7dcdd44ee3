import { createHash, createHmac, hkdfSync } from 'node:crypto'
import { canonicalJson } from '@gatehouse/contract/canonical-json'
import type { Operation } from '@gatehouse/contract/operation'
import type { Database, Reader } from '#ground/db/database.ts'
import { isLockTimeout } from '#ground/db/database-errors.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { Secret } from '#ground/kernel/secret.ts'
import { holdsSecret } from '#ground/kernel/secret-in-text.ts'
import type { Actor, Asked, Work } from '#ground/work/work.ts'
import { authorizeAgain } from '../authz/authorize.ts'
import { Again } from './answer.ts'
import { answerStillKept, boundTheWait, forgetExpiredKeys, keepAnswer, keptAnswer, reserveKey } from './idempotency-queries.ts'

const wellFormed = /^[\x21-\x7e]{1,128}$/

/** The caller's idempotency key; one that is no key is refused rather than ignored. */
export const idempotencyKeyOf = (operation: Operation, header: string | string[] | undefined): string | undefined => {
  if (header === undefined || operation.repeated_by === undefined) return undefined
  if (typeof header !== 'string' || !wellFormed.test(header))
    throw new Problem('validation_error', [
      { in: 'header', field: 'idempotency-key', message: 'must be 1 to 128 visible ASCII characters' },
    ])
  // It is kept for a day, as it came.
  if (holdsSecret(header)) throw new Problem('validation_error', [{ in: 'header', field: 'idempotency-key', message: 'holds a secret' }])
  return header
}

/** With what a client says who it is: it may do so anew each time, as one that signs must, and asks the same. */
const sayingWho = ['client_id', 'client_secret', 'client_assertion', 'client_assertion_type']

const askedIn = ({ identified_by }: Operation, body: unknown): unknown => {
  if (identified_by !== 'client') return body
  return Object.fromEntries(Object.entries(body as object).filter(([name]) => !sayingWho.includes(name)))
}

interface Request {
  readonly params: unknown
  readonly query: unknown
  readonly body: unknown
  /** What the header names is asked for as if the body did. */
  readonly project_header?: string | undefined
}

export const requestHash = (operation: Operation, { params, query, body, project_header }: Request): string => {
  const asked = [operation.id, params, query, askedIn(operation, body)]
  return createHash('sha256')
    .update(canonicalJson(project_header === undefined ? asked : [...asked, project_header]))
    .digest('base64url')
}

export type RequestHash = typeof requestHash

/** Members of a body that are never told again, as their schema says. */
export const untoldMembers = ({ body }: Operation): string[] =>
  Object.entries((body as { properties?: Record<string, { writeOnly?: boolean }> } | undefined)?.properties ?? {})
    .filter(([, { writeOnly }]) => writeOnly === true)
    .map(([name]) => name)

/**
 * A secret that somebody thought of himself can be guessed, and whoever reads the table could try his guesses on a hash. So what a body
 * holds of such goes into it by a hash with a key.
 */
export const hashedRequests = (key: Secret): RequestHash => {
  const derived = Buffer.from(hkdfSync('sha256', key.reveal(), '', 'gatehouse request v1', 32))
  const blinded = (value: unknown) => createHmac('sha256', derived).update(canonicalJson(value)).digest('base64url')
  return (operation, input) => {
    const untold = untoldMembers(operation)
    if (untold.length === 0) return requestHash(operation, input)
    const hidden = Object.entries(input.body as object).map(([name, value]) => [name, untold.includes(name) ? blinded(value) : value])
    return requestHash(operation, { ...input, body: Object.fromEntries(hidden) })
  }
}

/** So long a duplicate waits for the first before it is told that it is in progress. */
export const usual_duplicate_wait_ms = 3000

/**
 * How long a duplicate waits for the lock of its key. With `until` (by `performance.now()`) the caller retries the transaction until then, because
 * each wait holds a connection. With `for_key` and `afterwards` they are the lock timeouts of one attempt.
 */
export type KeyWaits = { readonly until: number } | { readonly for_key: string; readonly afterwards: string }

/**
 * Takes the key for this work and returns undefined, or returns the answer that it had before. A concurrent duplicate waits on
 * the row of the first. An answer with content is judged again: who lost the right since does not get it replayed.
 */
export const answeredBefore = async (
  work: Work,
  operation: Operation,
  key: string,
  hash: string,
  waits: KeyWaits,
): Promise<{ reply: unknown } | undefined> => {
  const isOwn = 'for_key' in waits
  if (isOwn) await work.tx.one(boundTheWait(waits.for_key))
  const reserved = await work.tx.maybe(reserveKey(work.actor, key, hash, work.now)).catch((error: unknown) => {
    if (!isLockTimeout(error) || (!isOwn && performance.now() < waits.until)) throw error
    throw new Problem('idempotency_in_progress', undefined, error)
  })
  if (isOwn) await work.tx.one(boundTheWait(waits.afterwards))
  if (reserved) return undefined
  const kept = await work.tx.one(keptAnswer(work.actor, key))
  if (kept.request_hash !== hash) throw new Problem('idempotency_key_reused')
  if (operation.is_secret_reply) throw new Problem('credential_already_issued', { credential_session_id: kept.credential_session_id })
  await authorizeAgain(work, kept.reply === null ? [] : (kept.decided as Asked[]))
  const reply = kept.reply ?? undefined
  return { reply: kept.status === operation.success ? reply : new Again(reply, false) }
}

/**
 * For an answer with a secret in it, which is never given again: looks first whether the key was used, so that nothing is made in vain.
 * Whoever comes at the same moment is met by the key's row.
 */
export const requireUnanswered = async (reader: Pick<Reader, 'maybe'>, actor: Actor, key: string, hash: string): Promise<void> => {
  const kept = await reader.maybe(answerStillKept(actor, key))
  if (!kept) return
  if (kept.request_hash !== hash) throw new Problem('idempotency_key_reused')
  throw new Problem('credential_already_issued', { credential_session_id: kept.credential_session_id })
}

const sessionOf = (reply: unknown): string | null => {
  const id = (reply as { credential_session_id?: unknown } | undefined)?.credential_session_id
  return typeof id === 'string' ? id : null
}

/** Keeps the answer beside the change it tells of; of a secret one, only which credential it was. */
export const keep = async (work: Work, operation: Operation, key: string, reply: unknown): Promise<void> => {
  const [status, told] = reply instanceof Again ? [operation.success_again ?? operation.success, reply.reply] : [operation.success, reply]
  const text = operation.is_secret_reply || told === undefined ? null : JSON.stringify(told)
  const decided = JSON.stringify(work.trail.asked.filter((asked) => asked.allowed))
  await work.tx.one(keepAnswer(work.actor, key, status, text, decided, sessionOf(told)))
}

/** Kept answers have a day; called now and then by whoever has time. */
export const forgetOldAnswers = async (database: Database): Promise<void> => {
  await database.transaction('write', (tx) => tx.many(forgetExpiredKeys(tx.now)))
}
