import { expect, test } from 'vitest'
import { humanTokens } from './human-tokens.ts'
import { parseIssuers } from './issuer-settings.ts'

const one = (changed: object, profile: 'development' | 'production' = 'production') =>
  parseIssuers(JSON.stringify([{ issuer: 'https://id.example/realms/main', audience: 'gatehouse-api', ...changed }]), profile)

test('HO-06 an issuer needs only its address and our audience; the rest is chosen carefully', () => {
  expect(one({})[0]).toMatchObject({ profile: 'rfc9068', clock_skew_seconds: 30, jwks_refresh_seconds: 300, jwks_max_age_seconds: 3600 })
})

test.each([
  ['has no audience', { audience: undefined }],
  ['has no audience', { audience: '' }],
  ['does not fit', { audience: ' ' }],
  ['does not fit', { audience: ['gatehouse-api'] }],
  ['does not fit', { algorithms: ['none'] }],
  ['does not fit', { algorithms: ['ES256', 'HS256'] }],
  ['does not fit', { algorithms: [] }],
  ['does not fit', { clock_skew_seconds: 121 }],
  ['does not fit', { profile: 'anything' }],
  ['does not fit', { audiance: 'x' }],
  ['lets keys die', { jwks_refresh_seconds: 600, jwks_max_age_seconds: 300 }],
  ['plain http', { issuer: 'http://id.example' }],
  ['on this machine', { issuer: 'http://127.0.0.1:8091' }],
  ['on this machine', { issuer: 'https://localhost' }],
  ['on this machine', { issuer: 'https://127.1' }],
  ['on this machine', { issuer: 'https://[::1]:8091' }],
  ['on this machine', { issuer: 'https://[::ffff:127.0.0.1]' }],
  ['not an https URL', { issuer: 'ftp://id.example' }],
  ['not an https URL', { issuer: 'id.example' }],
  ['no credentials', { issuer: 'https://me:secret@id.example' }],
  ['no credentials', { issuer: 'https://id.example/?realm=main' }],
])('HO-06 production does not start when the issuer %s %o', (sentence, changed) => {
  expect(() => one(changed)).toThrow(sentence)
})

test('HO-06 plain http is for loopback in development and for nothing else', () => {
  expect(one({ issuer: 'http://127.0.0.1:8091' }, 'development')).toHaveLength(1)
  expect(() => one({ issuer: 'http://id.example' }, 'development')).toThrow('loopback only')
})

test('HO-06 one issuer twice, no issuer, and what is no list are refused in one sentence', () => {
  const twice = [
    { issuer: 'https://id.example', audience: 'a' },
    { issuer: 'https://ID.example/', audience: 'b' },
  ]
  expect(() => parseIssuers(JSON.stringify(twice), 'production')).toThrow('listed twice')
  expect(() => parseIssuers('[]', 'production')).toThrow('at least one issuer')
  expect(() => parseIssuers('{}', 'production')).toThrow('JSON array')
  expect(() => parseIssuers('[', 'production')).toThrow('not JSON')
  expect(() => parseIssuers('[null]', 'production')).toThrow('has no audience')
})

test('HO-06 a validator without an audience cannot be made', () => {
  expect(() => humanTokens([{ issuer: 'https://id.example' } as never])).toThrow('has no audience')
})
