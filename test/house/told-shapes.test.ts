import { operations } from '@gatehouse/contract/operations'
import { patternWords } from '@gatehouse/contract/pattern-words'
import { placesIn, type Schema } from '@gatehouse/contract/schema-places'
import { expect, test } from 'vitest'

/** Every member of a schema, however deep, with its own name; an item of a list has the name of the list. */
const membersOf = (schema: Schema | undefined) =>
  placesIn(schema).map((place) => ({ name: place.path.findLast((name) => name !== '[]') ?? '', schema: place.schema }))

test('HO-04 every pattern of a request is said in words', () => {
  const patterns = operations
    .flatMap(({ params, query, body }) => [params, query, body].flatMap((each) => membersOf(each)))
    .flatMap(({ schema: { pattern } }) => (pattern === undefined ? [] : [pattern]))
  expect(patterns.length).toBeGreaterThan(100)
  expect([...new Set(patterns)].filter((pattern) => !Object.hasOwn(patternWords, pattern))).toEqual([])
  expect(Object.keys(patternWords).filter((pattern) => !patterns.includes(pattern))).toEqual([])
})

const isTime = (name: string) => /(?:_at|_until|_after|_before|^since|_since)$/.test(name)
test('HO-04 every time in an answer has the one form, and every time in a request may have any', () => {
  const canonical = '^\\d{4}-\\d{2}-\\d{2}T\\d{2}:\\d{2}:\\d{2}\\.\\d{3}Z$'
  const texts = (schema: Schema | undefined) => membersOf(schema).filter(({ name, schema }) => isTime(name) && schema.type === 'string')
  const answered = operations.flatMap(({ id, reply }) => texts(reply).map((each) => ({ id, ...each })))
  expect(answered.length).toBeGreaterThan(100)
  expect(answered.filter(({ schema }) => schema.pattern !== canonical).map(({ id, name }) => `${id} ${name}`)).toEqual([])
  const given = operations.flatMap(({ id, query, body }) => [query, body].flatMap((each) => texts(each).map((one) => ({ id, ...one }))))
  expect(given.length).toBeGreaterThan(5)
  expect(
    given.filter(({ schema: { format, pattern } }) => format !== 'date-time' || pattern).map(({ id, name }) => `${id} ${name}`),
  ).toEqual([])
})

/** The same thing under two names: one has the prefix `is_`, or a unit, that the other lacks. */
const bare = (name: string) => name.replace(/^(?:is|has)_/, '').replace(/_(?:seconds|id|ids)$/, '')
test('HO-04 one name for one field: no member of a body is answered under another spelling', () => {
  const twice = operations.flatMap(({ id, body, reply }) => {
    const out = new Set(membersOf(reply).map(({ name }) => name))
    return membersOf(body)
      .filter(({ name }) => name !== '' && !out.has(name) && [...out].some((each) => bare(each) === bare(name)))
      .map(({ name }) => `${id} ${name}`)
  })
  expect(twice).toEqual([])
})
