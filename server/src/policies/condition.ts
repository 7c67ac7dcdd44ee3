import { BlockList, isIP, SocketAddress } from 'node:net'
import { type AttributeName, attributeNames, type Condition } from '@gatehouse/contract/conditions'

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

const isOneOf = (value: unknown, listed: unknown): Truth => {
  if (!Array.isArray(listed) || listed.length === 0) return undefined
  if (listed.every(isInteger)) return isInteger(value) ? listed.includes(value) : undefined
  return isText(value) && listed.every(isText) ? listed.includes(value) : undefined
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

const isWithin = (value: unknown, ranges: unknown): Truth => {
  const family = isText(value) ? familyOf(value) : undefined
  if (!isText(value) || !family || !isTexts(ranges)) return undefined
  const address = plain(value, family)
  const own = familyOf(address) ?? family
  return listsOf(ranges)[own].check(address, own)
}

const isBetween = (value: unknown, bounds: unknown): Truth => {
  if (!isInteger(value) || !Array.isArray(bounds) || bounds.length !== 2 || !bounds.every(isInteger)) return undefined
  const [from, until] = bounds as [number, number]
  return from <= until ? from <= value && value < until : value >= from || value < until
}

const compared = (value: unknown, bound: unknown, holds: (value: number, bound: number) => boolean): Truth =>
  isInteger(value) && isInteger(bound) ? holds(value, bound) : undefined
const flagged = (value: unknown, listed: unknown, holds: (flags: readonly string[], listed: readonly string[]) => boolean): Truth =>
  isTexts(value) && isTexts(listed) ? holds(value, listed) : undefined

/** What each operator says of one attribute's value beside what the rule lists. Either may be anything: what does not fit says nothing. */
const operators: Record<string, (value: unknown, listed: unknown) => Truth> = {
  in: isOneOf,
  not_in: (value, listed) => not(isOneOf(value, listed)),
  at_least: (value, least) => compared(value, least, (amount, bound) => amount >= bound),
  at_most: (value, most) => compared(value, most, (amount, bound) => amount <= bound),
  has_any: (value, wanted) => flagged(value, wanted, (flags, listed) => listed.some((flag) => flags.includes(flag))),
  has_all: (value, wanted) => flagged(value, wanted, (flags, listed) => listed.every((flag) => flags.includes(flag))),
  has_none: (value, wanted) => flagged(value, wanted, (flags, listed) => !listed.some((flag) => flags.includes(flag))),
  within: isWithin,
  not_within: (value, listed) => not(isWithin(value, listed)),
  between: isBetween,
}

const unknown: readonly Truth[] = [undefined]
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isNamed = (name: unknown): name is AttributeName => attributeNames.includes(name as AttributeName)

/** A test that is not spelt as this version spells it can say nothing; and what tests nothing is none. */
const testsOf = (operator: string, tested: unknown, attributes: Attributes): readonly Truth[] => {
  switch (operator) {
    case 'any':
      return Array.isArray(tested) && tested.length > 0 ? [anyOf(tested.map((group) => holds(group, attributes)))] : unknown
    case 'not':
      return [not(holds(tested as Condition, attributes))]
    case 'present':
    case 'absent':
      return Array.isArray(tested) && tested.length > 0
        ? tested.map((name) => (isNamed(name) ? isAbsent(attributes[name]) === (operator === 'absent') : undefined))
        : unknown
    default: {
      const says = Object.hasOwn(operators, operator) ? operators[operator] : undefined
      if (!says || !isObject(tested) || Object.keys(tested).length === 0) return unknown
      return Object.entries(tested).map(([name, listed]) => (isNamed(name) ? says(attributes[name], listed) : undefined))
    }
  }
}

/** Whether a condition holds for a request; undefined where that cannot be said. */
export const holds = (condition: Condition, attributes: Attributes): Truth =>
  isObject(condition) ? allOf(Object.entries(condition).flatMap(([operator, tested]) => testsOf(operator, tested, attributes))) : undefined
