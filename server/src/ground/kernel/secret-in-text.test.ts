import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { SignJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import { newSecret } from '#machines/service-accounts/key-secret.ts'
import { processorMs } from '../../../../test/cpu-time.ts'
import { privateKeyTexts } from '../../../../test/ssh-hostile-texts.ts'
import { newKeyLine } from '../../../../test/ssh-key-lines.ts'
import { holdsSecret } from './secret-in-text.ts'
import { secretsBeginning } from './spelled-secret.ts'

const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const token = await new SignJWT({ sub: 'somebody' }).setProtectedHeader({ alg: 'ES256' }).sign(privateKey)
const secret = newSecret().reveal()

describe('a text that holds a secret', () => {
  test('TI-18 is known wherever in it the secret stands', () => {
    const others = ['ghro_', 'ghwd_'].map((prefix) => secretsBeginning(prefix).make().reveal())
    const known = [secret, secret.slice(0, -6), newSecret().reveal(), ...others, `ghne_${'e'.repeat(43)}`]
    for (const kept of [...known, token, `a.b.${token}`, `${token}.c`])
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

  test('SG-14 is known by a private key in whatever form somebody has it', () => {
    const kinds = [
      generateKeyPairSync('ed25519').privateKey,
      generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey,
      generateKeyPairSync('ec', { namedCurve: 'P-521' }).privateKey,
      generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey,
    ]
    const texts = kinds.flatMap((key) => {
      const jwk = JSON.stringify(key.export({ format: 'jwk' }))
      const der = key.export({ format: 'der', type: 'pkcs8' }).toString('base64')
      return [jwk, JSON.stringify(jwk), jwk.replace('"d":', '"d" : '), der, `the key is ${der}, keep it`, `key=${der}`, `"${der}"`]
    })
    texts.push(kinds[3]!.export({ format: 'der', type: 'pkcs1' }).toString('base64'))
    texts.push(kinds[1]!.export({ format: 'der', type: 'sec1' }).toString('base64'))
    texts.push(...privateKeyTexts().map(({ text }) => text))
    for (const text of texts) expect([text, holdsSecret(text)]).toEqual([text, true])
  })

  test('SG-14 is not one by a public key, a certificate request or an id in base64', () => {
    for (const kind of [generateKeyPairSync('ed25519'), generateKeyPairSync('rsa', { modulusLength: 2048 })]) {
      const spki = kind.publicKey.export({ format: 'der', type: 'spki' }).toString('base64')
      const jwk = JSON.stringify(kind.publicKey.export({ format: 'jwk' }))
      for (const text of [spki, jwk, `MC${spki}`]) expect([text, holdsSecret(text)]).toEqual([text, false])
    }
    for (const text of [
      newKeyLine(),
      '"d": is what the kty of a private one has',
      'M'.repeat(200),
      'MA'.repeat(100),
      randomBytes(200).toString('hex'),
    ])
      expect([text, holdsSecret(text)]).toEqual([text, false])
  })

  test('TI-18 is not one that only speaks of secrets', () => {
    for (const text of [
      '',
      'ghsa_',
      'the prefix is ghsa_ and 43 characters follow',
      `ghsa_${'a'.repeat(42)}`,
      `ghne_${'a'.repeat(42)}`,
      `ghro_${'a'.repeat(42)}`,
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
    for (const text of ['MA', 'MII ', '"d" kty', 'eyJ', 'eyJ.', 'eyJeyJeyJeyJeyJ.', 'ghsa_', 'ghsa_a', 'e'].map((piece) =>
      piece.repeat(long / piece.length),
    )) {
      expect(processorMs(() => holdsSecret(text))).toBeLessThan(1000)
    }
  })
})
