import { createHash, randomFillSync } from 'node:crypto'
import type { Id } from '@gatehouse/contract/shapes'

const pool = Buffer.alloc(4096)
let offset = pool.length

/** Chance by the handful: asking the system for each byte would cost more than the id. */
const randomByte = (): number => {
  if (offset === pool.length) {
    randomFillSync(pool)
    offset = 0
  }
  offset += 1
  return pool[offset - 1]!
}

const spelled = (hex: string) => `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`

const stamped = (bytes: Buffer, version: number) => {
  bytes[6] = (bytes[6]! & 0x0f) | (version << 4)
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return spelled(bytes.toString('hex'))
}

const hex = (figure: number, digits: number) => figure.toString(16).padStart(digits, '0')
const hexOfByte = Array.from({ length: 256 }, (_, byte) => hex(byte, 2))
const chance = () => hexOfByte[randomByte()]!

let lastMillisecond = 0
/** The first two groups, which are the time. */
let time = ''
let sequence = 0

const begin = (millisecond: number, first: number): void => {
  lastMillisecond = millisecond
  const digits = hex(millisecond, 12)
  time = `${digits.slice(0, 8)}-${digits.slice(8)}`
  sequence = first
}

/** Within one millisecond ids count upwards, and a clock that steps back does not turn them round. */
const count = (): void => {
  const now = Date.now()
  // Starts low, so that there is room to count.
  if (now > lastMillisecond) begin(now, ((randomByte() << 8) | randomByte()) & 0x3ff)
  else if (sequence === 0xfff) begin(lastMillisecond + 1, 0)
  else sequence += 1
}

/** A UUIDv7: 48 bits of milliseconds, 12 that count within one, then chance. Ids we mint sort by the time they were minted. */
export const newId = <K extends string>(_kind: K): Id<K> => {
  count()
  const counted = `${hexOfByte[0x70 | (sequence >> 8)]}${hexOfByte[sequence & 0xff]}`
  const variant = hexOfByte[0x80 | (randomByte() & 0x3f)]
  return `${time}-${counted}-${variant}${chance()}-${chance()}${chance()}${chance()}${chance()}${chance()}${chance()}` as Id<K>
}

/** An id that is the same on every machine: what the code owns (built-in roles, seeds) is found by it again. */
export const fixedId = <K extends string>(kind: K, name: string): Id<K> =>
  stamped(createHash('sha256').update(`gatehouse:${kind}:${name}`).digest().subarray(0, 16), 8) as Id<K>
