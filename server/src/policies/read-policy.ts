import type { Reader } from '../db/database.ts'
import { Problem } from '../kernel/problem.ts'
import type { PolicyKey, PolicyValue } from './policy-definitions.ts'
import { currentGlobalValue } from './policy-queries.ts'
import { parsePolicyValue } from './policy-value.ts'

/** The one reader of policy. A value that is missing or unreadable refuses; no limit is written into code. */
export const readPolicy = async <K extends PolicyKey>(reader: Pick<Reader, 'maybe'>, key: K): Promise<PolicyValue<K>> => {
  const row = await reader.maybe(currentGlobalValue(key))
  const value = row && parsePolicyValue(key, row.value)
  if (value === undefined)
    throw new Problem('policy_unavailable', undefined, new Error(`policy ${key} is ${row ? 'unreadable' : 'missing'}`))
  return value
}
