import { createHash, randomBytes } from 'node:crypto'
import { Secret } from './secret.ts'

const body_bytes = 32
const checksum_length = 6

const checksumOf = (spelled: string): string => createHash('sha256').update(spelled).digest('base64url').slice(0, checksum_length)

/**
 * How secrets of one kind are spelled: a prefix by which a scanner knows one of ours wherever it was left lying, 256 bits of chance, and a
 * checksum of both. `secret-in-text.ts` must know each prefix.
 */
export const secretsBeginning = (prefix: string) => {
  const pattern = new RegExp(`^${prefix}[A-Za-z0-9_-]{43}[A-Za-z0-9_-]{${checksum_length}}$`)
  return {
    make: (): Secret => {
      const spelled = `${prefix}${randomBytes(body_bytes).toString('base64url')}`
      return new Secret(`${spelled}${checksumOf(spelled)}`)
    },
    /** Whether a text can be one at all: a typing error, or something that only looks like one, is known by its checksum. */
    isSpelled: (text: string): boolean =>
      pattern.test(text) && checksumOf(text.slice(0, -checksum_length)) === text.slice(-checksum_length),
  }
}
