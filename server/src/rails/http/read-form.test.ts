import { issueOAuthToken } from '@gatehouse/contract/oauth'
import type { Operation } from '@gatehouse/contract/operation'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readForm } from './read-form.ts'

const read = (text: string | Buffer) => readForm(issueOAuthToken as Operation, Buffer.from(text))

test('TI-17 the fields that are known, decoded; others are not looked at, and one without a value is not there', () => {
  expect(read('grant_type=a+b%2Bc&scope=&unknown=1&resource&client_id=%C3%A9')).toEqual({ grant_type: 'a b+c', client_id: 'é' })
  expect(read('scope=a=b')).toEqual({ scope: 'a=b' })
  expect(read('')).toEqual({})
})

test('TI-15 TI-17 a text is what was sent: no second spelling becomes a token, or a secret', () => {
  expect(read('scope=e%CC%81')).toEqual({ scope: 'e\u0301' })
  expect(read('client_secret=ghsa_%E2%84%AA')).toEqual({ client_secret: 'ghsa_\u212a' })
})

test('TI-17 where nothing stands between two separators there is no field', () => {
  expect(read('&grant_type=a&&scope=b&')).toEqual({ grant_type: 'a', scope: 'b' })
  expect(read('&&')).toEqual({})
})

test.for(['a=1&a=2', 'a&a', '=1&=2', '%61=1&a=1', 'scope=%', 'scope=%zz', 'scope=%c3', 'scope=%00', 'scope=%ed%a0%80', '%00=1'])(
  'TI-17 %s is refused',
  (text) => {
    expect(() => read(text)).toThrow(expect.objectContaining({ code: 'invalid_request' }))
  },
)

test('HO-04 a name that reaches a prototype is a name like another, and none that is known', () => {
  expect(read('__proto__=1&constructor=2&toString=3&hasOwnProperty=4')).toEqual({})
  expect(({} as Record<string, unknown>).grant_type).toBeUndefined()
})

test('TI-17 whatever bytes come, they are read as a form or refused by name; and read alike by whoever knows forms', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.constantFrom('scope', 'audience', 'grant_type'), fc.string()), { maxLength: 3 }), (pairs) => {
      const text = new URLSearchParams(pairs).toString()
      const names = pairs.map(([name]) => name)
      if (new Set(names).size !== names.length || pairs.some(([, value]) => value.includes('\0'))) return
      const expected = Object.fromEntries(pairs.filter(([, value]) => value !== '').map(([name, value]) => [name, value]))
      expect(read(text)).toEqual(expected)
    }),
  )
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      try {
        read(Buffer.from(bytes))
      } catch (error) {
        expect(error).toMatchObject({ code: 'invalid_request' })
      }
    }),
  )
})
