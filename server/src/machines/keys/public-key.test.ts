import { createPublicKey, generateKeyPairSync, type JsonWebKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { compactVerify } from 'jose'
import { describe, expect, test } from 'vitest'
import { parseKeyRing } from '#ground/custody/key-ring.ts'
import { isRocaModulus, isWeakEd25519 } from '#ground/kernel/weak-keys.ts'
import { verificationKeys } from '#people/principals/oidc/verification-keys.ts'
import { hasPart } from '../../../../tools/test/parts.ts'
import { publicKeyOf } from './public-key.ts'

const exported = (type: 'ec' | 'ed25519', namedCurve = 'P-256') => {
  const { publicKey } = type === 'ec' ? generateKeyPairSync('ec', { namedCurve }) : generateKeyPairSync('ed25519')
  return publicKey.export({ format: 'jwk' }) as Record<string, string>
}

describe('a public key', () => {
  test('TI-13 is taken for the algorithm that it is made for, and for no other', () => {
    const [es, ed] = [exported('ec'), exported('ed25519')]
    expect(publicKeyOf(es, 'ES256').asymmetricKeyType).toBe('ec')
    expect(publicKeyOf(ed, 'EdDSA').asymmetricKeyType).toBe('ed25519')
    for (const [jwk, alg] of [
      [es, 'EdDSA'],
      [ed, 'ES256'],
      [es, 'ES384'],
      [es, 'HS256'],
      [es, 'none'],
      [exported('ec', 'P-384'), 'ES256'],
    ] as const)
      expect(() => publicKeyOf(jwk, alg)).toThrow()
  })

  test('TI-13 has its members and no others, each in the one spelling that it has', () => {
    const es = exported('ec')
    const bad: Record<string, unknown>[] = [
      {},
      { ...es, d: es.x },
      { ...es, k: es.x },
      { ...es, y: undefined },
      { ...es, x: `${es.x}=` },
      { ...es, x: `A${es.x}` },
      { ...es, x: es.x!.slice(1) },
      { ...es, x: es.x!.replace(/.$/, 'B') },
      { ...es, x: es.y, y: es.x },
      { ...es, kty: 'OKP' },
      { ...es, x: 5 },
    ]
    for (const jwk of bad) expect(() => publicKeyOf(jwk, 'ES256')).toThrow()
  })

  // The eight points of small order, as they are written; the sign of x is in the last bit.
  const weak = [
    '0100000000000000000000000000000000000000000000000000000000000000',
    'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
    '0000000000000000000000000000000000000000000000000000000000000000',
    '0000000000000000000000000000000000000000000000000000000000000080',
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa',
    // And 1 once more, written as one more than the field has.
    'eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
  ]
  test.each(weak)('TI-13 that is a point of small order is refused, also in the key set of a provider: %s', (hex) => {
    const jwk = { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(hex, 'hex').toString('base64url') }
    // Nobody else refuses it for us.
    expect(createPublicKey({ key: jwk, format: 'jwk' }).asymmetricKeyType).toBe('ed25519')
    expect(() => publicKeyOf(jwk, 'EdDSA')).toThrow('weak')
    expect(() => verificationKeys({ keys: [{ ...jwk, kid: 'weak' }] })).toThrow('no key')
  })

  test('TI-13 that is sound is called weak by none of these rules', () => {
    for (let turn = 0; turn < 20; turn += 1) expect(isWeakEd25519(Buffer.from(exported('ed25519').x!, 'base64url'))).toBe(false)
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    expect(isRocaModulus(Buffer.from((publicKey.export({ format: 'jwk' }) as { n: string }).n, 'base64url'))).toBe(false)
  })
})

interface KeyCase {
  readonly comment: string
  readonly private: { keys: JsonWebKey[] }
  readonly public?: { keys: JsonWebKey[] }
  readonly tests: readonly { tcId: number; comment: string; jws: string; result: 'valid' | 'invalid' }[]
}

/** Valid elsewhere: a shared secret comes into this product as a key-encryption key of 32 bytes, and never as a JWK. */
const foreign = [2, 13, 14, 15]

describe.skipIf(!hasPart('vectors'))('keys of C2SP/wycheproof (needs vectors)', () => {
  const text = hasPart('vectors') ? readFileSync('../shared/vectors/wycheproof_json_web_key_test.json', 'utf8') : '{"testGroups":[]}'
  const groups = (JSON.parse(text) as { testGroups: KeyCase[] }).testGroups
  const cases = groups.flatMap((group) => group.tests.map((each) => ({ ...each, set: group.public ?? group.private })))
  const usable = cases.filter(({ tcId }) => !foreign.includes(tcId))

  const isAccepted = async (set: { keys: JsonWebKey[] }, jws: string): Promise<boolean> => {
    try {
      const keys = verificationKeys(set)
      await compactVerify(jws, ({ kid, alg }) => {
        const found = keys.get(kid!)
        if (!found?.algorithms.includes(alg)) throw new Error('no such key')
        return found.key
      })
      return true
    } catch {
      return false
    }
  }

  test('TI-13 all usable cases are there (needs vectors)', () => {
    expect(cases).toHaveLength(26)
    expect(usable).toHaveLength(22)
  })

  test.each(usable)('TI-13 wycheproof key $tcId, $comment, is $result (needs vectors)', async ({ set, jws, result }) => {
    expect(await isAccepted(set, jws)).toBe(result === 'valid')
  })

  test('TI-13 wycheproof keys of another curve, kind or length are no keys of ours either (needs vectors)', () => {
    const curves = cases.filter(({ tcId }) => tcId >= 22 && tcId <= 24).map(({ set }) => set.keys[0]!)
    expect(curves).toHaveLength(3)
    for (const { crv, kty, x, y } of curves) expect(() => publicKeyOf({ crv, kty, x, y }, 'ES256')).toThrow()
    const secrets = cases.filter(({ tcId }) => [10, 16].includes(tcId)).map(({ set }) => set.keys[0]!.k as string)
    for (const k of secrets) expect(() => parseKeyRing(`short:${k}`)).toThrow()
  })
})
