import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { definitionOf, type PolicyKey, policyDefinitions } from './policy-definitions.ts'
import { parsePolicyValue } from './policy-value.ts'

const keys = Object.keys(policyDefinitions) as PolicyKey[]
const numeric = keys.filter((key) => ['integer', 'integer_or_null', 'number'].includes(definitionOf(key).type))

/** What is seeded, by hand: key, default, least, most. */
const seeded: [PolicyKey, unknown, number | undefined, number | undefined][] = [
  ['auth.service_account_token_ttl_seconds', 3600, 60, 86_400],
  ['auth.iam_token_issuer.default_ttl_seconds', 900, 60, 86_400],
  ['auth.iam_token_issuer.max_ttl_seconds', 3600, 60, 86_400],
  ['auth.iam_token_issuer.allowed_audiences', ['gpuaas-api'], undefined, undefined],
  ['auth.iam_token_issuer.provider_session_ttl_seconds', 3600, 60, 43_200],
  ['access.max_sessions_per_allocation', 64, 1, 1000],
  ['access.session_tasks_max', 4096, 16, 4_194_304],
  ['access.session_memory_max_bytes', null, 67_108_864, 2 ** 50],
  ['access.required_key_kinds', 'any', undefined, undefined],
  ['rate_limit.api_requests_per_minute', 600, 1, 10_000_000],
  ['authorization.break_glass_max_seconds', 3600, 60, 86_400],
  ['authorization.break_glass_single_person', false, undefined, undefined],
  ['authorization.opa.parity_ratio', 0.9999, 0, 1],
  ['authorization.opa.parity_window_seconds', 86_400, 60, 2_592_000],
  ['authorization.opa.parity_min_samples', 10_000, 1, 1_000_000_000],
]

test.each(seeded)('%s is defined with its default and bounds', (key, value, minimum, maximum) => {
  const { default: found, bounds } = definitionOf(key)
  expect(found).toEqual(value)
  expect({ minimum: bounds.minimum, maximum: bounds.maximum }).toEqual({ minimum, maximum })
})

test('DE-20 these, and no others, may be set for a tenant or a project: all but one only to be less', () => {
  const narrower = keys.filter((key) => definitionOf(key).direction !== 'global').map((key) => `${key} ${definitionOf(key).direction}`)
  expect(narrower.sort()).toEqual([
    'access.max_sessions_per_allocation tighten_lower',
    'access.required_key_kinds tighten_upper',
    'access.session_memory_max_bytes tighten_lower',
    'access.session_tasks_max tighten_lower',
    'auth.iam_token_issuer.provider_session_ttl_seconds tighten_lower',
    'auth.max_operator_credentials_per_runtime tighten_lower',
    'auth.max_service_accounts_per_project tighten_lower',
    'auth.service_account_max_keys tighten_lower',
    'auth.service_account_token_ttl_seconds tighten_lower',
    'deliveries.max_waiting_per_requester tighten_lower',
    'deliveries.ttl_seconds tighten_lower',
    'shared_runtimes.max_credentials_per_runtime tighten_lower',
    'tenancy.invitation_ttl_seconds most_specific',
  ])
})

test('TI-06 the grace window of disabled roles is defined and has no default', () => {
  expect(definitionOf('authorization.role_disable_grace_window_seconds')).not.toHaveProperty('default')
})

test('TI-06 machines and decisions have limits of their own, higher than a person', () => {
  const of = (key: PolicyKey) => definitionOf(key).default as number
  const person = of('rate_limit.api_requests_per_minute')
  expect(of('rate_limit.machine_requests_per_minute')).toBeGreaterThan(person)
  expect(of('rate_limit.decision_requests_per_minute')).toBeGreaterThan(person)
})

describe.each(keys)('%s', (key) => {
  const definition = definitionOf(key)

  test('TI-06 its default fits its own bounds', () => {
    if (definition.default === undefined) return
    expect(parsePolicyValue(key, definition.default)).toEqual(definition.default)
  })

  test('TI-06 it says what it is for, and where it may be set', () => {
    expect(definition.purpose).toMatch(/^[A-Z].{10,}\.$/)
    // What the platform alone sets has no direction; what others may set too, has one.
    // A shared runtime lies in no project.
    const below = key.endsWith('_per_runtime') ? ['tenant'] : ['tenant', 'project']
    expect(definition.scopes).toEqual(definition.direction === 'global' ? ['global'] : ['global', ...below])
  })

  test('TI-06 anything of another type is nothing', () => {
    const fits: Record<typeof definition.type, (value: unknown) => boolean> = {
      integer: (value) => Number.isInteger(value),
      integer_or_null: (value) => value === null || Number.isInteger(value),
      number: (value) => typeof value === 'number',
      boolean: (value) => typeof value === 'boolean',
      string_list: Array.isArray,
      scope_map: (value) => typeof value === 'object' && value !== null && !Array.isArray(value),
      choice: (value) => definition.bounds.choices!.includes(value as string),
    }
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        if (!fits[definition.type](value)) expect(parsePolicyValue(key, value)).toBeUndefined()
      }),
    )
    for (const value of [
      undefined,
      ...(definition.type === 'integer_or_null' ? [] : [null]),
      Number.NaN,
      Number.POSITIVE_INFINITY,
      '3600',
      'true',
      '',
    ]) {
      expect(parsePolicyValue(key, value)).toBeUndefined()
    }
  })
})

describe.each(numeric)('the bounds of %s', (key) => {
  const { minimum, maximum } = definitionOf(key).bounds
  const step = definitionOf(key).type === 'number' ? 1e-9 : 1

  test('TI-06 hold on both sides, and the bounds themselves are inside', () => {
    expect(parsePolicyValue(key, minimum)).toBe(minimum)
    expect(parsePolicyValue(key, maximum)).toBe(maximum)
    expect(parsePolicyValue(key, minimum! - step)).toBeUndefined()
    expect(parsePolicyValue(key, maximum! + step)).toBeUndefined()
  })
})

test('TI-06 an integer has no fraction and is exact', () => {
  const key = 'auth.service_account_token_ttl_seconds'
  expect(parsePolicyValue(key, 3600.5)).toBeUndefined()
  expect(parsePolicyValue('authorization.opa.parity_min_samples', 2 ** 53)).toBeUndefined()
})

test('TI-06 a list holds non-empty texts, no more than its bound', () => {
  const key = 'auth.iam_token_issuer.allowed_audiences'
  const list = (length: number) => Array.from({ length }, (_, at) => `audience-${at}`)
  expect(parsePolicyValue(key, list(50))).toHaveLength(50)
  expect(parsePolicyValue(key, list(51))).toBeUndefined()
  for (const bad of [[''], ['a', 7], [null], [['a']]]) expect(parsePolicyValue(key, bad)).toBeUndefined()
})

test('TI-06 a map of scopes holds lists, one bad list spoils it', () => {
  const key = 'auth.iam_token_issuer.allowed_scopes'
  expect(parsePolicyValue(key, { workload: ['storage.read'] })).toEqual({ workload: ['storage.read'] })
  for (const bad of [{ workload: ['storage.read'], node_agent: '*' }, { workload: [''] }, { workload: null }, ['workload']])
    expect(parsePolicyValue(key, bad)).toBeUndefined()
})

test('RP-25 a choice is one of its words, letter for letter', () => {
  const key = 'authorization.platform_role_source'
  for (const word of ['users_role', 'transition', 'bindings']) expect(parsePolicyValue(key, word)).toBe(word)
  for (const bad of ['Bindings', 'bindings ', 'binding', '', ['bindings'], { 0: 'bindings' }, 0, true])
    expect(parsePolicyValue(key, bad)).toBeUndefined()
})
