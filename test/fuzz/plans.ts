import fc, { type Arbitrary } from 'fast-check'
import { bodySchemaOf, type Documented } from './documented.ts'
import { junk, membersOf } from './values.ts'

/** What is done to a request that would have been in order. */
type Perturbation =
  | { kind: 'none' }
  | { kind: 'drop' | 'unknown_id' | 'capitals' | 'no_token' | 'other_caller'; which: number }
  | { kind: 'junk'; where: 'body' | 'path' | 'query'; which: number; value: unknown }
  | { kind: 'extra'; where: 'body' | 'query'; name: string; value: unknown }
  | { kind: 'raw'; text: string }
  | { kind: 'header'; name: string; value: string }

/** One request to be: everything that chance decides, before it meets the live world. */
export interface Plan {
  readonly operation: Documented
  readonly pick: number
  readonly body: Record<string, unknown> | undefined
  readonly query: Record<string, unknown>
  readonly headers: Record<string, string>
  readonly perturbation: Perturbation
}

const headerValues = fc.string({ unit: fc.integer({ min: 0x20, max: 0x7e }).map((code) => String.fromCharCode(code)), maxLength: 140 })
const names = fc.oneof(fc.constantFrom('__proto__', 'constructor', 'id', 'limit', 'cursor', 'toString', ''), fc.string({ maxLength: 10 }))
const rawTexts = fc.oneof(
  fc.json().map((text) => text.slice(0, -1)),
  fc.json(),
  fc.string(),
  fc.constantFrom('', '{', '{"a":1,"a":2}', '[]', 'null', '['.repeat(50_000)),
)
const headerNames = [
  'content-type',
  'content-encoding',
  'idempotency-key',
  'x-project-id',
  'x-request-id',
  'authorization',
  'accept',
  'expect-ct',
  'x-http-method-override',
]

const perturbations: Arbitrary<Perturbation> = fc.oneof(
  { weight: 9, arbitrary: fc.constant<Perturbation>({ kind: 'none' }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('drop', 'unknown_id', 'capitals', 'no_token', 'other_caller'), which: fc.nat(100) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('junk'), where: fc.constantFrom('body', 'path', 'query'), which: fc.nat(100), value: junk }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('extra'), where: fc.constantFrom('body', 'query'), name: names, value: junk }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('raw'), text: rawTexts }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('header'), name: fc.constantFrom(...headerNames), value: headerValues }) },
)

const requestIds = fc.stringMatching(/^[A-Za-z0-9._:-]{1,128}$/)
const idempotencyKeys = fc.stringMatching(/^[!-~]{1,128}$/)

const plansFor = (operation: Documented): Arbitrary<Plan> => {
  const queries = operation.parameters.filter((parameter) => parameter.in === 'query' && parameter.name !== 'cursor')
  const schema = bodySchemaOf(operation)
  const optional = <T>(value: Arbitrary<T>) => fc.option(value, { freq: 2, nil: undefined })
  const headers = fc
    .record({
      'x-request-id': optional(requestIds),
      'idempotency-key': optional(idempotencyKeys),
    })
    .map((given) => Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Record<string, string>)
  return fc.record({
    operation: fc.constant(operation),
    pick: fc.nat(1_000_000),
    body: schema ? membersOf(schema) : fc.constant(undefined),
    query: membersOf({
      properties: Object.fromEntries(queries.map((each) => [each.name, each.schema])),
      required: queries.filter(({ required }) => required).map(({ name }) => name),
    }),
    headers,
    perturbation: perturbations,
  })
}

/** So many requests, spread evenly over all operations; the same for the same seed. */
export const plansOf = (operations: readonly Documented[], seed: number, requests: number): Plan[] => {
  const each = operations.map((operation, index) =>
    fc.sample(plansFor(operation), { seed: seed + index, numRuns: Math.ceil(requests / operations.length) }),
  )
  return Array.from({ length: each[0]!.length }, (_, turn) => each.map((plans) => plans[turn]!)).flat()
}
