import type { Operation } from '@gatehouse/contract/operation'
import { type Path, placesIn } from '@gatehouse/contract/schema-places'
import { uuidPattern } from '@gatehouse/contract/shapes'
import type { TSchema } from 'typebox'
import type { Asking } from './asking.ts'

type Recorded = Readonly<Record<string, string | readonly string[]>>

/** What a filter calls an id and takes as a text, because some ids are no UUIDs: `actor_id` of the product itself, a `jti`. */
const calledId = /^(?:\w+_id|jti)$/
const isUuid = new RegExp(uuidPattern)

const isIdAt = ({ path, schema: { type, pattern } }: ReturnType<typeof placesIn>[number]): boolean =>
  pattern === uuidPattern || (type === 'string' && calledId.test(path.at(-1) ?? ''))

const known = new WeakMap<TSchema, readonly Path[]>()
/**
 * Where a request can hold ids, by its declared shape: a free text may look like an id and be somebody's secret. What is found there counts
 * only if it is a UUID.
 */
export const idPathsOf = (schema: TSchema | undefined): readonly Path[] => {
  if (schema === undefined) return []
  const before = known.get(schema)
  if (before) return before
  const paths = placesIn(schema).flatMap((place) => (isIdAt(place) ? [place.path] : []))
  known.set(schema, paths)
  return paths
}

const foundAt = (value: unknown, [member, ...rest]: Path): string[] => {
  if (member === undefined) return typeof value === 'string' && isUuid.test(value) ? [value] : []
  if (member === '[]') return Array.isArray(value) ? value.flatMap((each) => foundAt(each, rest)) : []
  return typeof value === 'object' && value !== null ? foundAt((value as Record<string, unknown>)[member], rest) : []
}

/** More than these are not named one by one: a row of the record has a bounded size. */
const most_ids = 50

export const askedName = (path: Path): string => `asked_${path.filter((member) => member !== '[]').join('_')}`

const idsAt = (schema: TSchema | undefined, value: unknown): [string, string | readonly string[]][] =>
  idPathsOf(schema).flatMap((path): [string, string | readonly string[]][] => {
    const found = [...new Set(foundAt(value, path))]
    if (found.length === 0) return []
    return [[askedName(path), path.includes('[]') ? found.slice(0, most_ids) : found[0]!]]
  })

/** The ids that a request named, each as `asked_` and its member: what was asked for, whether or not it exists. */
export const askedIds = (
  { params: in_path, query: in_query, body: in_body }: Pick<Operation, 'params' | 'query' | 'body'>,
  { params, query, body, project_header }: Asking,
): Recorded => ({
  ...Object.fromEntries([...idsAt(in_path, params), ...idsAt(in_query, query), ...idsAt(in_body, body)]),
  ...(project_header === undefined ? {} : { asked_project_header: project_header }),
})

/** Words of letters, with a few digits at the end of each: a name that people give to things, and no secret. */
const name_like = /^(?:https:\/\/)?[a-z]{1,30}\d{0,3}(?:[._:/-][a-z]{0,30}\d{0,3}){0,12}$/

/** What a caller wrote where a name belongs: recorded if it looks like one, since a secret may have taken a wrong turn. */
export const askedWord = (text: string): string => (text.length <= 100 && name_like.test(text) ? text : '[withheld]')
