import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes, sign } from 'node:crypto'
import { ed25519 } from '@noble/curves/ed25519.js'
import { expect, test } from 'vitest'
import { isSignedWith } from '#machines/tokens/signature.ts'
import { isEd25519Key } from './curve-points.ts'

const keyOf = (bytes: Uint8Array) =>
  createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(bytes).toString('base64url') }, format: 'jwk' })
const isOurs = (point: Uint8Array, message: Uint8Array, signature: Uint8Array) =>
  isSignedWith({ alg: 'EdDSA', key: keyOf(point) }, Buffer.from(message), Buffer.from(signature))
/** In the strict manner of RFC 8032, as a signature of ours must be acceptable everywhere. */
const isTheirs = (point: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean => {
  try {
    return ed25519.verify(signature, message, point, { zip215: false })
  } catch {
    return false
  }
}
/** A point of the curve that is not of small order, in its one spelling. */
const isTheirKey = (bytes: Uint8Array): boolean => {
  try {
    const point = ed25519.Point.fromBytes(bytes, false)
    return !point.isSmallOrder()
  } catch {
    return false
  }
}

test('SG-14 Ed25519 keys: random bytes, points, small orders, second spellings → accepted exactly where noble accepts', () => {
  const field = 2n ** 255n - 19n
  const bytesOf = (y: bigint, sign = 0n) => Buffer.from((y | (sign << 255n)).toString(16).padStart(64, '0'), 'hex').reverse()
  const small = [0n, 1n, field - 1n, field, field + 1n, 2n ** 255n - 1n].flatMap((y) => [bytesOf(y), bytesOf(y, 1n)])
  // The points of order eight (RFC 7748's twist of them is not on the curve).
  const eight = [
    '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
    'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  ]
  const candidates = [
    ...small,
    ...eight.flatMap((hex) => [
      Buffer.from(hex, 'hex'),
      Buffer.from(hex.slice(0, 62) + (Number.parseInt(hex.slice(62), 16) ^ 0x80).toString(16), 'hex'),
    ]),
    ...Array.from({ length: 300 }, () => randomBytes(32)),
    ...Array.from({ length: 50 }, () => Buffer.from(ed25519.getPublicKey(randomBytes(32)))),
  ]
  expect(candidates.filter((bytes) => isEd25519Key(bytes) !== isTheirKey(bytes)).map((bytes) => bytes.toString('hex'))).toEqual([])
  expect(candidates.filter(isEd25519Key).length).toBeGreaterThan(100)
})

test('TI-13 Ed25519 signatures: made by either side → accepted by both', () => {
  for (let round = 0; round < 40; round += 1) {
    const message = randomBytes(round)
    const { privateKey, publicKey } = generateKeyPairSync('ed25519')
    const point = Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url')
    const made = sign(null, message, privateKey)
    expect([isOurs(point, message, made), isTheirs(point, message, made)]).toEqual([true, true])
    const seed = Buffer.from(privateKey.export({ format: 'jwk' }).d!, 'base64url')
    expect(Buffer.from(ed25519.sign(message, seed)).equals(made)).toBe(true)
    expect(createPublicKey(createPrivateKey(privateKey.export({ format: 'pem', type: 'pkcs8' }))).export({ format: 'jwk' }).x).toBe(
      Buffer.from(ed25519.getPublicKey(seed)).toString('base64url'),
    )
  }
})

test('TI-13 Ed25519 signatures: a bit turned, another message or key, a scalar beyond the order → refused by both', () => {
  const order = ed25519.Point.Fn.ORDER
  const seed = randomBytes(32)
  const point = ed25519.getPublicKey(seed)
  const message = Buffer.from('a token')
  const made = Buffer.from(ed25519.sign(message, seed))
  const spoiled = Array.from({ length: 64 }, (_, at) =>
    Buffer.from(made.map((byte, each) => (each === at ? byte ^ (1 << (at % 8)) : byte))),
  )
  // The same scalar plus the order signs the same in arithmetic; RFC 8032 refuses it, or each signature had several spellings.
  const scalar = BigInt(`0x${Buffer.from(made.subarray(32)).reverse().toString('hex')}`) + order
  const second = Buffer.concat([made.subarray(0, 32), Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex').reverse()])
  for (const signature of [...spoiled, second, made.subarray(0, 63), Buffer.alloc(64)])
    expect([isOurs(point, message, signature), isTheirs(point, message, signature)]).toEqual([false, false])
  expect([isOurs(point, Buffer.from('another'), made), isTheirs(point, Buffer.from('another'), made)]).toEqual([false, false])
  const other = ed25519.getPublicKey(randomBytes(32))
  expect([isOurs(other, message, made), isTheirs(other, message, made)]).toEqual([false, false])
})
