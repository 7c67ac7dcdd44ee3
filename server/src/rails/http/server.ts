import type { ServerOptions } from 'node:https'
import type { TLSSocket } from 'node:tls'
import type { Listener, Operation } from '@gatehouse/contract/operation'
import type { ProblemCode } from '@gatehouse/contract/problems'
import fastify, { type FastifyInstance, type FastifyRequest, type FastifyServerOptions, LogController } from 'fastify'
import type { Fresh, FreshReader } from '#ground/epochs/fresh.ts'
import { newId } from '#ground/kernel/ids.ts'
import { Problem } from '#ground/kernel/problem.ts'
import { parseStrictJson } from '#ground/kernel/strict-json.ts'
import { createMetrics, type Metrics } from '#ground/telemetry/metrics.ts'
import type { RequestSpan } from '#ground/telemetry/spans.ts'
import type { Actor } from '#ground/work/work.ts'
import { allowedMethods } from './allowed-methods.ts'
import { type Answer, type Caller, identifiedOnce, type Showing } from './answer.ts'
import type { Rails } from './asking.ts'
import { chargeRequests } from './charge-requests.ts'
import { correlationIdOf } from './correlation.ts'
import { docFiles } from './docs.ts'
import { type PublicDocument, serveDocument } from './documents.ts'
import { drainOnClose } from './drain.ts'
import { serveFixed } from './fixed-files.ts'
import { serveFront } from './front.ts'
import { guardHeaders } from './guard-headers.ts'
import { serveHealth } from './health.ts'
import { requireDeclared } from './invariants.ts'
import { mount } from './mount.ts'
import { requireNoSecretIn } from './no-secret-in-body.ts'
import { spokenHere } from './node-protocol.ts'
import { noteUnread, type Observers, type OnRejected, observe } from './observe.ts'
import { openApiDocument } from './openapi.ts'
import { parseBodies } from './parse-bodies.ts'
import { asProblem, rawProblem, replyWithProblem } from './problem-reply.ts'
import { type Counter, requestCounter } from './rate.ts'
import {
  oneText,
  parseQuery,
  requireFewParameters,
  requireMedia,
  requireNoCredentialInQuery,
  requireOneAuthorization,
  requireOneHost,
  type ShownToken,
  settleRequest,
  shownTokenOf,
} from './read-request.ts'
import { compileSerializer } from './serialization.ts'
import { type IsTrusted, sourceAddress } from './source-address.ts'
import { bodyLimit, type ReadingCost, type StrangerCost, usualStrangerCost } from './stranger-cost.ts'
import { compileValidator } from './validation.ts'
import { Waits } from './waits.ts'

declare module 'fastify' {
  interface FastifyRequest {
    actor: Actor | null
    /** Where it comes from: the address of its connection, or the one that a trusted proxy named. */
    source_ip: string
    /** These two are set before anything else happens to a request. What is none of ours has no operation: a document, a probe, a wrong address. */
    operation: Operation | undefined
    span: RequestSpan
    /** Reads that are proved to be no older than this request. */
    fresh: FreshReader
    /** Throws where whoever was identified before the body came is so no more. */
    requireStill: (() => Promise<unknown>) | undefined
    problem_code: ProblemCode | null
    /** Once the body has been read. */
    reading: ReadingCost | undefined
    /** The tenant that pays for what it takes, once that is known. */
    paid_by: string | undefined
    /** When the answer began to be written. */
    written_from: number
  }
  interface FastifyInstance {
    /** A second wish to stop: ends the grace of a drain under way. */
    hurry: () => void
    /** Compresses the documents before somebody asks for them. */
    prepareDocs: () => Promise<void>
  }
  interface FastifyContextConfig {
    operation?: Operation
  }
}

export interface ServerParts extends Rails {
  readonly answers: readonly Answer[]
  /** What anybody may read. */
  readonly documents?: readonly PublicDocument[]
  readonly fresh: Fresh
  /** Who a token speaks for; throws a problem if for nobody, or if the caller is not its holder. */
  readonly identify: (shown: ShownToken, showing: Showing) => Promise<Actor>
  /** Which machine an OAuth client is; throws a problem if none. */
  readonly identifyClient: (caller: Caller, form: unknown) => Promise<Actor>
  /** What is still written when its request has been answered: the server is closed when that is. */
  readonly aside?: { readonly settled: () => Promise<void>; readonly close: () => Promise<void> }
  /** Which door this is: it serves the operations of that door and no others. */
  readonly listener?: Listener
  /** Under which address nodes reach their own door, for the OpenAPI document. */
  readonly nodes_url?: string
  /** The nodes' door speaks TLS and asks for certificates. */
  readonly https?: ServerOptions
  /** Which node a connection's certificate is; throws a problem if none's. */
  readonly identifyNode?: (socket: TLSSocket, showing: Showing & { readonly source_ip: string }) => Promise<Actor>
  /** Whose `X-Forwarded-For` is believed, on the listener of the API; nobody's where it is left out. */
  readonly isTrustedProxy?: IsTrusted
  readonly logger: FastifyServerOptions['logger']
  readonly metrics?: Metrics
  readonly onRejected?: OnRejected
  /** Whether the keys of every issuer are at hand. */
  readonly identityReady?: () => boolean
  /** How long a closing server still takes connections while its readiness says no. */
  readonly drain_seconds?: number
  /** How the bytes of a body become a value. */
  readonly parseJson?: typeof parseStrictJson
  /** What a stranger may send, and what they pay for it. */
  readonly stranger?: StrangerCost
  /** How long a connection may take to send its request. */
  readonly slowness?: Slowness
}

export interface Slowness {
  readonly headers_ms: number
  readonly request_ms: number
  /** How often the server checks its connections. */
  readonly checked_every_ms: number
  /** How long a connection may stay open without a request. */
  readonly idle_ms: number
}

/** A slow request is closed within 15 s, however late in the interval it is noticed. */
export const allowedSlowness: Slowness = { headers_ms: 10_000, request_ms: 12_000, checked_every_ms: 1000, idle_ms: 30_000 }

const clientErrors: Record<string, 'headers_too_large' | 'request_timeout'> = {
  HPE_HEADER_OVERFLOW: 'headers_too_large',
  ERR_HTTP_REQUEST_TIMEOUT: 'request_timeout',
}

const createInstance = (parts: ServerParts, observers: Observers): FastifyInstance => {
  const { headers_ms, request_ms, checked_every_ms, idle_ms } = parts.slowness ?? allowedSlowness
  const limits = {
    maxHeaderSize: 16 * 1024,
    headersTimeout: headers_ms,
    connectionsCheckingInterval: checked_every_ms,
    requireHostHeader: false,
  }
  const app = fastify({
    logger: parts.logger ?? false,
    // Of the two it hears one.
    ...(parts.https ? { https: { ...limits, ...parts.https } } : { http: limits }),
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'correlation_id' }),
    // No logger for each request: they are costly, and outlive it until the whole heap is looked through. Our lines name it themselves.
    childLoggerFactory: (logger) => logger,
    requestIdHeader: false,
    genReqId: (raw) => correlationIdOf(raw.headers),
    bodyLimit,
    requestTimeout: request_ms,
    keepAliveTimeout: idle_ms,
    forceCloseConnections: 'idle',
    // The framework counts the grace of a stop as a plugin that does not come back, and would end it, and us, after ten seconds.
    pluginTimeout: ((parts.drain_seconds ?? 0) + 60) * 1000,
    // Who already has a connection is still answered while the server closes.
    return503OnClosing: false,
    exposeHeadRoutes: false,
    routerOptions: { maxParamLength: 200, caseSensitive: true, querystringParser: parseQuery },
    frameworkErrors: (error, request, reply) => {
      // These come before the hooks that would observe and echo the id.
      observe(request, reply, observers)
      reply.header('x-request-id', request.id).header('x-correlation-id', request.id).headers(guardHeaders)
      replyWithProblem(error, request, reply)
    },
    clientErrorHandler: (error, socket) => {
      const code = clientErrors[error.code] ?? 'invalid_request'
      const correlation_id = newId('correlation')
      if (socket.writable) {
        socket.write(rawProblem(code, correlation_id))
        noteUnread(app.log, observers, correlation_id, code)
      }
      socket.destroy()
    },
  } as FastifyServerOptions) as FastifyInstance
  return app
}

/**
 * Where the request itself says who asks, what nobody signs for counts against where it came from: whether it could not be read, or
 * the credential in it is none.
 */
const countNobodys = async (request: FastifyRequest, { status, code }: Problem, countRequest: Counter['count']): Promise<void> => {
  const { operation } = request
  if (!operation || operation.identified_by === 'bearer' || status >= 500 || code === 'rate_limit_exceeded') return
  if (status === 401 || !request.actor) await countRequest(Object.assign(request, { actor: null }))
}

/** Who asks: by the token that is shown, or by the certificate of the connection and nothing else. */
const identifyingWith =
  (parts: ServerParts) =>
  (request: FastifyRequest, { identified_by }: Operation, showing: Showing & { source_ip: string }): Promise<Actor> => {
    if (identified_by === 'certificate') {
      if (!parts.identifyNode) throw new Problem('certificate_missing')
      return parts.identifyNode(request.raw.socket as TLSSocket, showing)
    }
    const { authorization, dpop } = request.headers
    const path = request.url.split('?', 1)[0]!
    return parts.identify(shownTokenOf({ authorization, dpop: oneText(dpop), method: request.method, path }), showing)
  }

/** Builds the server from its parts; whoever passes broken parts gets a broken server, and no other switch exists. */
export const createServer = async (parts: ServerParts): Promise<FastifyInstance> => {
  for (const { operation } of parts.answers) requireDeclared(operation)
  const { listener = 'api', stranger = usualStrangerCost } = parts
  const identify = identifyingWith(parts)
  const always = listener === 'nodes' ? { ...guardHeaders, ...spokenHere } : guardHeaders
  // Nothing that ends TLS may stand before the nodes' listener, so no proxy can speak for anybody there.
  const isTrusted = (listener === 'api' && parts.isTrustedProxy) || (() => false)
  const observers: Observers = {
    metrics: parts.metrics ?? createMetrics(),
    onRejected: parts.onRejected ?? (() => {}),
    actors: parts.actors,
    sourceOf: ({ ip, headers }) => sourceAddress(ip, oneText(headers['x-forwarded-for']), isTrusted),
  }
  if (listener === 'api') observers.metrics.watchPool(() => parts.database.stats())
  const app = createInstance(parts, observers)
  const methodsAt = allowedMethods(app)
  app.setValidatorCompiler(compileValidator)
  app.setSerializerCompiler(compileSerializer)
  const { count: countRequest, requireWorthReading } = requestCounter(stranger, parts.actors)
  app.setErrorHandler(async (error, request, reply) => {
    try {
      await countNobodys(request, asProblem(error), countRequest)
    } catch (limited) {
      return replyWithProblem(limited, request, reply)
    }
    return replyWithProblem(error, request, reply)
  })
  // Node answers an unknown expectation by itself, without an id or a body; we have none to meet and may ignore it.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.decorateRequest('actor', null)
  app.decorateRequest('problem_code', null)
  app.decorateRequest('source_ip', '')
  app.decorateRequest('operation')
  app.decorateRequest('span')
  app.decorateRequest('fresh')
  app.decorateRequest('requireStill')
  app.decorateRequest('reading')
  app.decorateRequest('paid_by')
  app.decorateRequest('written_from', 0)
  const waits = new Waits()
  // Before the grace period: waiting callers are answered, and wait at another process.
  app.addHook('preClose', async () => waits.endAll())
  const drain = drainOnClose(app, parts.drain_seconds ?? 0)
  app.decorate('hurry', drain.hurry)
  app.decorate('prepareDocs', async () => {})
  app.addHook('onClose', async () => parts.aside?.close())
  // First of all hooks, so that no answer escapes it.
  app.addHook('onRequest', (request, reply, done) => {
    observe(request, reply, observers)
    done()
  })
  parseBodies(app, parts.parseJson ?? parseStrictJson)

  app.addHook('onRequest', async (request, reply) => {
    reply.headers(always).header('x-request-id', request.id).header('x-correlation-id', request.id)
    const { operation } = request
    // First of all: whatever is refused from here on is counted, under a limit that is read.
    if (operation) request.fresh = parts.fresh.forRequest()
    requireOneHost(request.raw.rawHeaders, request.headers.host)
    // Node would refuse this itself, without an id or a body.
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1') throw new Problem('invalid_request')
    // Pragma is for caches from before the other header.
    if (operation?.speaks === 'oauth') reply.header('pragma', 'no-cache')
    requireFewParameters(request.query as object)
    requireNoCredentialInQuery(request.query as object)
    if (!operation) return
    requireOneAuthorization(request.raw.rawHeaders)
    if (operation.identified_by === 'credential' || operation.identified_by === 'client') {
      requireMedia(operation, request.headers)
      return requireWorthReading(request)
    }
    // Before the body is read: a stranger's payload is not worth parsing.
    try {
      const identified = identifiedOnce(async (actor, requireStill) => {
        request.actor = actor
        request.requireStill = requireStill
        await countRequest(request)
      })
      const showing = { correlation_id: request.id, fresh: request.fresh, source_ip: request.source_ip, identified }
      await identified(await request.span.within('identify', () => identify(request, operation, showing)))
    } catch (error) {
      // A caller who replays a proof is anonymous. A caller without a node's certificate is counted with the answer.
      if (error instanceof Problem && error.status === 401 && operation.identified_by === 'bearer')
        await countRequest(Object.assign(request, { actor: null }))
      throw error
    }
    if (operation.body) requireMedia(operation, request.headers)
  })
  chargeRequests(app, parts.bulkheads.turns)
  // Answered before the whole body came: what still comes must be neither awaited nor answered a second time.
  app.addHook('onSend', (request, reply, payload, done) => {
    if (!request.raw.complete) reply.header('connection', 'close')
    done(null, payload)
  })
  app.addHook('preValidation', (request, _reply, done) => {
    const { operation } = request
    try {
      if (operation) settleRequest(operation, request)
      done()
    } catch (error) {
      done(error as Error)
    }
  })
  app.addHook('preHandler', (request, _reply, done) => {
    try {
      requireNoSecretIn(request.body)
      // A caller who held the body back until the credential was revoked asks too late. What was proved a moment ago costs nothing here.
      if (request.body === undefined || !request.requireStill) return done()
      request.requireStill().then(
        () => done(),
        (error: Error) => done(error),
      )
    } catch (error) {
      done(error as Error)
    }
  })
  app.setNotFoundHandler((request, reply) => {
    const methods = methodsAt(request.url)
    // With its own method among them it is no route for another reason, such as an id that is far too long.
    if (methods.length === 0 || methods.includes(request.method)) throw new Problem('route_not_found')
    reply.header('allow', methods.join(', '))
    throw new Problem('method_not_allowed')
  })

  for (const each of parts.answers)
    if (each.operation.listener === listener) mount(app, each, { ...parts, metrics: observers.metrics, countRequest, waits, stranger })
  // What anybody may read is read at the other door.
  if (listener === 'nodes') return app
  for (const document of parts.documents ?? []) serveDocument(app, document, { fresh: parts.fresh, countRequest })
  serveHealth(app, { ...parts, isDraining: drain.isDraining })
  serveFront(app)
  const operations = parts.answers.map(({ operation }) => operation)
  const files = serveFixed(
    app,
    docFiles(() => openApiDocument(operations, parts.actors, parts.nodes_url)),
    { fresh: parts.fresh, countRequest },
  )
  app.prepareDocs = files.prepare
  return app
}
