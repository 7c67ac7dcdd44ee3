import type { Operation } from '../../contract/src/operation.ts'
import { placesIn, type Schema } from '../../contract/src/schema-places.ts'
import { uuidPattern } from '../../contract/src/shapes.ts'
import type { Asked } from './calls.ts'

/** Where a request names something: in which part, under which names, and of which kind it is. `[]` is the first of a list. */
export interface IdPlace {
  readonly part: 'params' | 'query' | 'body' | 'header'
  readonly path: readonly string[]
  readonly kind: string
}

const kindOf = ({ description = '' }: Schema): string => /^The id of one (.+) \(a UUID\)\.$/.exec(description)?.[1] ?? 'nothing of ours'

const idsIn = (part: IdPlace['part'], whole: Schema | undefined): IdPlace[] =>
  placesIn(whole).flatMap(({ path, schema }) => (schema.pattern === uuidPattern ? [{ part, path, kind: kindOf(schema) }] : []))

/** Every id that an operation takes, however deep it stands. */
export const idPlacesOf = (operation: Operation): IdPlace[] => [
  ...idsIn('params', operation.params),
  ...idsIn('query', operation.query),
  ...idsIn('body', operation.body),
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
