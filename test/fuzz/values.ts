import { Ajv } from 'ajv'
import fc, { type Arbitrary } from 'fast-check'
import { uuidPattern } from '../../contract/src/shapes.ts'

interface Schema {
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly pattern?: string
  readonly format?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

const ajv = new Ajv({ strict: false, validateFormats: false })

const kept = new Map<string, Arbitrary<string>>()

/** Kept by what the schema says: the same few shapes stand in every operation, and making one for a pattern takes longer than asking with it. */
const texts = (schema: Schema): Arbitrary<string> => {
  const key = JSON.stringify(schema)
  const known = kept.get(key) ?? textsFor(schema)
  kept.set(key, known)
  return known
}

const textsFor = (schema: Schema): Arbitrary<string> => {
  const { pattern, format, minLength = 0, maxLength = 200 } = schema
  const isValid = ajv.compile(schema)
  const likely = [
    fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, Math.max(minLength, 40)) }),
    fc.string({ unit: 'binary', minLength, maxLength }),
  ]
  // What a pattern allows, sense or not: a date of the 99th day is a text that fits.
  const matching = pattern?.includes('\\p') ? [] : [fc.stringMatching(new RegExp(pattern ?? '^.*$', 'u'))]
  const instants = fc
    .date({ min: new Date('2000-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
    .map((date) => date.toISOString())
  if (pattern?.includes('@')) return fc.emailAddress().filter((text) => isValid(text) as boolean)
  // Mostly a time that is one: otherwise no request with a time would get past validation.
  if (format === 'date-time' || pattern?.includes('T\\d'))
    return fc.oneof({ weight: 9, arbitrary: instants }, { weight: 1, arbitrary: matching[0]! })
  const candidates: Arbitrary<string>[] = pattern === undefined || matching.length === 0 ? likely : matching
  return fc.oneof(...candidates).filter((text) => isValid(text) as boolean)
}

const isId = (schema: Schema): boolean => schema.pattern === uuidPattern

/** A value that fits the schema; an id is only a place where a live one will be put. */
const fitting = (schema: Schema): Arbitrary<unknown> => {
  if (schema.enum) return fc.constantFrom(...schema.enum)
  if (schema.anyOf) return fc.oneof(...schema.anyOf.map(fitting))
  if (isId(schema)) return fc.uuid()
  const { minimum = -1000, maximum = 1000, items = {} } = schema
  switch (schema.type) {
    case 'integer':
      return fc.oneof(fc.integer({ min: minimum, max: maximum }), fc.constantFrom(minimum, maximum))
    case 'number':
      return fc.double({ min: minimum, max: maximum, noNaN: true })
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'array':
      return fc.array(fitting(items), { maxLength: 5 })
    case 'object':
      return membersOf(schema)
    case 'string':
      return texts(schema)
    default:
      return fc.jsonValue()
  }
}

export const membersOf = ({ properties = {}, required = [] }: Schema): Arbitrary<Record<string, unknown>> =>
  fc.record(Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, fitting(schema)])), {
    requiredKeys: [...required],
    noNullPrototype: true,
  }) as Arbitrary<Record<string, unknown>>

/** Texts and values that somebody forgot about somewhere. */
export const junk: Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    0,
    -1,
    1.5,
    1e308,
    Number.MAX_SAFE_INTEGER,
    '',
    ' ',
    '0',
    'null',
    'undefined',
    '../..',
    '%00',
    "'",
    '"',
    '\\',
    '$1',
    '{}',
    '[]',
    '\u202e',
    '\ufeff',
    '\u0007',
    '\n',
    'a\u0000b',
    '\ud800',
    'x'.repeat(5000),
    '😀'.repeat(101),
  ),
  fc.string({ unit: 'binary', maxLength: 60 }),
  fc.jsonValue({ maxDepth: 3 }),
  fc.uuid(),
)
