import { operations } from '@gatehouse/contract/operations'
import { Exactly } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { expect, test } from 'vitest'
import { compileValidator } from './validation.ts'

const schema = Exactly({ names: Type.Array(Type.String(), { maxItems: 10 }) })
const validate = compileValidator({ schema, method: 'POST', url: '/', httpPart: 'body' }) as {
  (value: unknown): boolean
  errors: readonly object[] | null
}
const errorsOf = (value: unknown) => (validate(value) ? 0 : validate.errors!.length)

test('HO-04 all that is wrong with a request is told at once, unless it is so much that telling it would be dear', () => {
  expect(errorsOf({ names: ['a'] })).toBe(0)
  expect(errorsOf({ names: [1, 2], other: 3, another: 4 })).toBe(4)
  expect(errorsOf({ names: Array(900).fill(1) })).toBe(901)
  expect(errorsOf({ names: Array(100_000).fill(1) })).toBe(1)
  expect(errorsOf({ names: ['a'], ...Object.fromEntries(Array.from({ length: 20_000 }, (_, n) => [`k${n}`, 1])) })).toBe(1)
  // What was wrong with the one before is forgotten.
  expect(errorsOf({ names: [] })).toBe(0)
  expect(validate.errors).toBe(null)
})

type Compiled = (value: unknown) => boolean
const compiled = (of: object) => compileValidator({ schema: of, method: 'POST', url: '/', httpPart: 'body' }) as Compiled

// They are compiled when first asked for, so a server would start with one that cannot be.
test.for(operations.map(({ id, params, query, body }) => [id, [params, query, body]] as const))(
  'HO-04 what %s takes can be compiled',
  ([, schemas]) => {
    for (const each of schemas) if (each) expect(compiled(each)('a text, which no operation takes')).toBe(false)
  },
)

test('a schema that cannot be compiled is found by asking', () => {
  expect(() => compiled({ type: 'no such type' })({})).toThrow('type')
})
