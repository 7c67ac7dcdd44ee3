import { expect, test } from 'vitest'
import { arrayText } from './array-text.ts'

test('an array becomes one text, and one of other kinds is left as it is', () => {
  expect(arrayText(['a', 'b "c" \\', '', 'NULL', null])).toBe('{"a","b \\"c\\" \\\\","","NULL",NULL}')
  expect(arrayText([1, -2, null])).toBe('{1,-2,NULL}')
  expect(arrayText([Buffer.from('x')])).toBe('{"\\\\x78"}')
  expect(arrayText([])).toBe('{}')
  for (const other of [[['a']], [true], [{ a: 1 }], [undefined]]) expect(arrayText(other)).toBe(other)
})
