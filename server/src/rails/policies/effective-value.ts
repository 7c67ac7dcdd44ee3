import { policyScopes } from '@gatehouse/contract/policies'
import type { ScopeType } from './constraint.ts'
import { definitionOf, type PolicyKey, type PolicyValue } from './policy-definitions.ts'
import { parsePolicyValue } from './policy-value.ts'

/** A value where it was set. */
export interface ChainValue {
  readonly scope_type: ScopeType
  readonly value: unknown
}

export interface EffectiveValue<K extends PolicyKey> {
  readonly value: PolicyValue<K>
  readonly scope_type: ScopeType
}

/** How much a value allows, as a number: null is no limit, and of choices the later is the stricter. */
const weightOf = (value: unknown, choices: readonly string[]): unknown => {
  if (value === null) return Number.POSITIVE_INFINITY
  return typeof value === 'string' && choices.includes(value) ? choices.indexOf(value) : value
}

/** Whether `value` is at least as strict as `than`. What has no direction cannot be stricter than anything. */
export const isAsStrict = (direction: string, given: unknown, against: unknown, choices: readonly string[] = []): boolean => {
  const [value, than] = [weightOf(given, choices), weightOf(against, choices)]
  if (typeof value !== 'number' || typeof than !== 'number') return false
  return direction === 'tighten_lower' ? value <= than : direction === 'tighten_upper' && value >= than
}

/**
 * What holds at the end of a chain of values: of a key that can only be tightened the strictest, otherwise the most specific. A value
 * where its definition allows none does not count. One that cannot be read makes the whole unreadable: it might have been the stricter one.
 */
export const effectiveValue = <K extends PolicyKey>(key: K, chain: readonly ChainValue[]): EffectiveValue<K> | undefined => {
  const { scopes, direction, bounds } = definitionOf(key)
  const counting = chain
    .filter(({ scope_type }) => scopes.includes(scope_type))
    .toSorted((a, b) => policyScopes.indexOf(a.scope_type) - policyScopes.indexOf(b.scope_type))
    .map(({ scope_type, value }) => ({ scope_type, value: parsePolicyValue(key, value) }))
  if (counting.length === 0 || counting.some(({ value }) => value === undefined)) return undefined
  const readable = counting as EffectiveValue<K>[]
  // A narrower value cannot stand in for a limit that the platform has not set.
  if (readable[0]!.scope_type !== 'global') return undefined
  if (direction === 'most_specific') return readable.at(-1)
  return readable.reduce((strictest, each) => (isAsStrict(direction, strictest.value, each.value, bounds.choices) ? strictest : each))
}
