import { fixedId } from '#ground/kernel/ids.ts'
import { definitionOf, type PolicyKey, policyDefinitions } from '#rails/policies/policy-definitions.ts'

/**
 * Writes the code's definitions into their table, and the default of each as its first global value. A value that an operator
 * set, or took away, stays as he left it: the fixed id makes the first write happen once.
 */
export const mirrorDefinitions = async (run: (text: string, values?: unknown[]) => Promise<unknown>): Promise<void> => {
  for (const key of Object.keys(policyDefinitions) as PolicyKey[]) {
    const { type, purpose, bounds, scopes, direction, default: value } = definitionOf(key)
    const first = value === undefined ? null : JSON.stringify(value)
    await run(
      `insert into policy_definitions (key, type, purpose, default_value, bounds, scopes, direction) values ($1, $2, $3, $4, $5, $6, $7)
       on conflict (key) do update set type = excluded.type, purpose = excluded.purpose, default_value = excluded.default_value,
         bounds = excluded.bounds, scopes = excluded.scopes, direction = excluded.direction`,
      [key, type, purpose, first, JSON.stringify(bounds), scopes, direction],
    )
    if (first === null) continue
    await run(
      `insert into policy_values (id, key, scope_type, value, version, created_at) values ($1, $2, 'global', $3, 1, now())
       on conflict (id) do nothing`,
      [fixedId('policy_value', key), key, first],
    )
  }
}
