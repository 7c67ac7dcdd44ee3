import { createPublicKey } from 'node:crypto'
import { isWeakEd25519 } from '#ground/kernel/weak-keys.ts'

const field = 2n ** 255n - 19n

const power = (number: bigint, exponent: bigint): bigint => {
  let result = 1n
  for (let [square, left] = [number % field, exponent]; left > 0n; left >>= 1n) {
    if (left & 1n) result = (result * square) % field
    square = (square * square) % field
  }
  return result
}
/** What is one thing divided by another, in the field. */
const divided = (number: bigint, by: bigint): bigint => (number * power(by, field - 2n)) % field
const d = divided(field - 121_665n, 121_666n)

/**
 * Whether 32 bytes are a point of Edwards25519 that a key may be: there is an x for their y (RFC 8032, 5.1.3), and it is none of those few
 * for which one signature fits many messages.
 */
export const isEd25519Key = (bytes: Uint8Array): boolean => {
  if (bytes.length !== 32 || isWeakEd25519(bytes)) return false
  const y = BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`) & ((1n << 255n) - 1n)
  const square = (y * y) % field
  const x_squared = divided(square + field - 1n, d * square + 1n)
  // Euler: what has a root gives one. Where it is zero there is a root too, but those points are among the few.
  return power(x_squared, (field - 1n) / 2n) === 1n
}

export const curves = {
  nistp256: { crv: 'P-256', bits: 256 },
  nistp384: { crv: 'P-384', bits: 384 },
  nistp521: { crv: 'P-521', bits: 521 },
} as const
export type Curve = keyof typeof curves

/** Whether these bytes are a point of the curve, both coordinates written out. That they fit the curve is OpenSSL's to know. */
export const isCurvePoint = (curve: Curve, bytes: Uint8Array): boolean => {
  const { crv, bits } = curves[curve]
  const length = Math.ceil(bits / 8)
  if (bytes.length !== 1 + 2 * length || bytes[0] !== 4) return false
  const [x, y] = [bytes.subarray(1, 1 + length), bytes.subarray(1 + length)].map((each) => Buffer.from(each).toString('base64url'))
  try {
    createPublicKey({ key: { kty: 'EC', crv, x: x!, y: y! }, format: 'jwk' })
    return true
  } catch {
    return false
  }
}
