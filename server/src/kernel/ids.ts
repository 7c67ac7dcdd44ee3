import { createHash, randomFillSync } from 'node:crypto'
import type { Id } from '@gatehouse/contract/shapes'

const pool = Buffer.alloc(4096)
let offset = pool.length

const spelled = (hex: string) => `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`

const stamped = (bytes: Buffer, version: number) => {
  bytes[6] = (bytes[6]! & 0x0f) | (version << 4)
  bytes[8] = (bytes[8]! & 0x3f) | 0x80
  return spelled(bytes.toString('hex'))
}

/** A UUIDv7: 48 bits of milliseconds, then chance. Ids we mint sort by the time they were minted. */
export const newId = <K extends string>(_kind: K): Id<K> => {
  if (offset + 10 > pool.length) {
    randomFillSync(pool)
    offset = 0
  }
  const bytes = Buffer.alloc(16)
  bytes.writeUIntBE(Date.now(), 0, 6)
  pool.copy(bytes, 6, offset, offset + 10)
  offset += 10
  return stamped(bytes, 7) as Id<K>
}

/** An id that is the same on every machine: what the code owns (built-in roles, seeds) is found by it again. */
export const fixedId = <K extends string>(kind: K, name: string): Id<K> =>
  stamped(createHash('sha256').update(`gatehouse:${kind}:${name}`).digest().subarray(0, 16), 8) as Id<K>
