import type { Operation } from '../../contract/src/operation.ts'
import { uuidPattern } from '../../contract/src/shapes.ts'
import type { Asked } from './calls.ts'

/** Where a request names something: in which part, under which names, and of which kind it is. `[]` is the first of a list. */
export interface IdPlace {
  readonly part: 'params' | 'query' | 'body' | 'header'
  readonly path: readonly string[]
  readonly kind: string
}

interface Schema {
  readonly description?: string
  readonly pattern?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
}

const kindOf = ({ description = '' }: Schema): string => /^The id of one (.+) \(a UUID\)\.$/.exec(description)?.[1] ?? 'nothing of ours'

const placesIn = (part: IdPlace['part'], schema: Schema | undefined, path: readonly string[] = []): IdPlace[] => {
  if (!schema) return []
  if (schema.pattern === uuidPattern) return [{ part, path, kind: kindOf(schema) }]
  return [
    ...Object.entries(schema.properties ?? {}).flatMap(([name, member]) => placesIn(part, member, [...path, name])),
    ...placesIn(part, schema.items, [...path, '[]']),
    ...(schema.anyOf ?? []).flatMap((each) => placesIn(part, each, path)),
  ]
}

/** Every id that an operation takes, however deep it stands. */
export const idPlacesOf = (operation: Operation): IdPlace[] => [
  ...placesIn('params', operation.params as Schema),
  ...placesIn('query', operation.query as Schema),
  ...placesIn('body', operation.body as Schema | undefined),
  ...(operation.takes_project_header ? [{ part: 'header', path: ['x-project-id'], kind: 'project' } as const] : []),
]

type Json = Readonly<Record<string, unknown>> | readonly unknown[]
/** A copy with something else in that place; what leads there is made where it is not there. */
const replaced = (value: unknown, [name, ...rest]: readonly string[], id: string): unknown => {
  if (name === undefined) return id
  if (name === '[]') {
    const [first, ...others] = Array.isArray(value) ? value : []
    return [replaced(first, rest, id), ...others]
  }
  const members = (value ?? {}) as Json & Record<string, unknown>
  return { ...members, [name]: replaced(members[name], rest, id) }
}

/** The same request with that id in that place. */
export const withId = (asked: Asked, { part, path }: IdPlace, id: string): Asked & { headers?: Record<string, string> } => {
  if (part === 'params') return { ...asked, params: { ...asked.params, [path[0]!]: id } }
  if (part === 'body') return { ...asked, body: replaced(asked.body, path, id) as Record<string, unknown> }
  if (part === 'header') return { ...asked, headers: { [path[0]!]: id } }
  const query = new URLSearchParams(asked.query)
  query.set(path[0]!, id)
  return { ...asked, query: `${query}` }
}
