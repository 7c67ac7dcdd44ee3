import { operations } from '@gatehouse/contract/operations'
import { expect, test } from 'vitest'
import { compileSerializer } from './serialization.ts'

const spelling = (schema: object) => compileSerializer({ schema, method: 'GET', url: '/', httpStatus: '200' })

// They are made when first needed, so a server would start with one that cannot be.
test.for(operations.flatMap(({ id, reply }) => (reply ? [[id, reply] as const] : [])))(
  'HO-04 what %s answers can be spelled',
  ([, reply]) => {
    // Whatever is missing, the serializer itself was made.
    expect(() => spelling(reply)({})).toThrow(/required|does not match/)
  },
)

test('what is not declared is not told', () => {
  expect(spelling({ type: 'object', properties: { a: { type: 'string' } } })({ a: 'x', secret: 'y' })).toBe('{"a":"x"}')
  expect(() => spelling({ type: 'object', properties: { a: { $ref: 'nowhere#' } } })({ a: 1 })).toThrow()
})
