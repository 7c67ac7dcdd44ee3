import { BlockList, isIP } from 'node:net'
import type { AttributeName, Condition } from '@gatehouse/contract/conditions'

/** What a request says of itself, as it was found: a value may be of any type, or absent. */
export type Attributes = { readonly [A in AttributeName]?: unknown }

/** Undefined: it cannot be said. */
type Truth = boolean | undefined

const isText = (value: unknown): value is string => typeof value === 'string'
const isInteger = (value: unknown): value is number => Number.isSafeInteger(value)
const isTexts = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every(isText)
const isAbsent = (value: unknown): boolean => value === undefined || value === null

/** False settles it, whatever else cannot be said. */
const allOf = (truths: readonly Truth[]): Truth => {
  if (truths.includes(false)) return false
  return truths.includes(undefined) ? undefined : true
}
const not = (truth: Truth): Truth => (truth === undefined ? undefined : !truth)
const anyOf = (truths: readonly Truth[]): Truth => not(allOf(truths.map(not)))

const isOneOf = (value: unknown, listed: readonly (string | number)[]): Truth => {
  if (typeof listed[0] === 'number') return isInteger(value) ? listed.includes(value) : undefined
  return isText(value) ? listed.includes(value) : undefined
}

const lists = new WeakMap<readonly string[], BlockList>()
const listOf = (ranges: readonly string[]): BlockList => {
  const known = lists.get(ranges)
  if (known) return known
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/')
    list.addSubnet(address, Number(prefix), isIP(address) === 6 ? 'ipv6' : 'ipv4')
  }
  lists.set(ranges, list)
  return list
}
const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i
const isWithin = (value: unknown, ranges: readonly string[]): Truth => {
  if (!isText(value)) return undefined
  const address = mapped.exec(value)?.[1] ?? value
  const family = isIP(address)
  return family === 0 ? undefined : listOf(ranges).check(address, family === 6 ? 'ipv6' : 'ipv4')
}

const isBetween = (value: unknown, [from = 0, until = 0]: readonly number[]): Truth => {
  if (!isInteger(value)) return undefined
  return from <= until ? from <= value && value < until : value >= from || value < until
}

const compared = (value: unknown, holds: (value: number) => boolean): Truth => (isInteger(value) ? holds(value) : undefined)
const flagged = (value: unknown, holds: (flags: readonly string[]) => boolean): Truth => (isTexts(value) ? holds(value) : undefined)

type Tested = Readonly<Record<string, never>>
/** What each operator says of one attribute's value beside what the rule lists. */
const operators: Record<string, (value: unknown, listed: never) => Truth> = {
  in: isOneOf,
  not_in: (value, listed) => not(isOneOf(value, listed)),
  at_least: (value, least: number) => compared(value, (amount) => amount >= least),
  at_most: (value, most: number) => compared(value, (amount) => amount <= most),
  has_any: (value, listed: string[]) => flagged(value, (flags) => listed.some((flag) => flags.includes(flag))),
  has_all: (value, listed: string[]) => flagged(value, (flags) => listed.every((flag) => flags.includes(flag))),
  has_none: (value, listed: string[]) => flagged(value, (flags) => !listed.some((flag) => flags.includes(flag))),
  within: isWithin,
  not_within: (value, listed) => not(isWithin(value, listed)),
  between: isBetween,
}

const testsOf = (operator: string, tested: unknown, attributes: Attributes): readonly Truth[] => {
  switch (operator) {
    case 'any':
      return [anyOf((tested as Condition[]).map((group) => holds(group, attributes)))]
    case 'not':
      return [not(holds(tested as Condition, attributes))]
    case 'present':
      return (tested as AttributeName[]).map((name) => !isAbsent(attributes[name]))
    case 'absent':
      return (tested as AttributeName[]).map((name) => isAbsent(attributes[name]))
    default: {
      // An operator that this version does not know can say nothing.
      const says = Object.hasOwn(operators, operator) ? operators[operator] : undefined
      return Object.entries(tested as Tested).map(([name, listed]) => says?.(attributes[name as AttributeName], listed))
    }
  }
}

/** Whether a condition holds for a request; undefined where that cannot be said. */
export const holds = (condition: Condition, attributes: Attributes): Truth =>
  allOf(Object.entries(condition).flatMap(([operator, tested]) => testsOf(operator, tested, attributes)))
