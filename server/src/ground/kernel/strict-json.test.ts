import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { processorMs } from '../../../../test/cpu-time.ts'
import { JsonRefused } from './json-refused.ts'
import { settleText } from './settle-text.ts'
import { parseStrictJson } from './strict-json.ts'

const parse = (text: string) => parseStrictJson(Buffer.from(text, 'utf8'))
type Parser = (text: string) => unknown

const isRefused = (parser: Parser, text: string): boolean => {
  try {
    parser(text)
    return false
  } catch (error) {
    if (parser === parse) expect(error).toBeInstanceOf(JsonRefused)
    return true
  }
}

const names = fc.string({ unit: 'grapheme', maxLength: 12 }).filter((name) => !['__proto__', 'constructor', 'prototype'].includes(name))
const leaves = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.integer(),
  // A zero below zero is written as any other.
  fc
    .double({ noNaN: true, noDefaultInfinity: true })
    .filter((number) => !Object.is(number, -0) && (!Number.isInteger(number) || Number.isSafeInteger(number))),
  fc.boolean(),
  fc.constant(null),
)
const { value: ordinary } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaves,
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(names, tie('value'), { maxKeys: 4 }),
  ),
}))
const settled = (value: unknown): unknown => {
  if (typeof value === 'string') return value.normalize('NFC')
  if (Array.isArray(value)) return value.map(settled)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name.normalize('NFC'), settled(member)]))
}
/** Such a name the ordinary parser may take for another. */
const hasEscapedName = (text: string) => /"(?:[^"\\]|\\.)*\\.(?:[^"\\]|\\.)*"\s*:/.test(text)
const holdsNul = (value: unknown) => JSON.stringify(value).includes('\\u0000')
const hasOneSpelling = (value: unknown): boolean => {
  if (typeof value !== 'object' || value === null) return true
  const keys = Object.keys(value).map((key) => key.normalize('NFC'))
  return new Set(keys).size === keys.length && Object.values(value).every(hasOneSpelling)
}

describe('ordinary documents', () => {
  test('HO-04 what both readers accept they read alike, whatever the white space', () => {
    fc.assert(
      fc.property(ordinary, fc.constantFrom('', ' ', '\t', '\n  '), (value, space) => {
        fc.pre(!holdsNul(value) && hasOneSpelling(value))
        const text = ` ${JSON.stringify(value, null, space)}\r\n`
        expect(parse(text)).toEqual(settled(value))
      }),
      { numRuns: 2000 },
    )
  })

  test('HO-04 any text at all is read as JSON.parse reads it or refused by name, and nothing else is thrown', () => {
    const pieces = fc.constantFrom(
      ...'{}[]:,"\\ \n0123456789.eE+-truefalsnx\u00e9\ud83d\ude00'.split(''),
      '\\u0041',
      '\\ud800',
      '"a"',
      '1e9',
    )
    const texts = fc.oneof(
      fc.array(pieces, { maxLength: 14 }).map((list) => list.join('')),
      fc.json({ noUnicodeString: false }),
      fc.string(),
    )
    let accepted = 0
    fc.assert(
      fc.property(texts, (given) => {
        // A lone surrogate has no UTF-8 to be sent in.
        const text = given.toWellFormed()
        if (isRefused(parse, text) || hasEscapedName(text)) return
        accepted += 1
        expect(parse(text)).toEqual(settled(JSON.parse(text)))
      }),
      { numRuns: 20_000 },
    )
    expect(accepted).toBeGreaterThan(1000)
  })

  test('HO-04 any bytes at all give a value or a refusal', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 40 }), (bytes) => {
        try {
          parseStrictJson(Buffer.from(bytes))
        } catch (error) {
          expect(error).toBeInstanceOf(JsonRefused)
        }
      }),
      { numRuns: 5000 },
    )
  })
})

const twice = ['{"a":1,"a":2}', '{"a":1,"b":{"c":1,"c":1}}', '[[{"a":1,"\\u0061":2}]]', '{"é":1,"e\u0301":2}', '{"a" :1, "a"\n:2}']

describe('what JSON.parse would let through', () => {
  test.for(twice)('HO-04 a member that appears twice is refused: %s', (text) => {
    expect(isRefused(parse, text)).toBe(true)
    // The control: the ordinary parser keeps one of the two and says nothing, so this test would notice it in our place.
    expect(isRefused(JSON.parse, text)).toBe(false)
  })

  test('the ordinary parser keeps the last of two members, which is why we have another', () => {
    expect(JSON.parse('{"role":"viewer","role":"owner"}')).toEqual({ role: 'owner' })
  })

  test('HO-04 an escaped name is read as it is, whatever names anybody sent before', () => {
    // After an object of the same beginning with such a name, the ordinary parser reads the next escaped one by its first letters as they are written.
    for (const taught of ['{"x":1,"\\\\":2}', '{"y":1,"a\\\\":2}', '{"z":{"w":0},"\\\\u005f_pr":2}'])
      for (let turn = 0; turn < 3; turn += 1) {
        JSON.parse(taught)
        parse(taught)
      }
    expect(parse('{"x":1,"\\u0061":2}')).toEqual({ x: 1, a: 2 })
    expect(parse('{"y":1,"a\\"":2}')).toEqual({ y: 1, 'a"': 2 })
    expect(parse('[{"y":{"b\\n":[{"x":"\\"","\\/":"\\\\"}]},"a\\u0062":2}]')).toEqual([{ y: { 'b\n': [{ x: '"', '/': '\\' }] }, ab: 2 }])
    for (const text of ['{"x":1,"\\u0078":2}', '{"y":1,"a\\"":2,"a\\u0022":3}', '{"z":{"w":0},"\\u005f_proto__":2}', '{"x":1,"\\u00g0":2}'])
      expect(isRefused(parse, text), text).toBe(true)
  })

  test('HO-04 a member may appear again in another object, or as a value', () => {
    expect(parse('{"a":{"a":"a"},"b":[{"a":1},{"a":2}],"c":"a"}')).toEqual({ a: { a: 'a' }, b: [{ a: 1 }, { a: 2 }], c: 'a' })
  })

  test('HO-04 names that reach a prototype are refused at every depth and in every spelling', () => {
    const spellings = ['__proto__', 'constructor', 'prototype', '\\u005f_proto__', 'c\\u006fnstructor']
    for (const name of spellings)
      for (let depth = 0; depth < 30; depth += 1) {
        const text = `${'{"a":['.repeat(Math.floor(depth / 2))}{"${name}":{"polluted":true}}${']}'.repeat(Math.floor(depth / 2))}`
        expect(isRefused(parse, text)).toBe(true)
        expect(isRefused(JSON.parse, text)).toBe(false)
      }
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
    expect(parse('{"a":"__proto__","b":["constructor"]}')).toEqual({ a: '__proto__', b: ['constructor'] })
  })

  test.for([
    ['an integer that a double cannot hold', '9007199254740993'],
    ['the same, negative', '-9007199254740993'],
    ['the same, spelled as a fraction', '{"a":[9007199254740993.0]}'],
    ['a number beyond all bounds', '1e400'],
    ['the same, negative and deep', '{"a":{"b":-1e400}}'],
    ['a lone high surrogate', '"\\ud800"'],
    ['a lone low surrogate in a name', '{"\\udc00":1}'],
    ['surrogates in the wrong order', '"\\udc00\\ud800"'],
    ['an escaped NUL', '"a\\u0000b"'],
    ['an escaped NUL in a name', '{"a\\u0000":1}'],
  ])('HO-04 %s is refused', ([, text]) => {
    expect(isRefused(parse, text!)).toBe(true)
    expect(isRefused(JSON.parse, text!)).toBe(false)
  })

  test('HO-04 the largest exact integers and paired surrogates are accepted', () => {
    expect(parse('[9007199254740991,-9007199254740991,"\\ud83d\\ude00",-0.5,1e3]')).toEqual([
      Number.MAX_SAFE_INTEGER,
      Number.MIN_SAFE_INTEGER,
      '😀',
      -0.5,
      1000,
    ])
  })
})

describe('depth and encoding', () => {
  test('HO-04 32 levels are read, 33 are not, and 100 000 cost nothing', () => {
    const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth)
    expect(isRefused(parse, nested(32))).toBe(false)
    expect(isRefused(parse, nested(33))).toBe(true)
    for (const text of [nested(100_000), '{"a":'.repeat(50_000)])
      expect(processorMs(() => expect(isRefused(parse, text)).toBe(true))).toBeLessThan(1000)
    expect(parse(JSON.stringify('['.repeat(1000)))).toBe('['.repeat(1000))
  })

  test('HO-04 an object has at most 1000 members, wherever it stands; lists may be longer', () => {
    const object = (size: number) => `{${Array.from({ length: size }, (_, n) => `"k${n}":1`).join(',')}}`
    expect(Object.keys(parse(object(1000)) as object)).toHaveLength(1000)
    expect(isRefused(parse, object(1001))).toBe(true)
    expect(isRefused(parse, `[{"a":${object(1001)}}]`)).toBe(true)
    expect(parse(`[${object(600)},${object(600)}]`)).toHaveLength(2)
    expect(parse(JSON.stringify(Array(5000).fill(1)))).toHaveLength(5000)
  })

  test('HO-04 members that stand in no object are told as no JSON, however many came before', () => {
    for (let count = 0; count < 1001; count += 1) expect(() => parse('"a":1')).toThrow('the body is not JSON')
  })

  test.for([
    ['a byte order mark', Buffer.from('\ufeff{}', 'utf8')],
    ['UTF-16 little endian', Buffer.from('{"a":1}', 'utf16le')],
    ['UTF-16 with a mark', Buffer.from('\ufeff{}', 'utf16le')],
    ['a byte that is no UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['an overlong slash', Buffer.from([0x22, 0xc0, 0xaf, 0x22])],
    ['an encoded surrogate', Buffer.from([0x22, 0xed, 0xa0, 0x80, 0x22])],
    ['a sequence cut short', Buffer.from([0x22, 0xe2, 0x82, 0x22])],
    ['a raw NUL', Buffer.from([0x22, 0x00, 0x22])],
    ['nothing', Buffer.alloc(0)],
  ] as const)('HO-04 %s is refused', ([, bytes]) => {
    expect(() => parseStrictJson(bytes)).toThrow(JsonRefused)
  })

  test.for([
    '{',
    '[1,]',
    '{"a":}',
    '{"a" 1}',
    "{'a':1}",
    '{a:1}',
    '01',
    '1.',
    '+1',
    '.5',
    'NaN',
    'Infinity',
    '"\n"',
    '"\\x41"',
    '"\\u00g0"',
    '//c\n1',
    '1 2',
    '{"a":1}}',
    ']',
    '"',
    '\v1',
  ])('HO-04 %j is not JSON', (text) => {
    expect(isRefused(parse, text)).toBe(true)
  })

  test('HO-04 text has one spelling: equal to its NFC form, and settling twice changes nothing', () => {
    expect(settleText('e\u0301')).toBe('\u00e9')
    expect(settleText(`a${'\u0315\u0300\u05ae'.repeat(10)}`)).toHaveLength(30)
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        fc.pre(!text.includes('\u0000'))
        expect(settleText(text)).toBe(text.normalize('NFC'))
        expect(settleText(settleText(text))).toBe(settleText(text))
      }),
      { numRuns: 2000 },
    )
  })

  test('HO-04 marks without end on one letter are refused before they are put in order, which would take seconds', () => {
    const marks = (count: number) => `a${'\u0315\u0300\u05ae'.repeat(count)}`
    // Half as many, put in order, which takes a quarter of the time.
    const putting = processorMs(() => marks(10_000).normalize('NFC'))
    for (const text of [`"${marks(20_000)}"`, `{"${marks(20_000)}":1}`, `"${'\\u0315\\u0300\\u05ae'.repeat(11)}"`])
      expect(processorMs(() => expect(isRefused(parse, text)).toBe(true))).toBeLessThan(putting)
    expect(() => settleText(marks(11))).toThrow(JsonRefused)
  })
})
