import { BlockList, isIP, SocketAddress } from 'node:net'
import { type AttributeName, attributeNames, type Condition } from '@gatehouse/contract/conditions'

/** What a request says of itself, as it was found: a value may be of any type, or absent. */
export type Attributes = { readonly [A in AttributeName]?: unknown }

/** Stands for a value that is still open: it may be there or not. No request says it; it is for asking what requests could be denied. */
export const unsaid = Symbol('unsaid')

/** Undefined: it cannot be said. */
type Truth = boolean | undefined

/** Rules are kept and asked thousands of times: what a rule says is read once, and what is left of it asks only about the request. */
type Judge = (attributes: Attributes) => Truth
/** The same about the one value that a test looks at. */
type Test = (value: unknown) => Truth
const unknowable = (): Truth => undefined

/** Longer than anything that a rule could name: not worth reading, and so not readable. */
const mostLetters = 200
const mostFlags = 100
const isText = (value: unknown): value is string => typeof value === 'string' && value.length <= mostLetters
const isInteger = (value: unknown): value is number => Number.isSafeInteger(value)
const isTexts = (value: unknown): value is readonly string[] => Array.isArray(value) && value.every(isText)
const isFew = (value: unknown): boolean => Array.isArray(value) && value.length <= mostFlags
const isAbsent = (value: unknown): boolean => value === undefined || value === null

const not = (truth: Truth): Truth => (truth === undefined ? undefined : !truth)

/** False settles it, whatever else cannot be said; so nothing after it is looked at. */
const allOf =
  (judges: readonly Judge[]): Judge =>
  (attributes) => {
    let all: Truth = true
    for (const judge of judges) {
      const truth = judge(attributes)
      if (truth === false) return false
      if (truth === undefined) all = undefined
    }
    return all
  }
const anyOf =
  (judges: readonly Judge[]): Judge =>
  (attributes) => {
    let any: Truth = false
    for (const judge of judges) {
      const truth = judge(attributes)
      if (truth === true) return true
      if (truth === undefined) any = undefined
    }
    return any
  }

const isOneOf = (listed: unknown): Test => {
  if (!Array.isArray(listed) || listed.length === 0) return unknowable
  const isReadable = [isInteger, isText].find((isSuch: (value: unknown) => boolean) => listed.every(isSuch))
  if (!isReadable) return unknowable
  const set = new Set<unknown>(listed)
  return (value) => (isReadable(value) ? set.has(value) : undefined)
}

type Family = 'ipv4' | 'ipv6'
const familyOf = (address: string): Family | undefined => (({ 4: 'ipv4', 6: 'ipv6' }) as const)[isIP(address) as 4 | 6]

/** One list a family: an address of one lies in no range of the other, which Node's own list would not say. */
const listsOf = (ranges: readonly string[]): Readonly<Record<Family, BlockList>> => {
  const lists = { ipv4: new BlockList(), ipv6: new BlockList() }
  for (const range of ranges) {
    const [address = '', prefix] = range.split('/')
    const family = familyOf(address) ?? 'ipv4'
    lists[family].addSubnet(address, Number(prefix), family)
  }
  return lists
}

const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/
/** One spelling an address; an IPv4 address written as IPv6 is that IPv4 address. */
const plain = (address: string, family: Family): string => {
  const spelt = family === 'ipv4' ? address : new SocketAddress({ address, family }).address
  return mapped.exec(spelt)?.[1] ?? spelt
}

const isWithin = (ranges: unknown): Test => {
  if (!isTexts(ranges)) return unknowable
  let lists: ReturnType<typeof listsOf> | undefined
  return (value) => {
    const family = isText(value) ? familyOf(value) : undefined
    if (!isText(value) || !family) return undefined
    const address = plain(value, family)
    const own = familyOf(address) ?? family
    // Not sooner: a range that is none breaks the question that looks at it, and no other.
    lists ??= listsOf(ranges)
    return lists[own].check(address, own)
  }
}

const isBetween = (bounds: unknown): Test => {
  if (!Array.isArray(bounds) || bounds.length !== 2 || !bounds.every(isInteger)) return unknowable
  const [from, until] = bounds as [number, number]
  return (value) => {
    if (!isInteger(value)) return undefined
    return from <= until ? from <= value && value < until : value >= from || value < until
  }
}

const compared = (bound: unknown, holds: (value: number, bound: number) => boolean): Test =>
  isInteger(bound) ? (value) => (isInteger(value) ? holds(value, bound) : undefined) : unknowable
const flagged = (listed: unknown, holds: (flags: readonly string[], listed: readonly string[]) => boolean): Test =>
  // The number first: to read very many only to find that they are too many would take very long, for each test anew.
  isTexts(listed) ? (value) => (isFew(value) && isTexts(value) ? holds(value, listed) : undefined) : unknowable
const negated =
  (test: Test): Test =>
  (value) =>
    not(test(value))

/** What each operator asks of one attribute's value, by what the rule lists. Either may be anything: what does not fit says nothing. */
const operators: Record<string, (listed: unknown) => Test> = {
  in: isOneOf,
  not_in: (listed) => negated(isOneOf(listed)),
  at_least: (least) => compared(least, (amount, bound) => amount >= bound),
  at_most: (most) => compared(most, (amount, bound) => amount <= bound),
  has_any: (wanted) => flagged(wanted, (flags, listed) => flags.some((flag) => listed.includes(flag))),
  has_all: (wanted) => flagged(wanted, (flags, listed) => listed.every((flag) => flags.includes(flag))),
  has_none: (wanted) => flagged(wanted, (flags, listed) => !flags.some((flag) => listed.includes(flag))),
  within: isWithin,
  not_within: (listed) => negated(isWithin(listed)),
  between: isBetween,
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isNamed = (name: unknown): name is AttributeName => attributeNames.includes(name as AttributeName)

const hasAttribute =
  (name: unknown, isWanted: boolean): Judge =>
  (attributes) =>
    isNamed(name) && attributes[name] !== unsaid ? isAbsent(attributes[name]) !== isWanted : undefined

/** A test that is not spelt as this version spells it can say nothing; and what tests nothing is none. */
const testsOf = ([operator, tested]: readonly [string, unknown]): readonly Judge[] => {
  if (operator === 'not') {
    const judge = judgeOf(tested)
    return [(attributes) => not(judge(attributes))]
  }
  if (operator === 'any' || operator === 'present' || operator === 'absent') {
    if (!Array.isArray(tested) || tested.length === 0) return [unknowable]
    return operator === 'any' ? [anyOf(tested.map(judgeOf))] : tested.map((name) => hasAttribute(name, operator === 'present'))
  }
  const testOf = Object.hasOwn(operators, operator) ? operators[operator] : undefined
  if (!testOf || !isObject(tested) || Object.keys(tested).length === 0) return [unknowable]
  return Object.entries(tested).map(([name, listed]) => {
    const test = testOf(listed)
    return isNamed(name) ? (attributes) => test(attributes[name]) : unknowable
  })
}

const judgeOf = (condition: unknown): Judge => {
  if (!isObject(condition)) return unknowable
  const tests = Object.entries(condition).flatMap(testsOf)
  return tests.length === 1 ? tests[0]! : allOf(tests)
}

const judges = new WeakMap<object, Judge>()

/** Whether a condition holds for a request; undefined where that cannot be said. */
export const holds = (condition: Condition, attributes: Attributes): Truth => {
  if (!isObject(condition)) return undefined
  const judge = judges.get(condition) ?? judgeOf(condition)
  judges.set(condition, judge)
  return judge(attributes)
}
