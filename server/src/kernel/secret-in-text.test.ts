import { generateKeyPairSync } from 'node:crypto'
import { SignJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import { newSecret } from '../service-accounts/key-secret.ts'
import { holdsSecret } from './secret-in-text.ts'

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const token = await new SignJWT({ sub: 'somebody' }).setProtectedHeader({ alg: 'ES256' }).sign(privateKey)
const secret = newSecret().reveal()

describe('a text that holds a secret', () => {
  test('TI-18 is known wherever in it the secret stands', () => {
    for (const kept of [secret, secret.slice(0, -6), newSecret().reveal(), `ghne_${'e'.repeat(43)}`, token, `a.b.${token}`, `${token}.c`])
      for (const text of [
        kept,
        `x${kept}`,
        `the secret is "${kept}", keep it`,
        `${kept}x`,
        `https://a.example/?q=${kept}&b=c`,
        `a\n${kept}\nb`,
      ])
        expect([text, holdsSecret(text)]).toEqual([text, true])
    expect(holdsSecret(privateKey.export({ type: 'pkcs8', format: 'pem' }).toString())).toBe(true)
  })

  test('TI-18 is not one that only speaks of secrets', () => {
    for (const text of [
      '',
      'ghsa_',
      'the prefix is ghsa_ and 43 characters follow',
      `ghsa_${'a'.repeat(42)}`,
      `ghne_${'a'.repeat(42)}`,
      `ghnx_${'a'.repeat(43)}`,
      'eyJ',
      'eyJ... is how a token begins',
      'eyJhbGciOiJFUzI1NiJ9',
      token.split('.').slice(0, 2).join('.'),
      token.replaceAll('.', ' '),
      'service.example.com',
      '-----BEGIN PUBLIC KEY-----',
      '0367b63b-3491-8cde-81ca-9e22482588a0',
    ])
      expect([text, holdsSecret(text)]).toEqual([text, false])
  })

  test('TI-18 a long text that is almost one is read without long thought', () => {
    const long = 256 * 1024
    for (const text of ['eyJ', 'eyJ.', 'eyJeyJeyJeyJeyJ.', 'ghsa_', 'ghsa_a', 'e'].map((piece) => piece.repeat(long / piece.length))) {
      const begun = performance.now()
      holdsSecret(text)
      expect(performance.now() - begun).toBeLessThan(500)
    }
  })
})
