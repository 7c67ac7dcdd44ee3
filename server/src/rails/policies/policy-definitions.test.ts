import { expect, test } from 'vitest'
import { definitionOf } from './policy-definitions.ts'

test('DE-20 what a definition does not say is the platform’s, without bounds', () => {
  expect(definitionOf('authorization.break_glass_single_person')).toEqual({
    type: 'boolean',
    purpose: 'Whether people may grant elevations that they asked for themselves.',
    default: false,
    bounds: {},
    scopes: ['global'],
    direction: 'global',
  })
})

test('DE-20 what it does say stands', () => {
  expect(definitionOf('auth.service_account_token_ttl_seconds')).toEqual({
    type: 'integer',
    purpose: 'Lifetime of service-account and shared-runtime operator tokens.',
    default: 3600,
    bounds: { minimum: 60, maximum: 86_400 },
    scopes: ['global', 'tenant', 'project'],
    direction: 'tighten_lower',
  })
})
