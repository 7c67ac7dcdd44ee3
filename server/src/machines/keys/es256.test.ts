import { generateKeyPairSync, sign, verify } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { derOf, isEs256, isLow, lowOf, rawOf } from './es256.ts'

const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const other = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const input = Buffer.from('header.payload')
const signed = () => rawOf(sign('sha256', input, privateKey))
/** What the library says of the same 64 bytes, when it turns them itself. */
const byLibrary = (raw: Buffer) => verify('sha256', input, { key: publicKey, dsaEncoding: 'ieee-p1363' }, raw)
const order = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex')
const zero = Buffer.alloc(32)

/** Numbers as they are seldom drawn: with zeros in front, with the first bit set, and the smallest and greatest. */
const half = fc.oneof(
  fc.uint8Array({ minLength: 32, maxLength: 32 }),
  fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 31 })).map(([tail]) => Uint8Array.from([...new Uint8Array(32 - tail.length), ...tail])),
  fc.constantFrom(zero, order, Buffer.alloc(32, 0xff), Buffer.from([...new Uint8Array(31), 1])),
)
const anyRaw = fc.tuple(half, half).map(([r, s]) => Buffer.concat([r, s]))

describe('the 64 bytes of an ES256 signature', () => {
  test('TI-13 are the library’s own two numbers, however many zeros they begin with', () => {
    // One in 128 signatures holds a number shorter than its 32 bytes: until one has come, one more is made.
    let short = 0
    for (let count = 0; count < 300 || short === 0; count += 1) {
      const raw = signed()
      if (raw[0] === 0 || raw[32] === 0) short += 1
      expect(raw).toHaveLength(64)
      if (count % 30 === 0 || raw[0] === 0 || raw[32] === 0) expect([byLibrary(raw), isEs256(publicKey, input, raw)]).toEqual([true, true])
    }
  })

  test('TI-13 come back from DER as they were', () => {
    fc.assert(fc.property(anyRaw, (raw) => rawOf(derOf(raw)).equals(raw)))
  })

  test('TI-14 are judged as the library judges them', () => {
    const good = sign('sha256', input, { key: privateKey, dsaEncoding: 'ieee-p1363' })
    const [r, s] = [good.subarray(0, 32), good.subarray(32)]
    const wrong = [
      [zero, s],
      [r, zero],
      [zero, zero],
      [order, s],
      [r, order],
      [s, r],
      [Buffer.alloc(32, 0xff), s],
    ].map((halves) => Buffer.concat(halves))
    for (const raw of wrong) expect([byLibrary(raw), isEs256(publicKey, input, raw)]).toEqual([false, false])
    expect([byLibrary(good), isEs256(publicKey, input, good)]).toEqual([true, true])
    fc.assert(fc.property(anyRaw, (raw) => isEs256(publicKey, input, raw) === byLibrary(raw)))
    expect(isEs256(other.publicKey, input, good)).toBe(false)
    expect(isEs256(publicKey, Buffer.from('header.another'), good)).toBe(false)
  })

  test('TI-14 are no signature with a byte more or less, or as DER', () => {
    const good = signed()
    for (const raw of [good.subarray(1), Buffer.concat([good, Buffer.alloc(1)]), Buffer.alloc(0), derOf(good)])
      expect(isEs256(publicKey, input, raw)).toBe(false)
  })

  test('TI-13 are made of exactly one spelling of DER', () => {
    const der = derOf(signed())
    const changed = (change: (bytes: number[]) => void) => {
      const bytes = [...der]
      change(bytes)
      return Buffer.from(bytes)
    }
    const wrong = [
      Buffer.alloc(0),
      der.subarray(0, -1),
      Buffer.concat([der, Buffer.alloc(1)]),
      changed((bytes) => bytes.splice(0, 1, 0x31)),
      changed((bytes) => bytes.splice(1, 1, der[1]! + 1)),
      changed((bytes) => bytes.splice(2, 1, 0x03)),
      // A zero more in front of the first number.
      changed((bytes) => bytes.splice(1, 3, der[1]! + 1, 0x02, der[3]! + 1, 0)),
      // A number of another curve.
      Buffer.from([0x30, 3 + 2 + 40, 0x02, 40, ...new Uint8Array(40).fill(1), 0x02, 1, 1]),
    ]
    for (const each of wrong) expect(() => rawOf(each)).toThrow('not a signature of P-256')
    expect(derOf(rawOf(der)).equals(der)).toBe(true)
  })

  test('TI-15 have a second spelling that is as good, and the lower one of the two is ours', () => {
    const figure = (bytes: Buffer) => BigInt(`0x${bytes.toString('hex')}`)
    const n = figure(order)
    const withS = (raw: Buffer, s: bigint) => Buffer.concat([raw.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, '0'), 'hex')])
    let high = 0
    for (let count = 0; count < 200; count += 1) {
      const raw = signed()
      const second = withS(raw, n - figure(raw.subarray(32)))
      if (!isLow(raw)) high += 1
      expect([isLow(raw), isLow(second)].sort()).toEqual([false, true])
      expect(lowOf(raw).equals(lowOf(second))).toBe(true)
      if (count % 20 === 0) expect([raw, second, lowOf(raw)].map((each) => isEs256(publicKey, input, each))).toEqual([true, true, true])
    }
    expect(Math.min(high, 200 - high)).toBeGreaterThan(20)
    const number = fc.bigInt({ min: 1n, max: n - 1n })
    const edges = fc.constantFrom(1n, n / 2n - 1n, n / 2n, n / 2n + 1n, n / 2n + 2n, n - 1n)
    fc.assert(
      fc.property(fc.oneof(number, edges), (s) => {
        const low = figure(lowOf(withS(zero, s)).subarray(0)) & ((1n << 256n) - 1n)
        return low === (s <= n / 2n ? s : n - s) && isLow(withS(zero, s)) === s <= n / 2n
      }),
    )
  })
})
