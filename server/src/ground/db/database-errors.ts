import { type ProblemCode, problems } from '@gatehouse/contract/problems'
import { Problem } from '../kernel/problem.ts'

const text = (error: unknown, member: 'code' | 'constraint' | 'message'): string => {
  const value = (error as Record<string, unknown> | null)?.[member]
  return typeof value === 'string' ? value : ''
}

const isProblemCode = (name: string): name is ProblemCode => Object.hasOwn(problems, name)

/** A lock was not given within the time that the statement was willing to wait. */
export const isLockTimeout = (error: unknown): boolean => text(error, 'code') === '55P03'

/**
 * Somebody else's lock or a slow statement held it up, which says nothing of what was asked: it can be asked again. What a verb has made
 * of it means something else.
 */
export const isHeldUp = (error: unknown): boolean => {
  if (error instanceof Problem && error.code !== 'dependency_unavailable') return false
  return ['55P03', '57014'].includes(text(error instanceof Problem ? error.cause : error, 'code'))
}

/** Lost a race that some serial order would have won or refused. */
export const worthRetrying = (error: unknown): boolean => ['40001', '40P01'].includes(text(error, 'code'))

/** What the database has against a row itself (its values, its references, a rule of its table), and not against being asked now. */
export const isRowFault = (error: unknown): boolean => /^(?:22|23|P0)/.test(text(error instanceof Problem ? error.cause : error, 'code'))

// Connection lost or refused, resources exhausted, server stopping, statement cancelled by its limit, read-only standby.
const unavailableStates = /^(08|28|53|55P03|57|58|25006)/
const unavailableErrors = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ENOENT', 'EHOSTUNREACH', 'ENOTFOUND', 'EAI_AGAIN'])
// What pg and its pool say without a code: a line that is silent, ended or closed, or none to be had in time.
const unavailableMessages = /timeout|terminated|Connection ended|not queryable|closed/i

/**
 * What a database error means to a caller. A constraint is named after the problem it guards against, so a lost race says
 * the same as a failed check. What we do not know stays as it is and becomes a 500.
 */
export const problemOf = (error: unknown): unknown => {
  if (error instanceof Problem) return error
  const code = text(error, 'code')
  const constraint = text(error, 'constraint')
  if (code.startsWith('23') && isProblemCode(constraint)) return new Problem(constraint, undefined, error)
  const isPostgres = error instanceof Error && error.constructor.name === 'DatabaseError'
  if (unavailableStates.test(code) || unavailableErrors.has(code) || worthRetrying(error))
    return new Problem('dependency_unavailable', undefined, error)
  if (error instanceof Error && !isPostgres && code === '' && unavailableMessages.test(error.message))
    return new Problem('dependency_unavailable', undefined, error)
  return error
}
