import type { Wanted } from '../epochs/fresh.ts'
import type { PublicDocument } from '../http/documents.ts'
import { readPolicyFresh } from '../policies/read-policy.ts'
import type { KeySet } from './key-set.ts'

/** What others verify our tokens with: the next key, the one that signs, and former ones while something they signed may live. */
export const publicKeys = (wantKeys: () => Wanted<KeySet>): PublicDocument => ({
  path: '/.well-known/jwks.json',
  media_type: 'application/jwk-set+json',
  read: async (fresh) => {
    const max_age_seconds = await readPolicyFresh(fresh, 'auth.iam_token_issuer.jwks_max_age_seconds')
    const { values, moment } = await fresh.read([wantKeys()])
    const keys = (values[0]?.published ?? [])
      .filter(({ grace_until }) => grace_until === null || grace_until >= moment.now)
      .map(({ jwk }) => jwk)
    return { body: { keys }, max_age_seconds }
  },
})
