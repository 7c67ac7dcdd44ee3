import { BlockList, isIP, SocketAddress } from 'node:net'
import { type AttributeName, attributeNames, type Condition } from '@gatehouse/contract/conditions'

/** What a request says of itself, as it was found: a value may be of any type, or absent. */
export type Attributes = { readonly [A in AttributeName]?: unknown }

/** Stands for a value that is still open: it may be there or not. No request says it; it is for asking what requests could be denied. */
export const unsaid = Symbol('unsaid')

/** Undefined: it cannot be said. */
type Truth = boolean | undefined

/** Longer than anything that a rule could name: not worth reading, and so not readable. */
const mostLetters = 200
const mostFlags = 100
const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= mostLetters
const isInteger = (value: unknown): value is number => Number.isSafeInteger(value)
const isTexts = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every(isText)
const isAbsent = (value: unknown): boolean => value === undefined || value === null

const not = (truth: Truth): Truth => (truth === undefined ? undefined : !truth)

/** False settles it, whatever else cannot be said; so nothing after it is looked at. */
const allOf = (truths: Iterable<Truth>): Truth => {
  let all: Truth = true
  for (const truth of truths) {
    if (truth === false) return false
    if (truth === undefined) all = undefined
  }
  return all
}
const anyOf = (truths: Iterable<Truth>): Truth => {
  let any: Truth = false
  for (const truth of truths) {
    if (truth === true) return true
    if (truth === undefined) any = undefined
  }
  return any
}

/** A list of a rule as a set, made once: rules are kept, and asked about thousands of times. */
const sets = new WeakMap<readonly unknown[], ReadonlySet<unknown>>()
const setOf = (listed: readonly unknown[]): ReadonlySet<unknown> => {
  const known = sets.get(listed) ?? new Set(listed)
  sets.set(listed, known)
  return known
}

const isOneOf = (value: unknown, listed: unknown): Truth => {
  if (!Array.isArray(listed) || listed.length === 0) return undefined
  if (listed.every(isInteger)) return isInteger(value) ? setOf(listed).has(value) : undefined
  return isText(value) && listed.every(isText) ? setOf(listed).has(value) : undefined
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
  isTexts(value) && value.length <= mostFlags && isTexts(listed) ? holds(value, listed) : undefined

/** What each operator says of one attribute's value beside what the rule lists. Either may be anything: what does not fit says nothing. */
const operators: Record<string, (value: unknown, listed: unknown) => Truth> = {
  in: isOneOf,
  not_in: (value, listed) => not(isOneOf(value, listed)),
  at_least: (value, least) => compared(value, least, (amount, bound) => amount >= bound),
  at_most: (value, most) => compared(value, most, (amount, bound) => amount <= bound),
  has_any: (value, wanted) => flagged(value, wanted, (flags, listed) => flags.some((flag) => setOf(listed).has(flag))),
  has_all: (value, wanted) => flagged(value, wanted, (flags, listed) => listed.every((flag) => flags.includes(flag))),
  has_none: (value, wanted) => flagged(value, wanted, (flags, listed) => !flags.some((flag) => setOf(listed).has(flag))),
  within: isWithin,
  not_within: (value, listed) => not(isWithin(value, listed)),
  between: isBetween,
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isNamed = (name: unknown): name is AttributeName => attributeNames.includes(name as AttributeName)

/** One after the other, as far as somebody asks. */
function* each<T>(list: readonly T[], said: (item: T) => Truth): Iterable<Truth> {
  for (const item of list) yield said(item)
}

/** A test that is not spelt as this version spells it can say nothing; and what tests nothing is none. */
function* testsOf(operator: string, tested: unknown, attributes: Attributes): Iterable<Truth> {
  if (operator === 'not') return yield not(holds(tested as Condition, attributes))
  if (operator === 'any') {
    if (!Array.isArray(tested) || tested.length === 0) return yield undefined
    return yield anyOf(each(tested, (group) => holds(group as Condition, attributes)))
  }
  if (operator === 'present' || operator === 'absent') {
    if (!Array.isArray(tested) || tested.length === 0) return yield undefined
    for (const name of tested)
      yield isNamed(name) && attributes[name] !== unsaid ? isAbsent(attributes[name]) === (operator === 'absent') : undefined
    return
  }
  const says = Object.hasOwn(operators, operator) ? operators[operator] : undefined
  if (!says || !isObject(tested) || Object.keys(tested).length === 0) return yield undefined
  for (const [name, listed] of Object.entries(tested)) yield isNamed(name) ? says(attributes[name], listed) : undefined
}

function* allTests(condition: Condition, attributes: Attributes): Iterable<Truth> {
  for (const [operator, tested] of Object.entries(condition)) yield* testsOf(operator, tested, attributes)
}

/** Whether a condition holds for a request; undefined where that cannot be said. */
export const holds = (condition: Condition, attributes: Attributes): Truth =>
  isObject(condition) ? allOf(allTests(condition, attributes)) : undefined
