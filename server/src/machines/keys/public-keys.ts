import type { Wanted } from '#ground/epochs/fresh.ts'
import type { PublicDocument } from '#rails/http/documents.ts'
import { policyIn, wantPolicy } from '#rails/policies/read-policy.ts'
import type { KeySet } from './key-set.ts'

const maxAge = 'auth.iam_token_issuer.jwks_max_age_seconds'

/** What others verify our tokens with: the next key, the one that signs, and former ones while something they signed may live. */
export const publicKeys = (wantKeys: () => Wanted<KeySet>): PublicDocument => ({
  path: '/.well-known/jwks.json',
  media_type: 'application/jwk-set+json',
  read: async (fresh) => {
    const {
      values: [age, known],
      moment,
    } = await fresh.read([wantPolicy(maxAge), wantKeys()])
    const keys = (known?.published ?? [])
      .filter(({ grace_until }) => grace_until === null || grace_until >= moment.now)
      .map(({ jwk }) => jwk)
    return { body: { keys }, max_age_seconds: policyIn(maxAge, age) }
  },
})
