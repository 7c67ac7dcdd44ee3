import { type Path, placesIn, type Schema } from '@gatehouse/contract/schema-places'
import { uuidPattern } from '@gatehouse/contract/shapes'
import { readInstant } from '#ground/kernel/instants.ts'

type Settle = (text: string) => string
interface Spelled {
  readonly path: Path
  readonly settle: Settle
}

const lowerCase: Settle = (text) => text.toLowerCase()
const oneForm: Settle = (text) => readInstant(text) ?? text
const settlerOf = ({ pattern, format }: Schema): Settle | undefined => {
  if (pattern === uuidPattern) return lowerCase
  return format === 'date-time' ? oneForm : undefined
}

const known = new WeakMap<Schema, readonly Spelled[]>()
/** Found once for each schema: a request is read only where an id or an instant can stand. */
const spelledIn = (schema: Schema): readonly Spelled[] => {
  const before = known.get(schema)
  if (before) return before
  const found = placesIn(schema).flatMap((place): Spelled[] => {
    const settle = settlerOf(place.schema)
    return settle ? [{ path: place.path, settle }] : []
  })
  known.set(schema, found)
  return found
}

const settledAt = (value: unknown, spelled: Spelled, depth = 0): unknown => {
  const member = spelled.path[depth]
  if (member === undefined) return typeof value === 'string' ? spelled.settle(value) : value
  if (Array.isArray(value)) return member === '[]' ? value.map((each) => settledAt(each, spelled, depth + 1)) : value
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, member)) return value
  const members = value as Record<string, unknown>
  members[member] = settledAt(members[member], spelled, depth + 1)
  return members
}

/**
 * The value with every id in it in lower case, as the database spells it, and every instant in the one form that we keep. Both are compared
 * as texts too ("is this yourself?"), so a second spelling would be a way round such a question. Runs before validation: what does not fit
 * is left as it is.
 */
export const settleSpellings = (schema: Schema, value: unknown): unknown =>
  spelledIn(schema).reduce((settled, spelled) => settledAt(settled, spelled), value)
