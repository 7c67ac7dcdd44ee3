import type { Reply } from '@gatehouse/contract/operation'
import { type listPlatformPolicyValues as Op, type PolicySetting, policyScopes } from '@gatehouse/contract/policies'
import { listed, type Verb } from '#rails/http/answer.ts'
import { effectiveValue } from '#rails/policies/effective-value.ts'
import { definitionOf, type PolicyKey } from '#rails/policies/policy-definitions.ts'
import { policyKeys } from './policy-keys.ts'
import { authorizeRead, type PolicyScope, type ScopeParams } from './policy-scope.ts'
import { type CurrentValue, valuesUpTo } from './policy-value-queries.ts'

const settingAt = ({ scope_type }: PolicyScope, key: PolicyKey, values: readonly CurrentValue[]): PolicySetting => {
  const { default: _first, scopes, ...defined } = definitionOf(key)
  const own = values.find((each) => each.scope_type === scope_type)
  const counting = effectiveValue(key, values)
  return {
    key,
    ...defined,
    scopes: [...scopes],
    value: own?.value ?? null,
    version: own?.version ?? null,
    effective_value: counting?.value ?? null,
    effective_scope: counting?.scope_type ?? null,
  }
}

/** A limit says something at a scope if it can be set there or at a wider one. */
const isHeardAt = ({ scope_type }: PolicyScope, key: PolicyKey): boolean =>
  definitionOf(key).scopes.some((scope) => policyScopes.indexOf(scope) <= policyScopes.indexOf(scope_type))

export const listPolicyValues: Verb<ScopeParams, unknown, unknown, Reply<typeof Op>> = async (work, { params, slice }) => {
  const scope = await authorizeRead(work, 'policy_value', params)
  const values = Map.groupBy(await work.tx.many(valuesUpTo(scope, null)), ({ key }) => key)
  const rows = policyKeys
    .filter((key) => isHeardAt(scope, key) && (slice.after === null || key > slice.after))
    .map((key) => settingAt(scope, key, values.get(key) ?? []))
  return listed(rows, slice, ({ key }) => key)
}
