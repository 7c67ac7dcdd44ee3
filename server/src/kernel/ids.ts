import { createHash, randomFillSync } from 'node:crypto'
import type { Id } from '@gatehouse/contract/shapes'

const pool = Buffer.alloc(4096)
let offset = pool.length

/** Chance by the handful: asking the system for each id would cost more than the id. */
const randomBytesTaken = (count: number): Buffer => {
  if (offset + count > pool.length) {
    randomFillSync(pool)
    offset = 0
  }
  offset += count
  return pool.subarray(offset - count, offset)
}

const spelled = (hex: string) => `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`

const stamped = (bytes: Buffer, version: number) => {
  bytes[6] = (bytes[6]! & 0x0f) | (version << 4)
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return spelled(bytes.toString('hex'))
}

let lastMillisecond = 0
let sequence = 0

/** Within one millisecond ids count upwards, and a clock that steps back does not turn them round. */
const nextMoment = (): [millisecond: number, sequence: number] => {
  const now = Date.now()
  if (now > lastMillisecond) {
    lastMillisecond = now
    // Starts low, so that there is room to count.
    sequence = randomBytesTaken(2).readUInt16BE() & 0x3ff
  } else if (sequence === 0xfff) {
    lastMillisecond += 1
    sequence = 0
  } else sequence += 1
  return [lastMillisecond, sequence]
}

/** A UUIDv7: 48 bits of milliseconds, 12 that count within one, then chance. Ids we mint sort by the time they were minted. */
export const newId = <K extends string>(_kind: K): Id<K> => {
  const [millisecond, counted] = nextMoment()
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(millisecond, 0, 6)
  bytes.writeUInt16BE(counted, 6)
  randomBytesTaken(8).copy(bytes, 8)
  return stamped(bytes, 7) as Id<K>
}

/** An id that is the same on every machine: what the code owns (built-in roles, seeds) is found by it again. */
export const fixedId = <K extends string>(kind: K, name: string): Id<K> =>
  stamped(createHash('sha256').update(`gatehouse:${kind}:${name}`).digest().subarray(0, 16), 8) as Id<K>
