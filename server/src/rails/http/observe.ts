import { type ProblemCode, problems } from '@gatehouse/contract/problems'
import type { FastifyBaseLogger, FastifyReply, FastifyRequest } from 'fastify'
import type { Metrics } from '#ground/telemetry/metrics.ts'
import { beginRequestSpan } from '#ground/telemetry/spans.ts'
import type { ActorClasses } from '../authz/actor-class.ts'

/** Told of every request that was answered 401, with where it came from. */
export type OnRejected = (code: string, address: string) => void

export interface Observers {
  /** The address that a request comes from, also behind a trusted proxy. */
  readonly sourceOf: (request: FastifyRequest) => string
  readonly metrics: Metrics
  readonly onRejected: OnRejected
  readonly actors: ActorClasses
}

/** Asked many times a minute by machines: worth a line only if the answer is not the usual one. */
const probes = new Set(['/healthz', '/readyz'])

/** What a request is called in logs, metrics and traces. Never its address, which holds ids and whatever else the caller wrote. */
interface Name {
  readonly operation: string
  readonly route: string
}

const bytesOf = (reply: FastifyReply): number | undefined => {
  const length = Number(reply.getHeader('content-length'))
  return Number.isSafeInteger(length) ? length : undefined
}

const ended = (
  request: FastifyRequest,
  reply: FastifyReply,
  { operation, route }: Name,
  { metrics, onRejected, actors }: Observers,
): void => {
  const { actor, problem_code: code, method, span } = request
  // The caller went away before the answer was out: nobody read a status, so none is claimed.
  const status = reply.raw.writableFinished ? reply.statusCode : 499
  const seconds = reply.elapsedTime / 1000
  metrics.requestEnded({ operation, method, status, seconds })
  if (status === 429) metrics.rateLimited(actor ? (actors[actor.type].rate === 'api' ? 'user' : 'machine') : 'anonymous')
  if (status === 401 && code !== null) {
    metrics.tokenRejected(code)
    onRejected(code, request.source_ip)
  }
  span.end({ status, code: code ?? undefined, actor_type: actor?.type })
  request.log[probes.has(route) && status === 200 ? 'debug' : 'info'](
    {
      correlation_id: request.id,
      operation,
      method,
      route,
      status,
      code: code ?? undefined,
      actor_type: actor?.type,
      actor_id: actor?.id,
      milliseconds: Math.round(seconds * 10_000) / 10,
      bytes: bytesOf(reply),
      trace_id: span.trace_id,
    },
    'request',
  )
}

/** From here on the request is counted, traced, and has its line when it is over, however it ends. */
export const observe = (request: FastifyRequest, reply: FastifyReply, observers: Observers): void => {
  // Made anew each time somebody asks for it, so it is asked for once.
  const { url: route = 'none', config } = request.routeOptions
  request.operation = config.operation
  request.source_ip = observers.sourceOf(request)
  const operation = config.operation?.id ?? route
  const { traceparent } = request.headers
  observers.metrics.requestBegan()
  request.span = beginRequestSpan({
    operation,
    method: request.method,
    route,
    correlation_id: request.id,
    traceparent: typeof traceparent === 'string' ? traceparent : undefined,
  })
  reply.raw.once('close', () => ended(request, reply, { operation, route }, observers))
}

/** What could not be read as a request is counted and told like one, without a name. */
export const noteUnread = (log: FastifyBaseLogger, { metrics }: Observers, correlation_id: string, code: ProblemCode): void => {
  const { status } = problems[code]
  metrics.requestBegan()
  metrics.requestEnded({ operation: 'none', method: 'none', status, seconds: 0 })
  log.info({ correlation_id, operation: 'none', status, code }, 'request')
}
