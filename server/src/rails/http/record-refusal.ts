import type { Operation } from '@gatehouse/contract/operation'
import type { Database } from '#ground/db/database.ts'
import { Problem } from '#ground/kernel/problem.ts'
import { isWorthARow } from '#ground/kernel/worth-a-row.ts'
import { newTrail, type Work } from '#ground/work/work.ts'
import { record } from '../audit/record.ts'
import type { ActorClass } from '../authz/actor-class.ts'
import { askedIds } from './asked-ids.ts'
import type { Asking, Outer, Rails } from './asking.ts'
import type { CountRefusal } from './counted-refusals.ts'
import type { Noun } from './noun.ts'
import { noteMismatch } from './platform-mismatch.ts'
import { lookedAt, placeOf, targetOf } from './refused-target.ts'

export const isRefusal = (error: unknown): error is Problem =>
  error instanceof Problem && (error.status === 403 || error.status === 404 || error.code === 'policy_out_of_bounds')

/** It was not done, and the caller was told why. */
export const isAnswered = (error: unknown): error is Problem => error instanceof Problem && error.status < 500

/** Where it is recorded: in the database as its tenant uses it. */
export type Recorder = Pick<Rails, 'append'> & { readonly database: Pick<Database, 'transaction'> }

/** Records in a transaction of its own what must stay whether or not the work itself does. */
export const recordAside = async (
  { database, append }: Recorder,
  outer: Outer,
  note: (work: Work) => void | Promise<void>,
): Promise<void> => {
  const { platform_role, platform_mismatch } = outer.trail
  await database.transaction('write', async (tx) => {
    const work: Work = { ...outer, trail: { ...newTrail(), platform_role, platform_mismatch }, now: tx.now, tx }
    await note(work)
    await append(work)
  })
}

/** The refusal outlives the rollback. Crossing tenants is the platform's business. */
export const recordRefusal = async (
  rails: Recorder,
  operation: Operation,
  outer: Outer,
  asking: Asking,
  problem: Problem,
  countRefusal: CountRefusal,
  { nouns, of_class }: { readonly nouns: readonly Noun[]; readonly of_class: ActorClass },
): Promise<void> => {
  const { params, body } = asking
  const denied = outer.trail.asked.findLast(({ allowed }) => !allowed) ?? outer.trail.asked.at(-1)
  const told = problem.details
  const reason_code = denied?.reason_code ?? told?.reason_code ?? problem.code
  const is_thinned = of_class.refusals === 'thinned'
  const attempts = is_thinned ? countRefusal(outer.actor.id, reason_code) : 1
  if (!isWorthARow(attempts)) return
  const { resource_type, resource_id } = denied ? lookedAt(denied, outer.actor, { nouns, of_class }) : targetOf(operation, params, nouns)
  const about = outer.trail.refused_about
  const name = operation.target_named_by && (body as Record<string, unknown>)[operation.target_named_by]
  await recordAside(rails, outer, async (work) => {
    record(work, {
      action: operation.recorded_as[0]!,
      resource_type,
      resource_id,
      ...(await placeOf(work, params, denied, of_class)),
      result: isRefusal(problem) ? 'denied' : 'failed',
      reason_code,
      // One that asks all the time and for what is not its own is broken or taken.
      severity: is_thinned ? 'high' : 'warning',
      ...about,
      metadata: {
        status: problem.status,
        code: problem.code,
        ...(told?.detail === undefined ? {} : { detail: told.detail }),
        asked_operation: operation.id,
        asked_actions: operation.actions,
        ...askedIds(operation, asking),
        ...(name === undefined ? {} : { asked_name: name }),
        ...(denied ? { decision_id: denied.decision_id } : {}),
        ...(is_thinned ? { attempts } : {}),
        ...about?.metadata,
      },
    })
    noteMismatch(work)
    for (const follow of outer.trail.on_refusal) await follow(work)
  })
}
