import { BlockList, isIP, SocketAddress } from 'node:net'
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

type Family = 'ipv4' | 'ipv6'
const familyOf = (address: string): Family | undefined => (({ 4: 'ipv4', 6: 'ipv6' }) as const)[isIP(address) as 4 | 6]

/** One list a family: an address of one lies in no range of the other, which Node's own list would not say. */
const listsOf = (ranges: readonly string[]): Readonly<Record<Family, BlockList>> => {
  const known = lists.get(ranges)
  if (known) return known
  const made = { ipv4: new BlockList(), ipv6: new BlockList() }
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/')
    const family = familyOf(address) ?? 'ipv4'
    made[family].addSubnet(address, Number(prefix), family)
  }
  lists.set(ranges, made)
  return made
}
const lists = new WeakMap<readonly string[], Readonly<Record<Family, BlockList>>>()

const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/
/** One spelling an address; an IPv4 address written as IPv6 is that IPv4 address. */
const plain = (address: string, family: Family): string => {
  const spelt = family === 'ipv4' ? address : new SocketAddress({ address, family }).address
  return mapped.exec(spelt)?.[1] ?? spelt
}

const isWithin = (value: unknown, ranges: readonly string[]): Truth => {
  const family = isText(value) ? familyOf(value) : undefined
  if (!isText(value) || !family) return undefined
  const address = plain(value, family)
  const own = familyOf(address) ?? family
  return listsOf(ranges)[own].check(address, own)
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
