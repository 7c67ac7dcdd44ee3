import type { Operation } from '@gatehouse/contract/operation'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Append } from '../audit/append.ts'
import { record } from '../audit/record.ts'
import { isAction } from '../authz/actions.ts'
import type { Database } from '../db/database.ts'
import { Problem } from '../kernel/problem.ts'
import { isWorthARow } from '../kernel/worth-a-row.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { type Actor, newTrail, type Trail, type Work } from '../work/work.ts'
import { Again, type Answer, type Asked, type Caller, identifiedOnce, Lines, type Listed, type Slice, type Waiting } from './answer.ts'
import { type CountRefusal, countedRefusals } from './counted-refusals.ts'
import type { Cursors } from './cursor.ts'
import { answeredBefore, idempotencyKeyOf, keep, type RequestHash } from './idempotency.ts'
import { isMismatchNoted, noteMismatch } from './platform-mismatch.ts'
import { projectNamedBy, requireAgreement } from './project-header.ts'
import { oneText } from './read-request.ts'
import { idsIn, placeOf, targetOf } from './refused-target.ts'

export interface Rails {
  readonly database: Database
  readonly cursors: Cursors
  readonly hashRequest: RequestHash
  readonly append: Append
}

/** What ends the waits under way. */
export class Waits {
  private readonly under_way = new Set<AbortController>()
  private is_over = false
  begin(): AbortController {
    const waiting = new AbortController()
    if (this.is_over) waiting.abort()
    else this.under_way.add(waiting)
    return waiting
  }
  end(waiting: AbortController): void {
    this.under_way.delete(waiting)
  }
  endAll(): void {
    this.is_over = true
    for (const waiting of this.under_way) waiting.abort()
  }
}

interface Mounting extends Rails {
  readonly metrics: Metrics
  /** Counts a request against the limit of whose it is; throws where that is exceeded. */
  readonly countRequest: (request: FastifyRequest) => Promise<void>
  /** Those who wait for something: a server that closes lets none of them wait on. */
  readonly waits: Waits
  /** Which machine a request speaks for that says so as an OAuth client does. */
  readonly identifyClient: (caller: Caller, form: unknown) => Promise<Actor>
}

interface Asking {
  readonly params: Record<string, string>
  readonly query: Record<string, unknown>
  readonly body: unknown
  readonly project_header: string | undefined
}

/** Lines ready to be sent: the cursor goes into a header, since there is no place for it between them. */
class SealedLines {
  readonly text: string
  readonly next_cursor: string | null
  constructor(items: readonly unknown[], next_cursor: string | null) {
    this.text = items.map((item) => `${JSON.stringify(item)}\n`).join('')
    this.next_cursor = next_cursor
  }
}

/** An operation that does not say who may ask, what is judged and how it can refuse is not served at all. */
export const requireDeclared = ({ id, actors, actions, problems }: Operation): void => {
  if (!Array.isArray(actors) || actors.length === 0) throw new Error(`Operation ${id} declares no actors.`)
  if (!Array.isArray(actions) || actions.length === 0 || actions.some((action) => !action))
    throw new Error(`Operation ${id} declares no action.`)
  for (const action of actions) if (!isAction(action)) throw new Error(`Operation ${id} names ${action}, which the registry does not have.`)
  if (!Array.isArray(problems)) throw new Error(`Operation ${id} declares no problems.`)
}

/**
 * The two invariants of the product. A forgotten question, or a forgotten record, is a bug in the server: so it is the server's
 * error and nothing is kept.
 */
const requireTrail = ({ id, actions, effect }: Operation, { params }: Asking, { asked, events }: Trail, is_changed = true): void => {
  const own = asked.filter(({ allowed, actions: judged }) => allowed && actions.some((action) => judged.includes(action)))
  if (own.length === 0) throw new Error(`${id} answered without a decision on its own action`)
  const isJudged = (place: string) =>
    own.some((asked) => [asked.resource_id, asked.tenant_id, asked.project_id, asked.shared_runtime_id].includes(place))
  for (const name in params) if (!isJudged(params[name]!)) throw new Error(`${id} answered without a decision on its own ${name}`)
  if (effect !== 'read' && is_changed && events.length === 0) throw new Error(`${id} changed something without an audit event`)
}

const boundTo = (operation: Operation, actor: Actor, { params, query }: Asking) => {
  const { cursor: _cursor, limit: _limit, ...filter } = query
  return [operation.id, actor.type, actor.id, params, filter]
}

const sliceOf = (operation: Operation, cursors: Cursors, actor: Actor, asking: Asking): Slice => {
  const { limit, cursor } = asking.query as { limit?: number; cursor?: string }
  return { limit: limit ?? 50, after: cursor === undefined ? null : cursors.open(boundTo(operation, actor, asking), cursor) }
}

type Outer = Omit<Work, 'tx' | 'now'>

/** Records in a transaction of its own what must stay whether or not the work itself does. */
const recordAside = async ({ database, append }: Rails, outer: Outer, note: (work: Work) => void | Promise<void>): Promise<void> => {
  const { platform_role, platform_mismatch } = outer.trail
  await database.transaction('write', async (tx) => {
    const work: Work = { ...outer, trail: { ...newTrail(), platform_role, platform_mismatch }, now: tx.now, tx }
    await note(work)
    await append(work)
  })
}

/** The refusal outlives the rollback. Crossing tenants is the platform's business. */
const recordRefusal = async (
  rails: Rails,
  operation: Operation,
  outer: Outer,
  { params, body }: Pick<Asking, 'params' | 'body'>,
  problem: Problem,
  countRefusal: CountRefusal,
): Promise<void> => {
  const denied = outer.trail.asked.findLast(({ allowed }) => !allowed) ?? outer.trail.asked.at(-1)
  const reason_code = denied?.reason_code ?? (problem.details as { reason_code?: string } | undefined)?.reason_code ?? problem.code
  const is_node = outer.actor.type === 'node_agent'
  // A node asks all the time: one that is broken, or taken, must not fill the record.
  const attempts = is_node ? countRefusal(outer.actor.id, reason_code) : 1
  if (!isWorthARow(attempts)) return
  const { resource_type, resource_id } = denied ?? targetOf(operation, params)
  const about = outer.trail.refused_about
  const name = operation.target_named_by && (body as Record<string, unknown>)[operation.target_named_by]
  await recordAside(rails, outer, async (work) => {
    record(work, {
      action: operation.id,
      resource_type,
      resource_id,
      ...(await placeOf(work, params, denied)),
      result: isRefusal(problem) ? 'denied' : 'failed',
      reason_code,
      // A node that asks for what is not its own is broken or taken.
      severity: is_node ? 'high' : 'warning',
      ...about,
      metadata: {
        status: problem.status,
        code: problem.code,
        asked: operation.actions,
        path: idsIn(params),
        ...(name === undefined ? {} : { name }),
        ...(denied ? { decision_id: denied.decision_id } : {}),
        ...(is_node ? { attempts } : {}),
        ...about?.metadata,
      },
    })
    noteMismatch(work)
    for (const follow of outer.trail.on_refusal) await follow(work)
  })
}

/** Of whom everything is recorded, also that he looked. */
const isWatched = ({ type }: Pick<Actor, 'type'>): boolean => type === 'shared_runtime_operator'

/** What was looked at, by the last decision about it; with the projects of which something was shown, which a page or a report bounds. */
const noteRead = (work: Work, { id }: Operation): void => {
  const asked = work.trail.asked.at(-1)
  const project_ids = [...work.trail.shown_of].sort()
  record(work, {
    action: id,
    resource_type: asked?.resource_type ?? 'operation',
    resource_id: asked?.resource_id ?? null,
    tenant_id: asked?.tenant_id ?? null,
    // Where only one project is involved, it is that project's business too.
    project_id: asked?.project_id ?? (project_ids.length === 1 ? project_ids[0]! : null),
    metadata: project_ids.length > 0 ? { project_ids } : {},
  })
}

type VerbOf = Extract<Answer, { verb: unknown }>['verb']
type WaitingOf = Waiting<Asking['params'], Asking['query'], unknown, unknown>
type IssueOf = Extract<Answer, { issue: unknown }>['issue']

/** A machine's token is held against the path before anything is looked up, so that its refusal tells nothing of what there is. */
const requireWithinToken = ({ token }: Actor, { org_id, project_id, shared_runtime_id }: Asking['params']): void => {
  const isOther = (bound: string | null | undefined, named: string | undefined) =>
    typeof bound === 'string' && named !== undefined && named !== bound
  if (isOther(token?.tenant_id, org_id) || isOther(token?.project_id, project_id) || isOther(token?.shared_runtime_id, shared_runtime_id))
    throw new Problem('insufficient_permissions', { reason_code: 'scope_mismatch' })
}

/** A node speaks for itself alone. */
const requireOwnNode = (actor: Actor, { node_id }: Asking['params']): void => {
  if (actor.type === 'node_agent' && node_id !== undefined && node_id !== actor.id)
    throw new Problem('insufficient_permissions', { reason_code: 'scope_mismatch' })
}

const isRefusal = (error: unknown): error is Problem =>
  error instanceof Problem && (error.status === 403 || error.status === 404 || error.code === 'policy_out_of_bounds')

/** It was not done, and he was told why. */
const isAnswered = (error: unknown): error is Problem => error instanceof Problem && error.status < 500

const responsesOf = ({ success, success_again }: Operation, reply: unknown) => ({
  [success]: reply,
  ...(success_again ? { [success_again]: reply } : {}),
})

/** The one place where a request becomes work: one transaction, the verb, the invariants, the record. */
export const mount = (app: FastifyInstance, answering: Answer, rails: Mounting): void => {
  const { operation } = answering
  const { database, cursors, hashRequest, append, metrics, countRequest, waits, identifyClient } = rails
  const countRefusal = countedRefusals()

  const perform = async (verb: VerbOf, work: Work, asking: Asking, key: string | undefined): Promise<unknown> => {
    if (key !== undefined) {
      const before = await answeredBefore(work, operation, key, hashRequest(operation, asking))
      if (before) return before.reply
    }
    const slice = sliceOf(operation, cursors, work.actor, asking)
    const answered = await verb(work, { ...asking, slice } as never)
    requireTrail(operation, asking, work.trail, !(answered instanceof Again) || answered.is_changed)
    const reply = operation.is_paged ? sealed(work.actor, asking, answered as Listed<unknown>) : answered
    if (reply instanceof Again && operation.success_again === undefined) throw new Error(`${operation.id} has no other success`)
    if (key !== undefined) await keep(work, operation, key, reply)
    // A read has no transaction to write in.
    if (operation.effect !== 'read') noteMismatch(work)
    else if (isWatched(work.actor)) noteRead(work, operation)
    await append(work)
    return reply
  }

  const sealed = (actor: Actor, asking: Asking, answered: Listed<unknown>) => {
    const { items, after } = answered
    const next_cursor = after === null ? null : cursors.seal(boundTo(operation, actor, asking), after)
    return answered instanceof Lines ? new SealedLines(items, next_cursor) : { items, next_cursor }
  }

  /** Once for each request, however it ends. */
  const warn = async (outer: Outer): Promise<void> => {
    if (outer.trail.platform_mismatch) await recordAside(rails, outer, noteMismatch)
  }

  const callerOf = (request: FastifyRequest): Caller => ({
    correlation_id: request.id,
    source_ip: request.ip,
    fresh: request.fresh,
    idempotency_key: idempotencyKeyOf(operation, request.headers['idempotency-key']),
    method: operation.method,
    path: operation.path,
    authorization: request.headers.authorization,
    dpop: oneText(request.headers.dpop),
    trail: newTrail(),
    identified: identifiedOnce(async (actor) => {
      if ('issue' in answering && !operation.actors.includes(actor.type as never)) throw new Problem('token_invalid')
      request.actor = actor
      await countRequest(request)
    }),
  })

  /** The credential is in the request: until it is verified there is nobody whom anything could be recorded of. */
  const issued = async (issue: IssueOf, request: FastifyRequest, asking: Asking): Promise<unknown> => {
    const caller = callerOf(request)
    const { trail } = caller
    try {
      const reply = await request.span.within('issue', () => issue(caller, asking as never))
      requireTrail(operation, asking, trail)
      return reply
    } finally {
      for (const { allowed, reason_code } of trail.asked) metrics.decided(allowed ? 'allow' : 'deny', reason_code ?? 'none')
    }
  }

  const identified = async (request: FastifyRequest): Promise<void> => {
    const caller = callerOf(request)
    await caller.identified(await request.span.within('identify', () => identifyClient(caller, request.body)))
  }

  const waited = async (waiting: WaitingOf, request: FastifyRequest, asking: Asking, outer: Outer): Promise<unknown> => {
    const ending = waits.begin()
    request.raw.once('close', () => ending.abort())
    return lookUntil(ending, waiting, asking, outer).finally(() => {
      ending.abort()
      waits.end(ending)
    })
  }

  /** Looks, waits and looks again; nothing is held in between. Whoever lost the right meanwhile is refused at the next look. */
  const lookUntil = async (ending: AbortController, waiting: WaitingOf, asking: Asking, outer: Outer): Promise<unknown> => {
    const input: Asked<Asking['params'], Asking['query'], unknown> = { ...asking, slice: { limit: 0, after: null } }
    const { until_ms, changed } = waiting.wait(input, ending)
    const { signal: gone } = ending
    const deadline = performance.now() + until_ms
    for (;;) {
      outer.trail.asked.length = 0
      // Begun before the look: what comes in between ends the wait at once.
      const waking = new AbortController()
      const woken = changed(
        AbortSignal.any([gone, waking.signal, AbortSignal.timeout(Math.max(1, Math.ceil(deadline - performance.now())))]),
      )
      try {
        const seen = await database.transaction('read', (tx) => waiting.look({ ...outer, now: tx.now, tx }, input))
        requireTrail(operation, asking, outer.trail, false)
        if (seen.is_there) {
          const taken = await database.transaction('write', async (tx) => {
            const work: Work = { ...outer, trail: newTrail(), now: tx.now, tx }
            const reply = await waiting.take(work, input)
            if (reply === undefined) return undefined
            requireTrail(operation, asking, work.trail, !(reply instanceof Again) || reply.is_changed)
            await append(work)
            return reply
          })
          if (taken !== undefined) return taken
        }
        if (gone.aborted || performance.now() >= deadline) return seen.nothing
        await woken
        if (gone.aborted) return seen.nothing
      } finally {
        waking.abort()
      }
    }
  }

  const handle = async (request: FastifyRequest): Promise<unknown> => {
    const asked = { params: request.params, query: request.query, body: request.body, project_header: undefined } as Asking
    if ('issue' in answering) return issued(answering.issue, request, asked)
    if (operation.identified_by === 'client') await identified(request)
    const actor = request.actor
    if (!actor) throw new Problem('token_missing')
    const project_header = projectNamedBy(request.headers['x-project-id'])
    const asking: Asking = operation.takes_project_header ? { ...asked, project_header } : asked
    let outer = { actor, correlation_id: request.id, source_ip: request.ip, trail: newTrail() }
    try {
      if (!operation.actors.includes(actor.type as never))
        throw new Problem('insufficient_permissions', { reason_code: 'permission_denied' })
      requireAgreement(project_header, asking.params)
      requireWithinToken(actor, asking.params)
      requireOwnNode(actor, asking.params)
      if ('ask' in answering) {
        const result = await answering.ask({ ...outer, fresh: request.fresh } as never, asking as never)
        requireTrail(operation, asking, outer.trail)
        if (outer.trail.platform_mismatch) await warn(outer)
        return result
      }
      if ('waiting' in answering) return await waited(answering.waiting as WaitingOf, request, asking, outer)
      const { verb } = answering
      const key = idempotencyKeyOf(operation, request.headers['idempotency-key'])
      const result = await request.span.within('transaction', () =>
        database.transaction(operation.effect === 'read' && !isWatched(actor) ? 'read' : 'write', (tx) => {
          // A transaction may be tried again; each try has its own trail.
          outer = { ...outer, trail: newTrail() }
          return perform(verb, { ...outer, now: tx.now, tx }, asking, key)
        }),
      )
      // Without it where the work itself has recorded the same, and committed.
      if (!isMismatchNoted(outer.trail)) await warn(outer)
      return result
    } catch (error) {
      if (isRefusal(error) || (isWatched(actor) && isAnswered(error)))
        await request.span.within('refusal', () => recordRefusal(rails, operation, outer, asking, error, countRefusal))
      else if (isAnswered(error)) await warn(outer)
      throw error
    } finally {
      for (const { allowed, reason_code } of outer.trail.asked) metrics.decided(allowed ? 'allow' : 'deny', reason_code ?? 'none')
    }
  }

  app.route({
    method: operation.method,
    url: operation.path,
    config: { operation },
    schema: {
      params: operation.params,
      querystring: operation.query,
      ...(operation.body ? { body: operation.body } : {}),
      ...(operation.reply ? { response: responsesOf(operation, operation.reply) } : {}),
    },
    handler: async (request, reply) => {
      const result = await handle(request)
      if (result instanceof Again) return reply.code(operation.success_again ?? operation.success).send(result.reply)
      reply.code(operation.success)
      if (!(result instanceof SealedLines)) return result
      if (result.next_cursor !== null) reply.header('x-next-cursor', result.next_cursor)
      return reply.type('application/x-ndjson').serializer(String).send(result.text)
    },
  })
}
