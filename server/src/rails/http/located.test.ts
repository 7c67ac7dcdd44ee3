import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Problem } from '#ground/kernel/problem.ts'
import { parseStrictJson } from '#ground/kernel/strict-json.ts'
import { processorMs } from '../../../../test/cpu-time.ts'
import { seededNumber } from '../../../../test/sweep.ts'
import { located } from './located.ts'

const malformedAt = (bytes: Buffer) => {
  try {
    parseStrictJson(bytes)
    return undefined
  } catch (error) {
    return (located(error as Error, bytes) as Problem).details?.position
  }
}

const at = (text: string) => malformedAt(Buffer.from(text))?.byte
const isJson = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

// The position is where the token begins that cannot stand there.
describe('where JSON stops being JSON', () => {
  test.for([
    ['', 0],
    ['{', 1],
    ['{"a" 1}', 5],
    ['{"a":1,}', 7],
    ['{a:1}', 1],
    ["{'a':1}", 1],
    ['[1,2,]', 5],
    ['[1 2]', 3],
    ['{"a":1}}', 7],
    ['{"a":tru}', 5],
    ['{"a":"b\nc"}', 7],
    ['"\\x"', 1],
    ['"\\u12g4"', 1],
    ['01', 1],
    ['-', 0],
    ['1.', 1],
    ['1e+', 1],
    ['.5', 0],
    ['NaN', 0],
    ['"abc', 4],
    ['[[[', 3],
    ['// no\n1', 0],
  ] as const)('HO-04 malformed JSON: %s → byte %i', ([text, byte]) => {
    expect(at(text)).toBe(byte)
    expect(isJson(text)).toBe(false)
  })

  test('HO-04 malformed JSON: line and column begin with 1, columns are counted in characters', () => {
    expect(malformedAt(Buffer.from('{\n  "a": 1,\n  "é": x\n}'))).toEqual({ line: 3, column: 8, byte: 20 })
    expect(malformedAt(Buffer.from('{"🙂": x}'))).toEqual({ line: 1, column: 7, byte: 9 })
  })

  test('HO-04 malformed JSON: any text with a character changed → a position only where JSON.parse refuses too', () => {
    const change = fc.tuple(
      fc.json({ maxDepth: 4 }),
      fc.nat(),
      fc.constantFrom('', '"', '\\', '{', '}', '[', ']', ',', ':', '0', '-', '.', 'e', 'u', ' ', '\n'),
    )
    let malformed = 0
    fc.assert(
      fc.property(change, fc.boolean(), ([text, place, put], isInserted) => {
        const cut = place % (text.length + 1)
        const spoiled = (text.slice(0, cut) + put + text.slice(isInserted ? cut : cut + 1)).toWellFormed()
        const found = at(spoiled)
        if (found === undefined) return
        malformed += 1
        expect(isJson(spoiled)).toBe(false)
      }),
      { seed: seededNumber('json position'), numRuns: 3000 },
    )
    expect(malformed).toBeGreaterThan(500)
  })

  test('HO-10 malformed JSON: the largest body → found in linear time', () => {
    const size = 256 * 1024
    const worst = [
      '['.repeat(size),
      `"${'\\'.repeat(size)}`,
      `[${'"\\u0041",'.repeat(size / 9)}`,
      '\n'.repeat(size),
      `{${'"a":1,'.repeat(size / 6)}`,
    ]
    for (const text of worst) {
      const bytes = Buffer.from(text)
      malformedAt(bytes)
      expect(processorMs(() => malformedAt(bytes))).toBeLessThan(100)
    }
  })
})
