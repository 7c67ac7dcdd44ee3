import { operations } from '@gatehouse/contract/operations'
import { expect, test } from 'vitest'
import { holdsSecret } from '#ground/kernel/secret-in-text.ts'
import { examples } from './examples.ts'
import { compileValidator } from './validation.ts'

const fits = (schema: object, value: unknown): boolean =>
  (compileValidator({ schema, method: 'POST', url: '/', httpPart: 'body' }) as (value: unknown) => boolean)(structuredClone(value))

test('HO-04 OpenAPI: every operation has an example, and there is none of anything else', () => {
  expect(Object.keys(examples).sort()).toEqual(operations.map(({ id }) => id).sort())
})

test.for(operations.map((operation) => [operation.id, operation] as const))(
  'HO-04 the example of %s fits its schemas',
  ([id, operation]) => {
    const { params = {}, body, reply } = examples[id]!
    expect(fits(operation.params, params)).toBe(true)
    // What needs a body shows one.
    const needed = (operation.body as { required?: string[] } | undefined)?.required ?? []
    if (needed.length > 0) expect(Object.keys(body as object)).toEqual(expect.arrayContaining(needed))
    if (operation.body && body !== undefined) expect(fits(operation.body, body)).toBe(true)
    expect(reply !== undefined).toBe(operation.reply !== undefined)
    if (operation.reply) expect(fits(operation.reply, reply)).toBe(true)
  },
)

test('TI-19 no example holds a secret that opens anything', () => {
  const texts = JSON.stringify(examples).match(/"(?:[^"\\]|\\.)*"/g)!
  // What is left of a secret is its prefix.
  const open = texts.map((text) => text.slice(1, -1)).filter((text) => holdsSecret(text) && !/^gh[a-z]{2}_x+$/.test(text))
  expect(open).toEqual([])
})
