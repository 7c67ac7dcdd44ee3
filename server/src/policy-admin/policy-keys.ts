import { type PolicyKey, policyDefinitions } from '../policies/policy-definitions.ts'

/** In the order of lists. */
export const policyKeys = (Object.keys(policyDefinitions) as PolicyKey[]).sort()

export const isPolicyKey = (key: string): key is PolicyKey => Object.hasOwn(policyDefinitions, key)
