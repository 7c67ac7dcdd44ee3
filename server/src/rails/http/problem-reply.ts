import { explain } from '@gatehouse/contract/decisions'
import type { Operation } from '@gatehouse/contract/operation'
import type { ProblemDetails } from '@gatehouse/contract/problem-details'
import { type ProblemCode, problems } from '@gatehouse/contract/problems'
import { proofAlgorithms } from '@gatehouse/contract/proofs'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { JsonRefused } from '#ground/kernel/json-refused.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { Actor } from '#ground/work/work.ts'
import { guardHeaders } from './guard-headers.ts'
import { clientChallenge, isTokenShown, oauthRefusal } from './oauth-reply.ts'
import { validationDetails } from './validation.ts'

const fastifyCodes: Record<string, ProblemCode> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_BAD_URL: 'invalid_request',
}

/** Who reads keys says in one way that a text is none, also where it could not even be read as a text. */
const isInKey = (member: string | undefined, operation: Operation | undefined): boolean =>
  member === 'public_key' && operation?.problems.includes('invalid_key') === true

/** Whatever was thrown, as a problem: known ones as they are, the framework's by name, everything else is our own fault. */
export const asProblem = (error: unknown, operation?: Operation): Problem => {
  if (error instanceof Problem) return error
  if (error instanceof JsonRefused && isInKey(error.member, operation)) return new Problem('invalid_key', { detail: 'not_one_line' })
  if (error instanceof JsonRefused) return new Problem('invalid_request', { because: error.message })
  const { validation, validationContext, code, statusCode } = error as Partial<FastifyError>
  if (validation) return new Problem('validation_error', validationDetails(validation as never, validationContext))
  const named = fastifyCodes[code ?? '']
  if (named) return new Problem(named, undefined, error)
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) return new Problem('invalid_request', undefined, error)
  return new Problem('internal_error', undefined, error)
}

/**
 * A refused caller learns which action was missing and where to ask why. Both follow from the operation and the class of the actor, so they
 * reveal nothing that exists.
 */
const guided = ({ code, details }: Problem, operation: Operation | undefined, actor: Actor | null): ProblemDetails | undefined => {
  if (code !== 'insufficient_permissions' || !operation) return details
  const action = details?.action ?? operation.actions[0]!
  const mayAsk = actor !== null && details?.reason_code !== 'actor_disabled' && explain.actors.includes(actor.type as never)
  return { ...details, action, ...(mayAsk ? { explain_path: explain.path } : {}) }
}

const problemBody = ({ code, message }: Problem, correlation_id: string, details?: ProblemDetails) => ({
  code,
  message,
  correlation_id,
  ...(details === undefined ? {} : { details }),
})

const retryAfterSeconds = (problem: Problem): number | undefined => {
  return problem.details?.retry_after_seconds ?? (problem.status === 503 ? 1 : undefined)
}

/** In the manner in which a token was shown; a caller who showed a bound token as a bearer token is told to use DPoP. */
const challenge = ({ code }: Problem, authorization: string | undefined): string => {
  if (code === 'token_missing') return 'Bearer'
  // There is no registered name for it; the handshake is where one is shown.
  if (code === 'certificate_missing') return 'Certificate'
  const error = code === 'proof_invalid' ? 'invalid_dpop_proof' : 'invalid_token'
  const isBound = code === 'proof_invalid' || /^dpop /i.test(authorization ?? '')
  return isBound ? `DPoP error="${error}", algs="${proofAlgorithms.join(' ')}"` : `Bearer error="${error}"`
}

export const replyWithProblem = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
  const { operation } = request
  const problem = asProblem(error, operation)
  request.problem_code = problem.code
  if (problem.status >= 500)
    request.log.error({ correlation_id: request.id, err: problem.cause ?? error, code: problem.code }, 'request failed')
  const retry = retryAfterSeconds(problem)
  if (retry !== undefined) reply.header('retry-after', retry)
  const { authorization } = request.headers
  const isOAuth = operation?.speaks === 'oauth'
  const isShown = isTokenShown(authorization)
  const { status, body } = isOAuth
    ? oauthRefusal(problem, isShown && operation.identified_by === 'client')
    : { status: problem.status, body: problemBody(problem, request.id, guided(problem, operation, request.actor)) }
  if (status === 401) reply.header('www-authenticate', isOAuth && !isShown ? clientChallenge : challenge(problem, authorization))
  return reply.code(status).type('application/json; charset=utf-8').serializer(JSON.stringify).send(body)
}

/** For what never became a request: the bytes are written by hand, then the connection ends. */
export const rawProblem = (code: ProblemCode, correlation_id: string): string => {
  const body = JSON.stringify(problemBody(new Problem(code), correlation_id))
  return [
    `HTTP/1.1 ${problems[code].status} Refused`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${correlation_id}`,
    `x-correlation-id: ${correlation_id}`,
    ...Object.entries(guardHeaders).map(([name, value]) => `${name}: ${value}`),
    'connection: close',
    '',
    body,
  ].join('\r\n')
}
