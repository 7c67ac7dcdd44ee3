import { randomFillSync } from 'node:crypto'

const pool = Buffer.alloc(4096)
let offset = pool.length

/** A UUIDv7: 48 bits of milliseconds, then chance. Ids we mint sort by the time they were minted. */
export const newId = (): string => {
  if (offset + 10 > pool.length) {
    randomFillSync(pool)
    offset = 0
  }
  const time = Date.now().toString(16).padStart(12, '0')
  const chance = pool.subarray(offset, offset + 10)
  offset += 10
  chance[0] = (chance[0]! & 0x0f) | 0x70
  chance[2] = (chance[2]! & 0x3f) | 0x80
  const hex = chance.toString('hex')
  return `${time.slice(0, 8)}-${time.slice(8)}-${hex.slice(0, 4)}-${hex.slice(4, 8)}-${hex.slice(8)}`
}
