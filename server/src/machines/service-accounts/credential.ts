import { type Source, type Wanted, want } from '#ground/epochs/fresh.ts'
import { type Credential, credentialsOf } from './credential-queries.ts'
import { keySource, type NamedKey } from './key-source.ts'

export type { Credential } from './credential-queries.ts'
export { isSecretOf, newSecret } from './key-secret.ts'

const keys: Source<NamedKey, Credential> = keySource('service account key', credentialsOf)

/** The key as it is now; undefined where that account of that organization has no such key. */
export const wantCredential = (named: NamedKey): Wanted<Credential> => want(keys, named)

/** As much of a credential, of whichever class, as somebody can be asked to prove that he has it. */
export type Provable = Pick<Credential, 'key_id' | 'salt' | 'secret_hash' | 'alg' | 'public_jwk'>
/** As much of one as says by itself whether it still counts. */
export type KeptKey = Pick<Credential, 'expires_at' | 'revoked_at' | 'is_of_earlier_epoch'>

/** Why a key may not be used at this instant; null where it may. Whether its account may is another question, with another answer. */
export const endOfKey = (
  { expires_at, revoked_at, is_of_earlier_epoch }: KeptKey,
  now: string,
): 'key_revoked' | 'key_of_earlier_epoch' | 'key_expired' | null => {
  if (revoked_at !== null) return 'key_revoked'
  if (is_of_earlier_epoch) return 'key_of_earlier_epoch'
  return expires_at === null || now < expires_at ? null : 'key_expired'
}
