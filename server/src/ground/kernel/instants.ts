const rfc3339 = /^(\d{4}-\d\d-\d\d)[Tt]([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.(\d+))?(?:[Zz]|([+-])([01]\d|2[0-3]):([0-5]\d))$/
const yearOne = Date.parse('0001-01-01T00:00:00.000Z')
const afterLast = Date.parse('9999-12-31T23:59:59.999Z')

/**
 * An instant of RFC 3339, with any offset and any fraction, in the one form in which we keep and tell instants: UTC with milliseconds. What
 * is finer is cut off. Undefined where the text is none, or names a day that no calendar has: PostgreSQL knows no year before 1.
 */
export const readInstant = (text: string): string | undefined => {
  const found = rfc3339.exec(text)
  if (!found) return undefined
  const [, day, hour, minute, second, fraction = '', sign, aheadHours = '0', aheadMinutes = '0'] = found
  const local = Date.parse(`${day}T${hour}:${minute}:${second}.${fraction.slice(0, 3).padEnd(3, '0')}Z`)
  // The 30th of February is no date, or is read as another one.
  if (Number.isNaN(local) || !new Date(local).toISOString().startsWith(day!)) return undefined
  const ahead = (Number(aheadHours) * 60 + Number(aheadMinutes)) * 60_000
  const instant = sign === '-' ? local + ahead : local - ahead
  return instant >= yearOne && instant <= afterLast ? new Date(instant).toISOString() : undefined
}
