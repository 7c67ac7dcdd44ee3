import type { Attributes } from '../policies/condition.ts'

type LocalTime = Pick<Attributes, 'minute_of_day' | 'weekday'>

/** What one instant is in each zone that a rule names. */
export type LocalTimes = ReadonlyMap<string, LocalTime>

/** There is a time, only nobody can read it: a rule that looks at it cannot judge, and one that asks whether it is there is told that it is. */
export const unreadable: LocalTime = { minute_of_day: Number.NaN, weekday: Number.NaN }

/** What a zone's clock showed last: within one second everybody reads the same from it. */
interface Clock {
  readonly format: Intl.DateTimeFormat
  second: number
  shown: LocalTime
}

/** One for each zone, of which there are some hundreds; a name in other letters is no other zone, or there would be no end of them. */
const clocks = new Map<string, Clock>()
const clockOf = (name: string): Clock => {
  const zone = name.toLowerCase()
  const known = clocks.get(zone)
  if (known) return known
  const format = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    hourCycle: 'h23',
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
  })
  const clock = { format, second: Number.NaN, shown: unreadable }
  clocks.set(zone, clock)
  return clock
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

const readFrom = (format: Intl.DateTimeFormat, instant: Date): LocalTime => {
  const parts = new Map(format.formatToParts(instant).map(({ type, value }) => [type, value]))
  return {
    minute_of_day: Number(parts.get('hour')) * 60 + Number(parts.get('minute')),
    weekday: weekdays.indexOf(parts.get('weekday') ?? '') + 1,
  }
}

const shownIn = (zone: string, instant: Date): LocalTime => {
  try {
    const clock = clockOf(zone)
    const second = Math.floor(instant.getTime() / 1000)
    if (clock.second !== second) Object.assign(clock, { second, shown: readFrom(clock.format, instant) })
    return clock.shown
  } catch {
    return unreadable
  }
}

/** Where no rule names a zone, nobody asks. */
export const noTimes: LocalTimes = new Map()

/** The minute and the weekday of an instant in each of these zones. */
export const localTimes = (time: unknown, zones: readonly string[]): LocalTimes => {
  const instant = instantOf(time)
  return new Map(zones.map((zone) => [zone, instant ? shownIn(zone, instant) : unreadable]))
}
