import type { KeyRing } from '#ground/custody/key-ring.ts'
import { boundOf } from './make-key.ts'
import type { KeyRow } from './signing-key-queries.ts'

/** The column of sealed private keys, for whoever seals everything anew. */
export const signingKeyEnvelopes = { table: 'signing_keys', id: 'kid', column: 'envelope', boundOf } as const

/** A shared secret is a key-encryption key itself: what is sealed can be sealed anew, it cannot. */
export const keysNotRewrapped = (rows: readonly KeyRow[], { active_id }: KeyRing): string[] =>
  rows
    .filter(({ custody, envelope_key_id }) => custody === 'envelope_key' && envelope_key_id !== active_id)
    .map(
      ({ kid, state, envelope_key_id }) =>
        `The signing key ${kid} (HS256, ${state}) is the key-encryption key ${envelope_key_id}. Leave that in the list until the signing key was rotated away and its grace is over.`,
    )
