import { definitionOf, type PolicyKey, type PolicyValue } from './policy-definitions.ts'

const isList = (value: unknown, most: number): value is readonly string[] =>
  Array.isArray(value) && value.length <= most && value.every((item) => typeof item === 'string' && item.length > 0)

/** The value if it has its definition's type and lies within its bounds, otherwise undefined: never something in between. */
export const parsePolicyValue = <K extends PolicyKey>(key: K, value: unknown): PolicyValue<K> | undefined => {
  const { type, bounds } = definitionOf(key)
  const { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY, max_items = 1000, choices = [] } = bounds
  const isWithin = (number: number) => number >= minimum && number <= maximum
  const fits = {
    integer: () => Number.isSafeInteger(value) && isWithin(value as number),
    integer_or_null: () => value === null || (Number.isSafeInteger(value) && isWithin(value as number)),
    number: () => typeof value === 'number' && Number.isFinite(value) && isWithin(value),
    boolean: () => typeof value === 'boolean',
    string_list: () => isList(value, max_items),
    scope_map: () =>
      typeof value === 'object' && value !== null && !Array.isArray(value) && Object.values(value).every((list) => isList(list, max_items)),
    choice: () => choices.includes(value as string),
  }
  return fits[type]() ? (value as PolicyValue<K>) : undefined
}
