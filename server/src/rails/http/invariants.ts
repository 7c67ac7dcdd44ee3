import type { Operation } from '@gatehouse/contract/operation'
import type { Trail } from '#ground/work/work.ts'
import { isAction } from '../authz/actions.ts'
import type { Asking } from './asking.ts'

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
export const requireTrail = (
  { id, actions, effect, recorded_as }: Operation,
  { params }: Asking,
  { asked, events }: Trail,
  is_changed = true,
): void => {
  const own = asked.filter(({ allowed, actions: judged }) => allowed && actions.some((action) => judged.includes(action)))
  if (own.length === 0) throw new Error(`${id} answered without a decision on its own action`)
  const isJudged = (place: string) =>
    own.some((asked) => [asked.resource_id, asked.tenant_id, asked.project_id, asked.shared_runtime_id].includes(place))
  for (const name in params) if (!isJudged(params[name]!)) throw new Error(`${id} answered without a decision on its own ${name}`)
  if (effect === 'read' || !is_changed) return
  if (events.length === 0) throw new Error(`${id} changed something without an audit event`)
  // Otherwise a filter of the record by one action would find what was done and miss what was refused.
  if (!events.some(({ action }) => recorded_as.includes(action))) throw new Error(`${id} recorded another act than its own`)
}
