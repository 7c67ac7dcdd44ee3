import type { Operation } from '@gatehouse/contract/operation'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Payer } from '#ground/db/database.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { Metrics } from '#ground/telemetry/metrics.ts'
import { type Actor, newTrail, type Work } from '#ground/work/work.ts'
import { disabledFirst, refusalBeforehand } from './admit.ts'
import { Again, type Answer, type Caller, identifiedOnce, Lines, type Listed, type Slice } from './answer.ts'
import type { Asking, Outer, Rails } from './asking.ts'
import { countedRefusals } from './counted-refusals.ts'
import type { Cursors } from './cursor.ts'
import { answeredBefore, idempotencyKeyOf, keep, usual_duplicate_wait_ms } from './idempotency.ts'
import { requireTrail } from './invariants.ts'
import { spokenBy } from './node-protocol.ts'
import { isMismatchNoted, noteMismatch } from './platform-mismatch.ts'
import { projectNamedBy } from './project-header.ts'
import { oneText } from './read-request.ts'
import { isAnswered, isRefusal, type Recorder, recordAside, recordRefusal } from './record-refusal.ts'
import type { StrangerCost } from './stranger-cost.ts'
import { tenantDatabase } from './tenant-database.ts'
import { type WaitingOf, type Waits, waited } from './waits.ts'
import { noteRead, noteRepeated } from './watched.ts'

interface Mounting extends Rails {
  readonly metrics: Metrics
  /** Counts a request against the limit of whose it is; throws where that is exceeded. */
  readonly countRequest: (request: FastifyRequest) => Promise<void>
  readonly stranger: StrangerCost
  /** Those who wait for something: a server that closes lets none of them wait on. */
  readonly waits: Waits
  /** Which machine a request speaks for that says so as an OAuth client does. */
  readonly identifyClient: (caller: Caller, form: unknown) => Promise<Actor>
}

/** Lines ready to be sent: the cursor goes into a header, since there is no place for it between them. */
class SealedLines {
  readonly text: string
  readonly next_cursor: string | null
  constructor(text: string, next_cursor: string | null) {
    this.text = text
    this.next_cursor = next_cursor
  }
}

const boundTo = (operation: Operation, actor: Actor, { params, query, project_header }: Asking) => {
  const { cursor: _cursor, limit: _limit, ...filter } = query
  return [operation.id, actor.type, actor.id, params, filter, ...(project_header === undefined ? [] : [project_header])]
}

const sliceOf = (operation: Operation, cursors: Cursors, actor: Actor, asking: Asking): Slice => {
  const { limit, cursor } = asking.query as { limit?: number; cursor?: string }
  return { limit: limit ?? 50, after: cursor === undefined ? null : cursors.open(boundTo(operation, actor, asking), cursor) }
}

type VerbOf = Extract<Answer, { verb: unknown }>['verb']
/** The caller's key, until when its first use is waited for, and who pays. */
interface Performing {
  readonly key: string | undefined
  readonly until: number
  readonly payer: Payer
}
type IssueOf = Extract<Answer, { issue: unknown }>['issue']

const responsesOf = ({ success, success_again }: Operation, reply: unknown) => ({
  [success]: reply,
  ...(success_again ? { [success_again]: reply } : {}),
})

/** The one place where a request becomes work: one transaction, the verb, the invariants, the record. */
export const mount = (app: FastifyInstance, answering: Answer, rails: Mounting): void => {
  const { operation } = answering
  const { database, cursors, hashRequest, append, metrics, countRequest, bulkheads, waits, identifyClient, tenantNamed, actors, nouns } =
    rails
  const declaredOf = ({ type }: Actor) => ({ nouns, of_class: actors[type] })
  /** Of whom everything is recorded, also that he looked. */
  const isWatched = ({ type }: Actor): boolean => actors[type].reads === 'recorded'
  const { duplicate_wait_ms = usual_duplicate_wait_ms } = rails
  const countRefusal = countedRefusals()

  const perform = async (verb: VerbOf, work: Work, asking: Asking, { key, until, payer }: Performing): Promise<unknown> => {
    if (key !== undefined) {
      const before = await answeredBefore(work, operation, key, hashRequest(operation, asking), { until })
      if (before && isWatched(work.actor)) {
        noteRepeated(work, operation, declaredOf(work.actor))
        await append(work)
      }
      if (before) return before.reply
    }
    const slice = sliceOf(operation, cursors, work.actor, asking)
    const answered = await verb(work, { ...asking, slice } as never)
    requireTrail(operation, asking, work.trail, !(answered instanceof Again) || answered.is_changed)
    const reply = operation.is_paged ? await sealed(work.actor, asking, answered as Listed<unknown>, payer) : answered
    if (reply instanceof Again && operation.success_again === undefined) throw new Error(`${operation.id} has no other success`)
    if (key !== undefined) await keep(work, operation, key, reply)
    // A read has no transaction to write in.
    if (operation.effect !== 'read') noteMismatch(work)
    else if (isWatched(work.actor)) noteRead(work, operation, declaredOf(work.actor))
    await append(work)
    return reply
  }

  const sealed = async (actor: Actor, asking: Asking, answered: Listed<unknown>, payer: Payer) => {
    const { items, after } = answered
    const next_cursor = after === null ? null : cursors.seal(boundTo(operation, actor, asking), after)
    if (!(answered instanceof Lines)) return { items, next_cursor }
    const lines = await payer.each(items, (item) => `${JSON.stringify(item)}\n`)
    return new SealedLines(lines.join(''), next_cursor)
  }

  /** A question has no transaction: what must be known of it is written in one of its own, before the answer is given. */
  const recordAsked = async (of: Recorder, outer: Outer): Promise<void> => {
    await recordAside(of, outer, (work) => {
      work.trail.events.push(...outer.trail.events)
      noteMismatch(work)
    })
  }

  /** Once for each request, however it ends. */
  const warn = async (of: Recorder, outer: Outer): Promise<void> => {
    if (outer.trail.platform_mismatch) await recordAside(of, outer, noteMismatch)
  }

  const callerOf = (request: FastifyRequest): Caller => ({
    correlation_id: request.id,
    source_ip: request.source_ip,
    fresh: request.fresh,
    idempotency_key: idempotencyKeyOf(operation, request.headers['idempotency-key']),
    method: operation.method,
    path: operation.path,
    authorization: request.headers.authorization,
    dpop: oneText(request.headers.dpop),
    node_protocol: spokenBy(operation, request.headers),
    trail: newTrail(),
    turnOf: async (tenant) => {
      const { turns, wait_ms } = bulkheads
      request.paid_by = tenant
      // What the credential was verified by must not grow old meanwhile.
      await turns.enter(tenant, request.fresh.limit_ms)
      return turns.payer(tenant, wait_ms)
    },
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

  const handle = async (request: FastifyRequest): Promise<unknown> => {
    const node_protocol = spokenBy(operation, request.headers)
    const asked = { params: request.params, query: request.query, body: request.body, project_header: undefined, node_protocol } as Asking
    if ('issue' in answering) return issued(answering.issue, request, asked)
    if (operation.identified_by === 'client') await identified(request)
    const actor = request.actor
    if (!actor) throw new Problem('token_missing')
    const project_header = projectNamedBy(request.headers['x-project-id'])
    const asking: Asking = operation.takes_project_header ? { ...asked, project_header } : asked
    let outer = { actor, correlation_id: request.id, source_ip: request.source_ip, trail: newTrail() }
    const { turns, wait_ms } = bulkheads
    const tenant = await tenantOf(request, actor)
    request.paid_by = tenant
    const within: Recorder = { append, database: tenantDatabase(database, bulkheads, tenant) }
    try {
      const refusal = refusalBeforehand(operation, actor, asking, project_header, actors[actor.type])
      if (refusal) throw await disabledFirst(refusal, actor, actors[actor.type], request.fresh)
      if ('ask' in answering) {
        const paidBy = (payer: string) => {
          request.paid_by = payer
        }
        const result = await answering.ask({ ...outer, fresh: request.fresh, turns, paidBy } as never, asking as never)
        requireTrail(operation, asking, outer.trail)
        if (outer.trail.events.length > 0 || outer.trail.platform_mismatch) await recordAsked(within, outer)
        return result
      }
      if ('waiting' in answering) {
        const parts = { operation, ...within }
        const onGone = (end: () => void) => request.raw.once('close', end)
        return await waited(waits, onGone, parts, answering.waiting as WaitingOf, asking, outer)
      }
      const { verb } = answering
      const key = idempotencyKeyOf(operation, request.headers['idempotency-key'])
      const performing = { key, until: performance.now() + duplicate_wait_ms, payer: turns.payer(tenant, wait_ms) }
      await turns.enter(tenant, wait_ms)
      const result = await request.span.within('transaction', () =>
        within.database.transaction(operation.effect === 'read' && !isWatched(actor) ? 'read' : 'write', (tx) => {
          // A transaction may be tried again; each try has its own trail.
          outer = { ...outer, trail: newTrail() }
          return perform(verb, { ...outer, now: tx.now, tx }, asking, performing)
        }),
      )
      // Without it where the work itself has recorded the same, and committed.
      if (!isMismatchNoted(outer.trail)) await warn(within, outer)
      return result
    } catch (error) {
      if (isRefusal(error) || (isWatched(actor) && isAnswered(error)))
        await request.span.within('refusal', () => recordRefusal(within, operation, outer, asking, error, countRefusal, declaredOf(actor)))
      else if (isAnswered(error)) await warn(within, outer)
      throw error
    } finally {
      for (const { allowed, reason_code } of outer.trail.asked) metrics.decided(allowed ? 'allow' : 'deny', reason_code ?? 'none')
    }
  }

  /**
   * Whose time and connections it takes: those of the tenant that the path names. A stranger there, and who names none, takes their own; a machine
   * its tenant's, which would otherwise have a share for each of its machines.
   */
  const tenantOf = async ({ fresh, params }: FastifyRequest, actor: Actor): Promise<string> =>
    ('ask' in answering ? undefined : await tenantNamed?.(fresh, actor, params as Record<string, string>)) ??
    actor.home_tenant_id ??
    actor.id

  app.route({
    method: operation.method,
    url: operation.path,
    config: { operation },
    bodyLimit: rails.stranger.bodyLimitOf(operation),
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
