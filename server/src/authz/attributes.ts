import type { AttributeName } from '@gatehouse/contract/conditions'
import type { Attributes } from '../policies/condition.ts'
import type { AttributesIn } from '../policies/constraint.ts'
import { type Action, actions } from './actions.ts'

/** Every request comes from somewhere, at some time, from some type of actor, about some type of resource. */
const always: readonly AttributeName[] = ['source_ip', 'minute_of_day', 'weekday', 'resource_type', 'actor_type']

/** What an action's requests can say of themselves; a rule that looks at anything else is refused when it is written. */
export const carriedBy = (action: Action): ReadonlySet<AttributeName> => new Set([...always, ...actions[action].carries])

/** What is known of one request; `time` is its instant, where somebody said one. */
export interface RequestAttributes extends Omit<Attributes, 'minute_of_day' | 'weekday'> {
  readonly time?: unknown
}

export type LocalTime = Pick<Attributes, 'minute_of_day' | 'weekday'>

/** What one instant is in each zone that a rule names. */
export type LocalTimes = ReadonlyMap<string, LocalTime>

/** One for each zone, of which there are some hundreds; a name in other letters is no other zone, or there would be no end of them. */
const formats = new Map<string, Intl.DateTimeFormat>()
const formatOf = (name: string): Intl.DateTimeFormat => {
  const zone = name.toLowerCase()
  const known = formats.get(zone)
  if (known) return known
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hourCycle: 'h23',
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
  })
  formats.set(zone, format)
  return format
}

const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
const rfc3339 = /^(\d{4}-\d\d-\d\d)T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** The instant that a text names; a day that is in no calendar, such as the 30th of February, would be read as another one. */
const instantOf = (time: unknown): Date | undefined => {
  const day = typeof time === 'string' ? rfc3339.exec(time)?.[1] : undefined
  if (day === undefined) return undefined
  const midnight = new Date(`${day}T00:00:00Z`)
  return !Number.isNaN(midnight.getTime()) && midnight.toISOString().startsWith(day) ? new Date(time as string) : undefined
}

/** There is a time, only nobody can read it: a rule that looks at it cannot judge, and one that asks whether it is there is told that it is. */
const unreadable = { minute_of_day: Number.NaN, weekday: Number.NaN }

/** The minute and the weekday of an instant in a zone. */
export const localTime = (time: unknown, zone: string): LocalTime => {
  const instant = instantOf(time)
  if (!instant) return unreadable
  try {
    const parts = new Map(
      formatOf(zone)
        .formatToParts(instant)
        .map(({ type, value }) => [type, value]),
    )
    return {
      minute_of_day: Number(parts.get('hour')) * 60 + Number(parts.get('minute')),
      weekday: weekdays.indexOf(parts.get('weekday') ?? '') + 1,
    }
  } catch {
    return unreadable
  }
}

const none: LocalTimes = new Map()
export const localTimes = (time: unknown, zones: readonly string[]): LocalTimes =>
  zones.length === 0 ? none : new Map(zones.map((zone) => [zone, localTime(time, zone)]))

/** A request as a rule sees it that lives in a zone: put together when the first one asks, and the same for whoever asks again. */
export const attributesIn = ({ time: _, ...said }: RequestAttributes, times: LocalTimes): AttributesIn => {
  const seen = new Map<string, Attributes>()
  return (zone) => {
    const known = seen.get(zone) ?? { ...said, ...(times.get(zone) ?? unreadable) }
    seen.set(zone, known)
    return known
  }
}
