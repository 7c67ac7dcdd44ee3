import type { Reader } from '#ground/db/database.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { PolicyKey, PolicyValue } from './policy-definitions.ts'
import { type PolicyPlace, readPolicy } from './read-policy.ts'

/** Those that are a number. */
type LimitKey = { [K in PolicyKey]: PolicyValue<K> extends number ? K : never }[PolicyKey]

/** Refuses one more where there are as many as the limit allows. Whoever counted them holds a lock: nobody counts at the same time. */
export const requireRoom = async (reader: Pick<Reader, 'many'>, policy: LimitKey, there: number, place?: PolicyPlace): Promise<void> => {
  const limit = await readPolicy(reader, policy, place)
  if (there >= limit) throw new Problem('limit_reached', { policy, limit })
}
