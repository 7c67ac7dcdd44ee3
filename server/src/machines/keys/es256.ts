import { type KeyObject, verify } from 'node:crypto'

// A JWS has the two numbers of a signature one after the other, 32 bytes each (RFC 7518, 3.4); the library works with DER. It can turn one
// into the other itself, but then takes twice the time for the whole: what it turns is cheap, how it is told to is not.

const size = 32
const sequence = 0x30
const integer = 0x02

/** Where the number begins that counts: zeros before it are not part of it. At least one byte is left. */
const beginOf = (bytes: Buffer, from: number, until: number): number => {
  let begin = from
  while (begin < until - 1 && bytes[begin] === 0) begin += 1
  return begin
}

/** Two numbers of 32 bytes as DER spells them: as short as each can be, and positive. */
export const derOf = (raw: Buffer): Buffer => {
  if (raw.length !== 2 * size) throw new Error('not two numbers of 32 bytes')
  // Short enough that every length is one byte.
  const der = Buffer.allocUnsafe(6 + 2 * (size + 1))
  let end = 2
  for (const from of [0, size]) {
    const begin = beginOf(raw, from, from + size)
    // Its first bit would be a sign.
    const is_high = raw[begin]! >= 0x80
    der[end] = integer
    der[end + 1] = from + size - begin + (is_high ? 1 : 0)
    end += 2
    if (is_high) der[end++] = 0
    end += raw.copy(der, end, begin, from + size)
  }
  der[0] = sequence
  der[1] = end - 2
  return der.subarray(0, end)
}

/** The other way round, for what the library has signed; nothing else is taken for a signature. */
export const rawOf = (der: Buffer): Buffer => {
  const raw = Buffer.alloc(2 * size)
  let at = 2
  for (const until of [size, 2 * size]) {
    const length = der[at + 1] ?? 0
    const begin = beginOf(der, at + 2, at + 2 + length)
    at += 2 + length
    if (at - begin > size || at > der.length) throw new Error('not a signature of P-256')
    der.copy(raw, until - (at - begin), begin, at)
  }
  // Whatever is not spelled exactly so is no spelling of these two numbers.
  if (!derOf(raw).equals(der)) throw new Error('not a signature of P-256')
  return raw
}

/** Of 64 bytes whether they are this key's signature; of any other number, that they are not. */
export const isEs256 = (key: KeyObject, input: Buffer, raw: Buffer): boolean =>
  raw.length === 2 * size && verify('sha256', input, key, derOf(raw))

// Of each signature there is a second one that is as good: with the order of the curve minus its second number. Who knows one can make the
// other without the key, so ours is always the lower of the two, and a token has one spelling.

const order = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex')
const half_of_order = Buffer.from('7fffffff800000007fffffffffffffffde737d56d38bcf4279dce5617e3192a8', 'hex')

/** Whether the second number is the lower of the two. */
export const isLow = (raw: Buffer): boolean => raw.compare(half_of_order, 0, size, size, 2 * size) <= 0

/** The one of the two that is low. */
export const lowOf = (raw: Buffer): Buffer => {
  if (isLow(raw)) return raw
  const low = Buffer.from(raw)
  let borrowed = 0
  for (let at = size - 1; at >= 0; at -= 1) {
    const digit = order[at]! - raw[size + at]! - borrowed
    borrowed = digit < 0 ? 1 : 0
    low[size + at] = digit & 0xff
  }
  return low
}
