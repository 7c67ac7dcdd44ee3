import type { Operation } from '@gatehouse/contract/operation'
import type { FreshReader } from '#ground/epochs/fresh.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { Actor } from '#ground/work/work.ts'
import type { ActorClass } from '../authz/actor-class.ts'
import { wantStanding } from '../authz/read-standings.ts'
import type { Asking } from './asking.ts'
import { requireAgreement } from './project-header.ts'
import { isRefusal } from './record-refusal.ts'
import { requireOneself, requireWithinToken } from './require-own.ts'

const requireFitting = (
  operation: Operation,
  actor: Actor,
  params: Asking['params'],
  project_header: string | undefined,
  { own_param }: ActorClass,
): void => {
  if (!operation.actors.includes(actor.type as never)) throw new Problem('insufficient_permissions', { reason_code: 'permission_denied' })
  requireAgreement(project_header, params)
  requireWithinToken(actor, params)
  requireOneself(actor, params, { own_param })
}

/** As the engine sees it: who has no record is nobody, and nobody is disabled. */
const isDisabled = async (actor: Actor, { standing }: ActorClass, fresh: FreshReader): Promise<boolean> => {
  if (standing === 'identified') return false
  const { values } = await fresh.read([wantStanding(actor.type, { actor_id: actor.id, tenant_id: null, project_id: null })])
  return values[0]?.is_disabled ?? true
}

/** Why a request is refused before anything is looked up: by the class of who asks, or by what his token names. */
export const refusalBeforehand = (
  operation: Operation,
  actor: Actor,
  { params }: Pick<Asking, 'params'>,
  project_header: string | undefined,
  of_class: ActorClass,
): unknown => {
  try {
    requireFitting(operation, actor, params, project_header, of_class)
    return undefined
  } catch (error) {
    return error
  }
}

/** That somebody is disabled comes before all of that. It is asked only where he is refused anyway, so that nobody else waits for the answer. */
export const disabledFirst = async (refusal: unknown, actor: Actor, of_class: ActorClass, fresh: FreshReader): Promise<unknown> =>
  isRefusal(refusal) && (await isDisabled(actor, of_class, fresh))
    ? new Problem('insufficient_permissions', { reason_code: 'actor_disabled' })
    : refusal
