import type { Condition } from '@gatehouse/contract/conditions'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Attributes, holds, unsaid } from './condition.ts'

type Truth = boolean | undefined
const judged = (condition: object, attributes: object = {}): Truth => holds(condition as Condition, attributes as Attributes)

const everything = { region: 'eu', sku: 'h100', gpus: 4, flags: ['a'], source_ip: '10.0.0.1', minute_of_day: 600, weekday: 1 }

/** Per operator: a test, values for which it holds, for which it does not, and of which it can say nothing. */
const table: [name: string, test: object, attribute: string, holds: unknown[], fails: unknown[], unknown: unknown[]][] = [
  ['in (text)', { in: { region: ['eu', 'us'] } }, 'region', ['eu', 'us'], ['EU', '', 'e', 'asia'], [7, ['eu'], true, {}, Number.NaN]],
  ['in (number)', { in: { weekday: [6, 7] } }, 'weekday', [6, 7], [1, 0], ['6', 6.5, Number.NaN, Number.POSITIVE_INFINITY, [6], 2 ** 53]],
  ['not_in', { not_in: { sku: ['h100'] } }, 'sku', ['a100', ''], ['h100'], [1, null, ['h100'], {}]],
  [
    'at_least',
    { at_least: { gpus: 4 } },
    'gpus',
    [4, 5, 2 ** 53 - 1],
    [3, 0, -1, -0],
    ['4', 4.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53, [4]],
  ],
  ['at_most', { at_most: { gpus: 4 } }, 'gpus', [4, 0, -1], [5], ['4', 3.9, Number.NaN, Number.NEGATIVE_INFINITY, true, 4n]],
  ['has_any', { has_any: { flags: ['a', 'b'] } }, 'flags', [['b', 'x']], [[], ['x'], ['A']], ['a', [1], ['a', null], {}, 7]],
  [
    'has_all',
    { has_all: { flags: ['a', 'b'] } },
    'flags',
    [
      ['b', 'a'],
      ['a', 'b', 'c'],
    ],
    [['a'], []],
    ['ab', [['a', 'b']], { a: 1 }],
  ],
  ['has_none', { has_none: { flags: ['a'] } }, 'flags', [[], ['b']], [['a'], ['b', 'a']], ['b', [0], {}]],
  ['has_none (of two)', { has_none: { flags: ['a', 'b'] } }, 'flags', [[], ['c']], [['a'], ['b', 'c']], ['b']],
  [
    'within',
    { within: { source_ip: ['10.0.0.0/8', '2001:db8::/32'] } },
    'source_ip',
    ['10.0.0.0', '10.255.255.255', '::ffff:10.1.1.1', '::ffff:10.20.30.40', '2001:db8::1', '2001:0DB8:0:0:0:0:0:1'],
    ['11.0.0.0', '9.255.255.255', '2001:db9::', '::ffff:11.0.0.1'],
    ['', 'x', '10.0.0', '10.0.0.256', '010.0.0.1', ' 10.0.0.1', '10.0.0.1/8', 167_772_161, ['10.0.0.1']],
  ],
  [
    'not_within',
    { not_within: { source_ip: ['10.0.0.0/8'] } },
    'source_ip',
    ['11.0.0.0', '2001:db8::1'],
    ['10.0.0.1', '::FFFF:10.0.0.1'],
    ['x', 1, {}],
  ],
  ['between', { between: { minute_of_day: [540, 1020] } }, 'minute_of_day', [540, 1019], [539, 1020], ['600', 600.5, Number.NaN, [600]]],
  ['between (across midnight)', { between: { minute_of_day: [1320, 360] } }, 'minute_of_day', [1320, 1439, 0, 359], [360, 1319], [true]],
  ['between (never)', { between: { minute_of_day: [600, 600] } }, 'minute_of_day', [], [599, 600, 601], [{}]],
  ['between (until the end of the day)', { between: { minute_of_day: [1380, 1440] } }, 'minute_of_day', [1380, 1439], [1379, 0], ['0']],
]

describe.each(table)('DE-10 DE-23 %s', (_name, condition, attribute, holding, failing, unsaid) => {
  test('it holds, it does not, or it cannot be said', () => {
    for (const value of holding) expect([value, judged(condition, { [attribute]: value })]).toEqual([value, true])
    for (const value of failing) expect([value, judged(condition, { [attribute]: value })]).toEqual([value, false])
    for (const value of [...unsaid, null, undefined]) expect([value, judged(condition, { [attribute]: value })]).toEqual([value, undefined])
    expect(judged(condition)).toBeUndefined()
  })

  test('what it cannot say, its negation cannot say either; otherwise it is the contrary', () => {
    for (const value of [...holding, ...failing, ...unsaid]) {
      const plain = judged(condition, { [attribute]: value })
      expect(judged({ not: condition }, { [attribute]: value })).toBe(plain === undefined ? undefined : !plain)
    }
  })
})

describe('what is there and what is not', () => {
  test('DE-10 present and absent are each other’s contrary, are never unknown, and take null for absent', () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        const isThere = value !== undefined && value !== null
        expect(judged({ present: ['sku'] }, { sku: value })).toBe(isThere)
        expect(judged({ absent: ['sku'] }, { sku: value })).toBe(!isThere)
      }),
    )
  })

  test('DE-10 all that are named must be there, or not be there', () => {
    expect(judged({ present: ['sku', 'region'] }, { sku: 'x', region: 'y' })).toBe(true)
    expect(judged({ present: ['sku', 'region'] }, { sku: 'x' })).toBe(false)
    expect(judged({ absent: ['sku', 'region'] }, { sku: 'x' })).toBe(false)
    expect(judged({ absent: ['sku', 'region'] })).toBe(true)
  })

  test('DE-10 of what is left open nothing can be said, nor whether it is there', () => {
    for (const test of [{ present: ['sku'] }, { absent: ['sku'] }, { not: { present: ['sku'] } }, { in: { sku: ['x'] } }])
      expect([test, judged(test, { sku: unsaid })]).toEqual([test, undefined])
    expect(judged({ absent: ['sku'], in: { region: ['eu'] } }, { sku: unsaid, region: 'us' })).toBe(false)
    expect(judged({ any: [{ absent: ['sku'] }, { in: { region: ['eu'] } }] }, { sku: unsaid, region: 'eu' })).toBe(true)
  })

  test('DE-10 null is absent', () => {
    expect([judged({ present: ['sku'] }, { sku: null }), judged({ absent: ['sku'] }, { sku: null })]).toEqual([false, true])
  })
})

describe('what is not spelt as this version spells it', () => {
  test.each<[name: string, condition: unknown]>([
    ['nothing', undefined],
    ['null', null],
    ['a list', []],
    ['an empty text', ''],
    ['a number', 7],
    ['any of what is no list', { any: 7 }],
    ['any of a text', { any: 'in' }],
    ['any of nothing', { any: [] }],
    ['the presence of what is no list', { present: 7 }],
    ['the presence of a text', { present: 'sku' }],
    ['the presence of nothing', { present: [] }],
    ['the absence of nothing', { absent: [] }],
    ['the presence of what is no attribute', { present: ['colour'] }],
    ['a test of nothing', { in: {} }],
    ['a test of null', { in: null }],
    ['a test of a list', { in: ['region'] }],
    ['a test of what is no attribute', { in: { colour: ['red'] } }],
    ['a list that is none', { in: { region: 'eu' } }],
    ['a list of nothing', { in: { weekday: [] } }],
    ['a list of numbers and texts', { in: { weekday: [1, '2'] } }],
    ['a list of texts and numbers', { in: { region: ['eu', 2] } }],
    ['one bound', { between: { minute_of_day: [540] } }],
    ['three bounds', { between: { minute_of_day: [540, 1020, 1100] } }],
    ['a bound that is none', { between: { minute_of_day: [540, '1020'] } }],
    ['an operator that every object has', { toString: { region: ['eu'] } }],
    ['not of what is no group', { not: 7 }],
    ['any of what is no group', { any: [7] }],
    ['ranges that are no list', { within: { source_ip: 7 } }],
    ['ranges that are no texts', { within: { source_ip: [7] } }],
  ])('DE-23 %s says nothing', (_name, condition) => {
    expect(judged(condition as object, everything)).toBeUndefined()
  })
})

// Three groups of which it is known what they say.
const said = new Map<Truth, object>([
  [true, { in: { region: ['eu'] } }],
  [false, { in: { region: ['us'] } }],
  [undefined, { matches: { region: ['e'] } }],
])
const truths: Truth[] = [true, false, undefined]
const groupOf = (truth: Truth) => said.get(truth)!
const pairs = truths.flatMap((one) => truths.map((two) => [one, two] as const))

describe('groups', () => {
  test.each(pairs)('DE-23 any of %s and %s', (one, two) => {
    const expected = one === true || two === true ? true : one === false && two === false ? false : undefined
    expect(judged({ any: [groupOf(one), groupOf(two)] }, everything)).toBe(expected)
  })

  test.each(pairs)('DE-23 %s and %s together', (one, two) => {
    const expected = one === false || two === false ? false : one && two ? true : undefined
    // Two tests in one group: by way of `any` with one member, which says what its member says.
    expect(judged({ any: [groupOf(one)], not: { not: groupOf(two) } }, everything)).toBe(expected)
  })

  test.each(truths)('DE-23 not %s', (truth) => {
    expect(judged({ not: groupOf(truth) }, everything)).toBe(truth === undefined ? undefined : !truth)
  })

  test('DE-10 an empty condition holds', () => expect(judged({})).toBe(true))
})

const anAttribute = fc.record(
  {
    region: fc.constantFrom<unknown>('eu', 'us', 1, null),
    gpus: fc.constantFrom<unknown>(1, 8, 'x'),
    flags: fc.constantFrom<unknown>(['a'], ['b'], 'a'),
  },
  { requiredKeys: [] },
)
const aTest = fc.constantFrom<object>(
  { in: { region: ['eu'] } },
  { not_in: { region: ['us'] } },
  { at_least: { gpus: 4 } },
  { has_any: { flags: ['a'] } },
  { present: ['region'] },
  { absent: ['gpus'] },
  { later: { region: [] } },
)

describe('for any tests', () => {
  test('DE-13 the order of the tests, of the groups and of the values is irrelevant', () => {
    const turned = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(turned).reverse()
      if (typeof value !== 'object' || value === null) return value
      return Object.fromEntries(
        Object.entries(value)
          .map(([name, inner]) => [name, turned(inner)])
          .reverse(),
      )
    }
    fc.assert(
      fc.property(fc.array(aTest, { minLength: 1, maxLength: 4 }), aTest, anAttribute, (any, not, attributes) => {
        const condition = { ...any[0], any, not }
        expect(judged(turned(condition) as object, attributes)).toBe(judged(condition, attributes))
      }),
    )
  })

  test('DE-23 learning more never turns a known answer round: only what was unknown becomes known', () => {
    fc.assert(
      // Without `present` and `absent`, which ask about the knowing itself.
      fc.property(
        fc.array(
          aTest.filter((each) => !('present' in each || 'absent' in each)),
          { minLength: 1, maxLength: 4 },
        ),
        anAttribute,
        fc.constantFrom('region', 'gpus', 'flags'),
        (any, attributes, forgotten) => {
          const less = judged({ any }, { ...attributes, [forgotten]: undefined })
          if (less !== undefined) expect(judged({ any }, attributes)).toBe(less)
        },
      ),
    )
  })
})

describe('addresses', () => {
  const inRange = (address: string, ...ranges: string[]) => judged({ within: { source_ip: ranges } }, { source_ip: address })
  const toText = (bits: number) => [24, 16, 8, 0].map((shift) => (bits >>> shift) & 255).join('.')

  test('DE-10 an IPv4 range holds the addresses whose first bits are its own', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 31), fc.nat(2 ** 31), fc.integer({ min: 0, max: 32 }), fc.boolean(), (one, two, prefix, isNear) => {
        const address = isNear ? one ^ (two & 0xff) : two
        const mask = prefix === 0 ? 0 : -1 << (32 - prefix)
        expect(inRange(toText(address), `${toText(one)}/${prefix}`)).toBe((one & mask) === (address & mask))
      }),
    )
  })

  test('DE-10 the order of the ranges is irrelevant, and one of another family does not matter to an IPv6 address', () => {
    expect(inRange('2001:db8::1', '0.0.0.0/0', '2001:db8::/32')).toBe(true)
    expect(inRange('2001:db8::1', '2001:db8::/32', '0.0.0.0/0')).toBe(true)
    expect(inRange('2001:db9::1', '0.0.0.0/0', '2001:db8::/32')).toBe(false)
    expect(inRange('::1', '::1/128')).toBe(true)
    expect(inRange('::2', '::1/128')).toBe(false)
  })

  test('DE-23 a range that is none cannot be judged: whoever asks must take it for unknown', () => {
    const attempted = (range: string): Truth => {
      try {
        return inRange('10.0.0.1', range)
      } catch {
        return undefined
      }
    }
    for (const range of ['everywhere', '10.0.0.0/33', '10.0.0.0', '::/129', '10.0.0/8'])
      expect([range, attempted(range)]).toEqual([range, undefined])
    expect(attempted('10.0.0.0/8')).toBe(true)
  })
})

test('DE-23 D10 more flags than a rule could name, or longer text, are not read; what is false first settles the rest', () => {
  const many = Array.from({ length: 101 }, (_, n) => `f${n}`)
  expect(holds({ has_none: { flags: ['x'] } }, { flags: many })).toBe(undefined)
  expect(holds({ has_none: { flags: ['x'] } }, { flags: many.slice(1) })).toBe(true)
  expect(holds({ in: { region: ['eu'] } }, { region: 'r'.repeat(201) })).toBe(undefined)
  expect(holds({ in: { region: ['eu'] } }, { region: 'r'.repeat(200) })).toBe(false)
  const endless = new Proxy(Array(64_000).fill('f'), { get: (flags, name) => (name === 'length' ? flags.length : expect.unreachable()) })
  expect(holds({ has_any: { flags: ['x'] } }, { flags: endless })).toBe(undefined)
  let reads = 0
  const watched = {
    region: 'us',
    get sku() {
      reads += 1
      return 'h100'
    },
  }
  expect(holds({ in: { region: ['eu'] }, not_in: { sku: ['h100'] } }, watched)).toBe(false)
  expect(holds({ any: [{ in: { region: ['us'] } }, { in: { sku: ['h100'] } }] }, watched)).toBe(true)
  expect(reads).toBe(0)
})
