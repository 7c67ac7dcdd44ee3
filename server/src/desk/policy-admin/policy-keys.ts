import { type PolicyKey, policyDefinitions } from '#rails/policies/policy-definitions.ts'

/** In the order of lists. */
export const policyKeys = (Object.keys(policyDefinitions) as PolicyKey[]).sort()

export const isPolicyKey = (key: string): key is PolicyKey => Object.hasOwn(policyDefinitions, key)

/** What the caller wrote where a key should be may be anything, a secret too: only a key that there is goes into a record. */
export const knownKey = (key: string): PolicyKey | undefined => (isPolicyKey(key) ? key : undefined)
