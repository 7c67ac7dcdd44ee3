import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { ScopeType } from './constraint.ts'
import { type ChainValue, effectiveValue, isAsStrict } from './effective-value.ts'
import { definitionOf, type PolicyKey, policyDefinitions } from './policy-definitions.ts'

const scopes: ScopeType[] = ['global', 'tenant', 'project']
const chain = (...values: unknown[]): ChainValue[] =>
  values.flatMap((value, index) => (value === undefined ? [] : [{ scope_type: scopes[index]!, value }]))

const shorter = 'auth.service_account_token_ttl_seconds'
const nearest = 'tenancy.invitation_ttl_seconds'
const global = 'auth.iam_token_issuer.max_ttl_seconds'

describe('DE-20 a value that can only be tightened', () => {
  test.each([
    ['the platform’s alone', [3600], 3600, 'global'],
    ['a shorter one of the tenant', [3600, 600], 600, 'tenant'],
    ['a longer one of the tenant is not heard', [3600, 7200], 3600, 'global'],
    ['the shortest, though it is not the most specific', [3600, 600, 1200], 600, 'tenant'],
    ['the project’s, if it is the shortest', [3600, 1200, 600], 600, 'project'],
    ['of equal ones the widest', [3600, 3600, 3600], 3600, 'global'],
  ])('%s', (_name, values, value, scope_type) => {
    expect(effectiveValue(shorter, chain(...values))).toEqual({ value, scope_type })
  })

  test('DE-20 whatever a narrower scope says, it is never looser than the platform’s', () => {
    const aValue = fc.option(fc.integer({ min: 60, max: 86_400 }), { nil: undefined })
    fc.assert(
      fc.property(fc.integer({ min: 60, max: 86_400 }), aValue, aValue, (platform, tenant, project) => {
        expect(effectiveValue(shorter, chain(platform, tenant, project))!.value).toBe(
          Math.min(platform, tenant ?? platform, project ?? platform),
        )
      }),
    )
  })
})

describe('DE-20 a value of which the most specific wins', () => {
  test.each([
    [[604_800], 604_800, 'global'],
    [[604_800, 3600], 3600, 'tenant'],
    [[3600, 604_800], 604_800, 'tenant'],
    [[3600, 604_800, 7200], 7200, 'project'],
    [[3600, undefined, 7200], 7200, 'project'],
  ])('%j', (values, value, scope_type) => {
    expect(effectiveValue(nearest, chain(...values))).toEqual({ value, scope_type })
  })
})

describe('DE-20 a value of the platform', () => {
  test('a narrower one, were it in the table, would not count', () => {
    expect(effectiveValue(global, chain(3600, 60, 60))).toEqual({ value: 3600, scope_type: 'global' })
    expect(effectiveValue(global, chain(undefined, 60))).toBeUndefined()
  })

  test('DE-20 every key of sign-in, of authorization and of rates is the platform’s or can only be tightened', () => {
    for (const key of Object.keys(policyDefinitions) as PolicyKey[]) {
      if (!/^(?:auth|authorization|rate_limit)\./.test(key)) continue
      expect([key, definitionOf(key).direction]).toEqual([key, expect.stringMatching(/^(?:global|tighten_lower|tighten_upper)$/)])
    }
  })
})

describe('what makes the whole unreadable', () => {
  test.each([
    ['nothing at all', shorter, []],
    ['a narrower value without the platform’s', shorter, [undefined, 600]],
    ['a narrower value without the platform’s, though the nearest wins', nearest, [undefined, 7200]],
    ['the platform’s is of another type', shorter, ['3600']],
    ['the platform’s is out of its bounds', shorter, [59]],
    ['a narrower one is unreadable: it might have been the stricter', shorter, [3600, 'soon']],
    ['a narrower one is out of its bounds', shorter, [3600, 600, 0]],
    ['an unreadable one in the middle, though the nearest is well', nearest, [604_800, null, 7200]],
  ] as const)('DE-20 %s', (_name, key, values) => {
    expect(effectiveValue(key, chain(...values))).toBeUndefined()
  })
})

test('DE-13 the order in which values were read is irrelevant', () => {
  const aValue = fc.option(fc.integer({ min: 3600, max: 40_000 }), { nil: undefined })
  fc.assert(
    fc.property(fc.constantFrom(shorter, nearest, global), aValue, aValue, aValue, (key, ...values) => {
      const read = chain(...values)
      const before = structuredClone(read)
      expect(effectiveValue(key, [...read].reverse())).toEqual(effectiveValue(key, read))
      expect(read).toEqual(before)
    }),
  )
})

test.each([
  ['tighten_lower', 1, 2, true],
  ['tighten_lower', 2, 2, true],
  ['tighten_lower', 3, 2, false],
  ['tighten_upper', 3, 2, true],
  ['tighten_upper', 2, 2, true],
  ['tighten_upper', 1, 2, false],
  ['global', 1, 2, false],
  ['global', 2, 1, false],
  ['most_specific', 1, 2, false],
  ['tighten_lower', '1', 2, false],
  ['tighten_lower', 1, '2', false],
  ['tighten_lower', Number.NaN, 2, false],
  ['tighten_lower', 1, null, true],
  ['tighten_lower', null, null, true],
  ['tighten_lower', null, 1, false],
])('DE-20 %s: %s is as strict as %s: %s', (direction, value, than, expected) => {
  expect(isAsStrict(direction, value, than)).toBe(expected)
})

test.each([
  ['any', 'any', true],
  ['security_key', 'any', true],
  ['security_key_verified', 'security_key', true],
  ['any', 'security_key', false],
  ['security_key', 'security_key_verified', false],
  ['none', 'any', false],
])('SG-27 access.required_key_kinds: %s is as strict as %s: %s', (value, than, expected) => {
  const { direction, bounds } = definitionOf('access.required_key_kinds')
  expect(isAsStrict(direction, value, than, bounds.choices)).toBe(expected)
})

test('SG-28 a chain of limits, none and choices → the strictest counts, wherever it stands', () => {
  const memory = 'access.session_memory_max_bytes'
  expect(effectiveValue(memory, chain(null))).toEqual({ value: null, scope_type: 'global' })
  expect(effectiveValue(memory, chain(null, 2 ** 30, 2 ** 31))).toEqual({ value: 2 ** 30, scope_type: 'tenant' })
  expect(effectiveValue(memory, chain(2 ** 30, null))).toEqual({ value: 2 ** 30, scope_type: 'global' })
  const kinds = 'access.required_key_kinds'
  expect(effectiveValue(kinds, chain('any', 'security_key_verified', 'security_key'))).toEqual({
    value: 'security_key_verified',
    scope_type: 'tenant',
  })
  expect(effectiveValue(kinds, chain('any', 'what?'))).toBeUndefined()
})
