import fc from 'fast-check'
import { parse as parseLossless, parseNumberAndBigInt } from 'lossless-json'
import { expect, test } from 'vitest'
import { seededNumber } from '../../../../test/sweep.ts'
import { JsonRefused } from './json-refused.ts'
import { parseStrictJson } from './strict-json.ts'

const none = Symbol('refused')
const ours = (text: string): unknown => {
  try {
    return parseStrictJson(Buffer.from(text, 'utf8'))
  } catch (error) {
    expect(error).toBeInstanceOf(JsonRefused)
    return none
  }
}
/** A parser of other people, which reads character by character and refuses two members of one name where they differ. */
const theirs = (text: string): unknown => {
  try {
    return parseLossless(text, undefined, (number) => Number(parseNumberAndBigInt(number)))
  } catch {
    return none
  }
}

const poisoned = ['__proto__', 'constructor', 'prototype']
const names = fc.constantFrom('a', 'b', 'a\\b', '"', 'é', '\u{1f600}', '\t', '').filter((name) => !poisoned.includes(name))
const { value: ordinary } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    fc.string({ unit: 'grapheme-ascii', maxLength: 6 }),
    fc.constantFrom('\\', '\\u', '{"', '\u0001', '\u2028'),
    fc.integer(),
    fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e10, max: 1e10 }).filter((number) => !Object.is(number, -0)),
    fc.constantFrom(true, false, null),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(names, tie('value'), { maxKeys: 4 }),
  ),
}))
/** How one value is written: with blanks, escapes and exponents that nobody needs. */
const spelled = fc.tuple(ordinary, fc.constantFrom('', ' ', '\n\t'), fc.boolean()).map(([value, blank, isEscaped]) => {
  const text = JSON.stringify(value, null, blank.replace('\n\t', '  '))
  return isEscaped ? text.replaceAll('é', '\\u00e9') : text
})

const seed = seededNumber('strict JSON beside lossless-json')

test('HO-04 strict JSON: whatever is JSON → the same value as lossless-json reads', () => {
  fc.assert(
    fc.property(spelled, (text) => {
      const read = ours(text)
      expect(read).not.toBe(none)
      expect(read).toEqual(theirs(text))
    }),
    { seed, numRuns: 500 },
  )
})

test('HO-04 strict JSON: a character is cut out, doubled or replaced → never accepted where lossless-json refuses', () => {
  const change = fc.tuple(
    spelled,
    fc.nat(),
    fc.constantFrom('', '"', '\\', '{', '}', '[', ']', ',', ':', '0', '-', '.', 'e', ' ', 'n', '\u0000', '\ufeff', '/'),
  )
  let refused = 0
  fc.assert(
    fc.property(change, fc.boolean(), ([text, place, put], isInserted) => {
      const at = place % Math.max(1, text.length)
      const spoiled = (text.slice(0, at) + put + text.slice(isInserted ? at : at + 1)).toWellFormed()
      const read = ours(spoiled)
      if (read === none) {
        refused += 1
        return
      }
      // As they are written: one of the two tells `-0` from `0`.
      expect(JSON.stringify(read)).toBe(JSON.stringify(theirs(spoiled)))
    }),
    { seed, numRuns: 2000 },
  )
  expect(refused).toBeGreaterThan(300)
})

test('HO-04 strict JSON: two members of one name, in any spelling → refused, as by lossless-json', () => {
  for (const text of ['{"a":1,"a":2}', '{"a":1,"\\u0061":2}', '[{"b":{"x":1,"x":[]}}]'])
    expect([text, ours(text), theirs(text)]).toEqual([text, none, none])
})
