import type { AttributeName } from '@gatehouse/contract/conditions'
import type { Attributes } from '../policies/condition.ts'
import type { AttributesIn } from '../policies/constraint.ts'
import { type Action, actions } from './actions.ts'
import { type LocalTimes, unreadable } from './local-times.ts'

/** Every request comes from somewhere, at some time, from some type of actor, about some type of resource. */
const always: readonly AttributeName[] = ['source_ip', 'minute_of_day', 'weekday', 'resource_type', 'actor_type']

/** What an action's requests can say of themselves; a rule that looks at anything else is refused when it is written. */
export const carriedBy = (action: Action): ReadonlySet<AttributeName> => new Set([...always, ...actions[action].carries])

/** What is known of one request; `time` is its instant, where somebody said one. */
export interface RequestAttributes extends Omit<Attributes, 'minute_of_day' | 'weekday'> {
  readonly time?: unknown
}

/** A request as a rule sees it that lives in a zone: put together when the first one asks, and the same for whoever asks again. */
export const attributesIn = ({ time: _, ...said }: RequestAttributes, times: LocalTimes): AttributesIn => {
  const seen = new Map<string, Attributes>()
  return (zone) => {
    const known = seen.get(zone) ?? { ...said, ...(times.get(zone) ?? unreadable) }
    seen.set(zone, known)
    return known
  }
}
