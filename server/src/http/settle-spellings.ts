import { uuidPattern } from '@gatehouse/contract/shapes'
import { readInstant } from '../kernel/instants.ts'

interface Schema {
  readonly pattern?: string
  readonly format?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
}

type Settle = (value: unknown) => unknown

/** Null: neither an id nor an instant can stand there. */
const settlers = new WeakMap<Schema, Settle | null>()
/** What is to be done by a schema is found out once, and only the members that can hold an id or an instant are looked at. */
const settlerOf = (schema: Schema): Settle | null => {
  const known = settlers.get(schema)
  if (known !== undefined) return known
  const settler = compile(schema)
  settlers.set(schema, settler)
  return settler
}

const compile = ({ pattern, format, properties = {}, items, anyOf = [] }: Schema): Settle | null => {
  const isId = pattern === uuidPattern
  const isInstant = format === 'date-time'
  const choices = anyOf.map(settlerOf).filter((settler) => settler !== null)
  const item = items ? settlerOf(items) : null
  const members = Object.entries(properties).flatMap(([name, member]) => {
    const settler = settlerOf(member)
    return settler ? [{ name, settler }] : []
  })
  if (!isId && !isInstant && choices.length === 0 && !item && members.length === 0) return null
  return (value) => {
    if (isId) return typeof value === 'string' ? value.toLowerCase() : value
    if (isInstant) return typeof value === 'string' ? (readInstant(value) ?? value) : value
    if (choices.length > 0) return choices.reduce((settled, settler) => settler(settled), value)
    if (Array.isArray(value)) return item ? value.map(item) : value
    if (typeof value !== 'object' || value === null) return value
    const given = value as Record<string, unknown>
    for (const { name, settler } of members) if (Object.hasOwn(given, name)) given[name] = settler(given[name])
    return given
  }
}

/**
 * The value with every id in it in lower case, as the database spells it, and every instant in the one form that we keep. Both are compared
 * as texts too ("is this yourself?"), so a second spelling would be a way round such a question. Runs before validation: what does not fit
 * is left as it is.
 */
export const settleSpellings = (schema: Schema, value: unknown): unknown => {
  const settler = settlerOf(schema)
  return settler ? settler(value) : value
}
