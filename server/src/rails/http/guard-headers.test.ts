import { expect, test } from 'vitest'
import { guardHeaders } from './guard-headers.ts'

test('every answer tells a browser to keep it, frame it, guess at it and pass it on to nobody', () => {
  expect(guardHeaders).toEqual({
    'content-security-policy': "default-src 'none';frame-ancestors 'none'",
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'no-referrer',
    'strict-transport-security': 'max-age=31536000; includeSubDomains',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'cache-control': 'no-store',
  })
})
