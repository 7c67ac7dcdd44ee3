import { uuidPattern } from '@gatehouse/contract/shapes'

interface Schema {
  readonly pattern?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
}

type Settle = (value: unknown) => unknown

/** Null: no id can stand there. */
const settlers = new WeakMap<Schema, Settle | null>()
/** What is to be done by a schema is found out once, and only the members that can hold an id are looked at. */
const settlerOf = (schema: Schema): Settle | null => {
  const known = settlers.get(schema)
  if (known !== undefined) return known
  const settler = compile(schema)
  settlers.set(schema, settler)
  return settler
}

const compile = ({ pattern, properties = {}, items, anyOf = [] }: Schema): Settle | null => {
  const isId = pattern === uuidPattern
  const choices = anyOf.map(settlerOf).filter((settler) => settler !== null)
  const item = items ? settlerOf(items) : null
  const members = Object.entries(properties).flatMap(([name, member]) => {
    const settler = settlerOf(member)
    return settler ? [{ name, settler }] : []
  })
  if (!isId && choices.length === 0 && !item && members.length === 0) return null
  return (value) => {
    if (isId) return typeof value === 'string' ? value.toLowerCase() : value
    if (choices.length > 0) return choices.reduce((settled, settler) => settler(settled), value)
    if (Array.isArray(value)) return item ? value.map(item) : value
    if (typeof value !== 'object' || value === null) return value
    const given = value as Record<string, unknown>
    for (const { name, settler } of members) if (Object.hasOwn(given, name)) given[name] = settler(given[name])
    return given
  }
}

/**
 * The value with every id in it in lower case, as the database spells it. Ids are compared as texts too ("is this yourself?"),
 * so a second spelling would be a way round such a question. Runs before validation: what does not fit is left as it is.
 */
export const settleIds = (schema: Schema, value: unknown): unknown => {
  const settler = settlerOf(schema)
  return settler ? settler(value) : value
}
