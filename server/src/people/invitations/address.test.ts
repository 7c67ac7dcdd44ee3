import { expect, test } from 'vitest'
import { settleAddress } from './address.ts'

test('RP-33 an address is trimmed and in lower case', () => {
  expect(settleAddress('  Ann.Example@Mail.EXAMPLE\t')).toBe('ann.example@mail.example')
  expect(settleAddress('\u00e9va.STRA\u00dfE@mail.example')).toBe('\u00e9va.stra\u00dfe@mail.example')
})

test.each([
  ['a Kelvin sign, whose small letter is a k', '\u212aate@mail.example'],
  ['a capital I with a dot', '\u0130da@mail.example'],
  ['a capital that is not of ASCII', '\u00c9va@mail.example'],
])('RP-33 %s is refused', (_, address) => {
  expect(() => settleAddress(address)).toThrow(expect.objectContaining({ code: 'validation_error' }))
})

test('RP-33 what looks like another letter is another address', () => {
  // Cyrillic a, dotless i.
  for (const address of ['\u0430nn@mail.example', 'n\u0131na@mail.example']) expect(settleAddress(address)).toBe(address)
})
