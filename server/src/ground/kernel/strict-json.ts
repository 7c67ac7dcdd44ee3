import { JsonRefused } from './json-refused.ts'
import { settleText } from './settle-text.ts'

const maxDepth = 32

interface Limits {
  /** Of one object: an honest request never has more. */
  readonly members: number
  /** Of the whole. */
  readonly values: number
  /** V8 keeps a hidden class for each order of names that it meets; making one takes a hundred times as long as meeting it again. */
  readonly shapes: number
}
const limitsOfBody: Limits = { members: 1000, values: 20_000, shapes: 2000 }
/** A token is read before anybody is known, and no issuer writes so much into one. */
const limitsOfToken: Limits = { members: 200, values: 2000, shapes: 400 }

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
// A key that would reach a prototype has no honest use in a request.
const poisoned = new Set(['__proto__', 'constructor', 'prototype'])

const refuse = (why: string): never => {
  throw new JsonRefused(why)
}

/** A member name after those that came before it in its object: what holds of it is judged once, however many objects look alike. */
interface Shape {
  /** Settled. */
  readonly name: string
  readonly count: number
  next: Map<string, Shape> | undefined
}

interface Reading {
  readonly text: string
  readonly limits: Limits
  at: number
  values: number
  shapes: number
  readonly root: Shape
  /** Whether texts and numbers are brought to one spelling and refused where another reader would read another value. */
  readonly isSettled: boolean
  /** Members of the whole whose texts are kept to the letter. */
  readonly asTheyCame: () => readonly string[]
  kept: readonly string[] | undefined
}

const notJson = ({ at }: Reading): never => {
  throw new JsonRefused('the body is not JSON', { position: at })
}

const skipSpace = (reading: Reading): number => {
  const { text } = reading
  let { at } = reading
  let code = text.charCodeAt(at)
  while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
    at += 1
    code = text.charCodeAt(at)
  }
  reading.at = at
  return code
}

const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}

const hexOf = (code: number): number => {
  if (code >= 0x30 && code <= 0x39) return code - 0x30
  const lower = code | 0x20
  return lower >= 0x61 && lower <= 0x66 ? lower - 0x57 : -1
}

/** What the escape sequence stands for whose backslash is the next character. */
const readEscape = (reading: Reading): string => {
  const { text, at } = reading
  const letter = text.charAt(at + 1)
  if (letter !== 'u') {
    const meant = escapes[letter]
    if (meant === undefined) return notJson(reading)
    reading.at = at + 2
    return meant
  }
  let code = 0
  for (let digit = at + 2; digit < at + 6; digit += 1) {
    const hex = hexOf(text.charCodeAt(digit))
    if (hex < 0) return notJson(reading)
    code = code * 16 + hex
  }
  reading.at = at + 6
  return String.fromCharCode(code)
}

/** From its opening quote on. */
const readText = (reading: Reading): string => {
  const { text } = reading
  let from = reading.at + 1
  let read = ''
  for (let at = from; ; at += 1) {
    const code = text.charCodeAt(at)
    if (code === 0x22) {
      reading.at = at + 1
      return read === '' ? text.slice(from, at) : read + text.slice(from, at)
    }
    if (code === 0x5c) {
      read += text.slice(from, at)
      reading.at = at
      read += readEscape(reading)
      from = reading.at
      at = from - 1
    } else if (!(code >= 0x20)) {
      // A control character, or NaN past the end.
      reading.at = at
      return notJson(reading)
    }
  }
}

const numeral = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y

const readNumber = (reading: Reading): number => {
  numeral.lastIndex = reading.at
  if (!numeral.test(reading.text)) return notJson(reading)
  const number = Number(reading.text.slice(reading.at, numeral.lastIndex))
  reading.at = numeral.lastIndex
  if (!reading.isSettled) return number
  if (!Number.isFinite(number)) refuse('a number is too large')
  if (Number.isInteger(number) && !Number.isSafeInteger(number)) refuse('an integer is too large to be exact')
  return number
}

const readWord = (reading: Reading, word: string, value: boolean | null): boolean | null => {
  if (!reading.text.startsWith(word, reading.at)) return notJson(reading) as never
  reading.at += word.length
  return value
}

const settledText = (reading: Reading, within: string | undefined): string => {
  const text = readText(reading)
  if (!reading.isSettled) return text
  const settled = settleText(text, within)
  if (within === undefined || settled === text) return settled
  reading.kept ??= reading.asTheyCame()
  return reading.kept.includes(within) ? text : settled
}

const newShape = (reading: Reading, before: Shape, written: string, members: object): Shape => {
  const { limits } = reading
  if (before.count >= limits.members) refuse(`more than ${limits.members} members`)
  reading.shapes += 1
  if (reading.shapes > limits.shapes) refuse('too many objects of different shapes')
  if (poisoned.has(written)) refuse('a member name is not allowed')
  const name = reading.isSettled ? settleText(written) : written
  if (Object.hasOwn(members, name)) refuse('a member appears twice')
  const shape = { name, count: before.count + 1, next: undefined }
  before.next ??= new Map()
  before.next.set(written, shape)
  return shape
}

const readObject = (reading: Reading, depth: number, within: string | undefined): object => {
  const members: Record<string, unknown> = {}
  let shape = reading.root
  reading.at += 1
  let code = skipSpace(reading)
  if (code === 0x7d) {
    reading.at += 1
    return members
  }
  for (;;) {
    if (code !== 0x22) return notJson(reading)
    const written = readText(reading)
    if (skipSpace(reading) !== 0x3a) return notJson(reading)
    reading.at += 1
    shape = shape.next?.get(written) ?? newShape(reading, shape, written, members)
    members[shape.name] = readValue(reading, depth, within ?? shape.name)
    const after = skipSpace(reading)
    if (after !== 0x7d && after !== 0x2c) return notJson(reading)
    reading.at += 1
    if (after === 0x7d) return members
    code = skipSpace(reading)
  }
}

const readList = (reading: Reading, depth: number, within: string | undefined): unknown[] => {
  const list: unknown[] = []
  reading.at += 1
  if (skipSpace(reading) === 0x5d) {
    reading.at += 1
    return list
  }
  for (;;) {
    list.push(readValue(reading, depth, within))
    const code = skipSpace(reading)
    if (code !== 0x5d && code !== 0x2c) return notJson(reading)
    reading.at += 1
    if (code === 0x5d) return list
  }
}

const readValue = (reading: Reading, depth: number, within: string | undefined): unknown => {
  reading.values += 1
  if (reading.values > reading.limits.values) refuse(`more than ${reading.limits.values} values`)
  const code = skipSpace(reading)
  switch (code) {
    case 0x22:
      return settledText(reading, within)
    case 0x7b:
    case 0x5b:
      if (depth === maxDepth) refuse(`deeper than ${maxDepth} levels`)
      return code === 0x7b ? readObject(reading, depth + 1, within) : readList(reading, depth + 1, within)
    case 0x74:
      return readWord(reading, 'true', true)
    case 0x66:
      return readWord(reading, 'false', false)
    case 0x6e:
      return readWord(reading, 'null', null)
    default:
      return readNumber(reading)
  }
}

const none = () => []

const readWhole = (text: string, isSettled: boolean, asTheyCame: () => readonly string[]): unknown => {
  const root: Shape = { name: '', count: 0, next: undefined }
  const limits = isSettled ? limitsOfBody : limitsOfToken
  const reading: Reading = { text, limits, at: 0, values: 0, shapes: 0, root, isSettled, asTheyCame, kept: undefined }
  const value = readValue(reading, 0, undefined)
  skipSpace(reading)
  return reading.at === text.length ? value : notJson(reading)
}

/** What a part of a token says as JSON, where no object in it has two members of one name: of these each reader would keep another. */
export const parseUnique = (text: string): unknown => readWhole(text, false, none)

const textOf = (bytes: Buffer): string => {
  try {
    return decoder.decode(bytes)
  } catch {
    return refuse('the body is not UTF-8')
  }
}

/**
 * Parses bytes as JSON in one reading only; throws JsonRefused where two readers could disagree. The texts of the members that are named last
 * are kept to the letter: a secret in another spelling is another one.
 */
export const parseStrictJson = (bytes: Buffer, asTheyCame: () => readonly string[] = none): unknown => {
  const text = textOf(bytes)
  if (text.charCodeAt(0) === 0xfeff) refuse('the body begins with a byte order mark')
  return readWhole(text, true, asTheyCame)
}
