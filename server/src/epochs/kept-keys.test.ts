import fc from 'fast-check'
import { expect, test } from 'vitest'
import { declaredSources, keptSources } from '../../../test/replicas/kept-sources.ts'
import { newId } from '../kernel/ids.ts'
import { policyDefinitions } from '../policies/policy-definitions.ts'
import { type Source, want } from './fresh.ts'

type AnySource = Source<unknown, unknown>
const sources = await keptSources()

// Few of each, so that two that were drawn are often nearly the same.
const id = fc.constantFrom(...Array.from({ length: 4 }, () => newId('org')))
const maybeId = fc.option(id, { nil: null })
const word = fc.constantFrom(
  '',
  ' ',
  'a',
  '"',
  '","',
  'a","b',
  '\\',
  '[]',
  'null',
  'https://i.example',
  'https://i.example ',
  'ä',
  'a\u0308',
  '\u0000',
)
const place = { tenant_id: maybeId, project_id: maybeId }

const keys: Record<keyof typeof sources, fc.Arbitrary<unknown>> = {
  standing: fc.record({ actor_id: id, ...place }),
  rules: fc.record(place),
  policy: fc.record({ key: fc.constantFrom(...Object.keys(policyDefinitions)), ...place }),
  'operator standing': fc.record({ actor_id: id, ...place }),
  'project tenant': id,
  'service account standing': fc.record({ actor_id: id, ...place }),
  'service account key': fc.record({ owner_id: id, key_id: id, org_id: id }),
  'operator credential': fc.record({ owner_id: id, key_id: id, org_id: id }),
  'signing keys': fc.constant('all'),
  'issued token': fc.record({ jti: id, org_id: maybeId }),
  person: fc.record({ issuer: word, subject: word }),
}
const names = Object.keys(sources) as (keyof typeof sources)[]
const ofSource = (name: (typeof names)[number]) => keys[name].map((key) => ({ source: sources[name], key }))
const kept = fc.oneof(...names.map(ofSource))
/** Mostly two of one source, and most of that whose keys are free text: there a name could be read in two ways. */
const two = fc.oneof(
  { weight: 1, arbitrary: fc.tuple(kept, kept) },
  ...names.map((name) => ({ weight: name === 'person' ? names.length : 1, arbitrary: fc.tuple(ofSource(name), ofSource(name)) })),
)

/** A second opinion on equality, member by member and without spelling anything. */
const isSame = (a: unknown, b: unknown): boolean => {
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b
  return Object.keys(a).every((name) => (a as never)[name] === (b as never)[name])
}

const pairs = Number(process.env.GATEHOUSE_PAIRS ?? 100_000)
const judged = (idOf: (source: AnySource, key: unknown) => string) => {
  let equal = 0
  const property = fc.property(two, ([a, b]) => {
    const same = a.source === b.source && isSame(a.key, b.key)
    if (same) equal += 1
    return (idOf(a.source, a.key) === idOf(b.source, structuredClone(b.key))) === same
  })
  return { failed: fc.check(property, { numRuns: pairs, seed: 19 }).failed, equal }
}

test('DE-19 every source there is is among those compared', () => {
  expect(names.map((name) => sources[name].name)).toEqual(names)
  expect(names).toHaveLength(declaredSources())
})

test('DE-19 two things are never kept under one name, and one thing never under two (C4)', () => {
  const { failed, equal } = judged((source, key) => want(source, key).id)
  expect(failed).toBe(false)
  expect(equal).toBeGreaterThan(pairs / 100)
}, 120_000)

test('names made by joining would be found out', () => {
  const joined = (key: unknown): string => (typeof key === 'object' && key !== null ? Object.values(key).join(' ') : `${key}`)
  expect(judged((source, key) => `${source.name} ${joined(key)}`).failed).toBe(true)
}, 120_000)
