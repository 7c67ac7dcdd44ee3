import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Secret } from '#ground/kernel/secret.ts'
import { secretsBeginning } from '#ground/kernel/spelled-secret.ts'

/** Those of service accounts' keys. */
export const { make: newSecret, isSpelled: isSpelledAsSecret } = secretsBeginning('ghsa_')

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
