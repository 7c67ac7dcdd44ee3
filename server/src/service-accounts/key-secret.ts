import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { Secret } from '../kernel/secret.ts'

/** By this a scanner knows one of ours wherever it was left lying. */
const prefix = 'ghsa_'
const body_bytes = 32
const checksum_length = 6

const checksumOf = (spelled: string): string => createHash('sha256').update(spelled).digest('base64url').slice(0, checksum_length)

/** A new secret of a service account's key: the prefix, 256 bits of chance, and a checksum of both. */
export const newSecret = (): Secret => {
  const spelled = `${prefix}${randomBytes(body_bytes).toString('base64url')}`
  return new Secret(`${spelled}${checksumOf(spelled)}`)
}

const pattern = new RegExp(`^${prefix}[A-Za-z0-9_-]{43}[A-Za-z0-9_-]{${checksum_length}}$`)

/** Whether a text can be a secret of ours at all: a typing error, or something that only looks like one, is known by its checksum. */
export const isSpelledAsSecret = (text: string): boolean =>
  pattern.test(text) && checksumOf(text.slice(0, -checksum_length)) === text.slice(-checksum_length)

/** What is kept of a secret. */
export interface SecretHash {
  readonly salt: Buffer
  readonly secret_hash: Buffer
}

const digest = (salt: Buffer, secret: string): Buffer => createHash('sha256').update(salt).update(secret).digest()

export const hashOf = (secret: Secret): SecretHash => {
  const salt = randomBytes(16)
  return { salt, secret_hash: digest(salt, secret.reveal()) }
}

/** Held against where there is nothing to hold against, so that an unknown key costs what a wrong secret costs. */
const nobodys: SecretHash = { salt: Buffer.alloc(16), secret_hash: Buffer.alloc(32) }

/** A key that is a public one has no secret. */
type Kept = { readonly [member in keyof SecretHash]: Buffer | null }

/** The same work whether or not there is such a key: one hash, and one comparison of digests that have one length. */
export const isSecretOf = (kept: Kept | undefined, secret: string): boolean => {
  const [salt, secret_hash] = [kept?.salt ?? nobodys.salt, kept?.secret_hash ?? nobodys.secret_hash]
  const isEqual = timingSafeEqual(digest(salt, secret), secret_hash)
  return isEqual && kept?.secret_hash != null
}
