type Json = unknown

/** A document with every reference to a named schema replaced by that schema, for readers that follow none. Refusals stay as they are named. */
export const inlined = <D extends { components: { schemas: object } }>(document: D): D => {
  const schemas = document.components.schemas as Record<string, Json>
  const replaced = (value: Json): Json => {
    if (Array.isArray(value)) return value.map(replaced)
    if (typeof value !== 'object' || value === null) return value
    const name = /^#\/components\/schemas\/(\w+)$/.exec(String((value as { $ref?: string }).$ref))?.[1]
    if (name !== undefined && name !== 'Problem' && name !== 'OAuthError') return replaced(schemas[name])
    return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, replaced(member)]))
  }
  return replaced(document) as D
}
