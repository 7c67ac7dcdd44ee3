import { uuidPattern } from '@gatehouse/contract/shapes'

interface Schema {
  readonly pattern?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
}

/**
 * The value with every id in it in lower case, as the database spells it. Ids are compared as texts too ("is this yourself?"),
 * so a second spelling would be a way round such a question. Runs before validation: what does not fit is left as it is.
 */
export const settleIds = (schema: Schema, value: unknown): unknown => {
  if (typeof value === 'string')
    return schema.pattern === uuidPattern || schema.anyOf?.some(({ pattern }) => pattern === uuidPattern) ? value.toLowerCase() : value
  if (typeof value !== 'object' || value === null) return value
  if (schema.anyOf) return schema.anyOf.reduce((settled, each) => settleIds(each, settled), value as unknown)
  if (Array.isArray(value)) return schema.items ? value.map((item) => settleIds(schema.items!, item)) : value
  const { properties = {} } = schema
  for (const [name, member] of Object.entries(value))
    if (Object.hasOwn(properties, name)) (value as Record<string, unknown>)[name] = settleIds(properties[name]!, member)
  return value
}
