import { isAscii } from 'node:buffer'

const maxDepth = 32
/** Of one object; whoever sends more wants to keep us busy. */
const maxMembers = 1000
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
// A key that would reach a prototype has no honest use in a request.
const poisoned = new Set(['__proto__', 'constructor', 'prototype'])

/** What JSON.parse would have accepted, or quietly changed, and we do not. The message is for the caller and quotes nothing. */
export class JsonRefused extends Error {
  override readonly name = 'JsonRefused'
  /** Within which member of the whole, where it is a text that was refused. */
  readonly member: string | undefined
  constructor(message: string, member?: string) {
    super(message)
    this.member = member
  }
}

const refuse = (why: string): never => {
  throw new JsonRefused(why)
}

const isSurrogatePaired = (text: string) => text.isWellFormed()

/** An uneven number of backslashes before a quote makes it a part of the text. */
const isEscaped = (text: string, at: number): boolean => {
  let first = at
  while (text.charCodeAt(first - 1) === backslash) first -= 1
  return (at - first) % 2 === 1
}

const stringEnd = (text: string, start: number): number => {
  for (let end = text.indexOf('"', start + 1); end >= 0; end = text.indexOf('"', end + 1)) if (!isEscaped(text, end)) return end
  return refuse('a string does not end')
}

const [quote, backslash, colon, openBrace, closeBrace, openBracket, closeBracket] = [...'"\\:{}[]'].map((char) => char.charCodeAt(0))
const isSpace = (code: number) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09

/** Walks the text once before it is parsed: depth is bounded first, and each member is counted, also those that JSON.parse would drop. */
const membersWritten = (text: string): number => {
  let depth = 0
  let members = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === openBrace || code === openBracket) {
      depth += 1
      if (depth > maxDepth) refuse(`deeper than ${maxDepth} levels`)
    } else if (code === closeBrace || code === closeBracket) depth -= 1
    else if (code === quote) {
      at = stringEnd(text, at)
      let after = at + 1
      while (isSpace(text.charCodeAt(after))) after += 1
      if (text.charCodeAt(after) === colon) members += 1
    }
  }
  return members
}

/** Those that are left of them. */
const membersKept = (value: unknown): number => {
  if (typeof value !== 'object' || value === null) return 0
  let members = 0
  if (Array.isArray(value)) {
    for (const each of value) members += membersKept(each)
    return members
  }
  let own = 0
  for (const name in value) {
    if (poisoned.has(name)) refuse('a member name is not allowed')
    own += 1
    members += membersKept((value as Record<string, unknown>)[name])
  }
  if (own > maxMembers) refuse(`more than ${maxMembers} members`)
  return own + members
}

/** What a text says as JSON, where no object in it has two members of one name: of these each reader would keep another. */
export const parseUnique = (text: string): unknown => {
  const written = membersWritten(text)
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    refuse('the body is not JSON')
  }
  if (membersKept(value) !== written) refuse('a member appears twice')
  return value
}

const settle = (value: unknown, within?: string): unknown => {
  if (typeof value === 'string') return settleText(value, within)
  if (typeof value === 'number') return settleNumber(value)
  if (Array.isArray(value)) return value.map((each) => settle(each, within))
  if (typeof value !== 'object' || value === null) return value
  const settled: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(value)) {
    const key = settleText(name)
    if (Object.hasOwn(settled, key)) refuse('a member appears twice')
    settled[key] = settle(member, within ?? key)
  }
  return settled
}

/** One spelling per text (NFC), and nothing that the database or a peer could not hold. */
export const settleText = (text: string, within?: string): string => {
  if (text.includes('\u0000')) throw new JsonRefused('a text contains NUL', within)
  if (!isSurrogatePaired(text)) throw new JsonRefused('a text is not well-formed Unicode', within)
  return text.normalize('NFC')
}

const settleNumber = (number: number): number => {
  if (!Number.isFinite(number)) refuse('a number is too large')
  if (Number.isInteger(number) && !Number.isSafeInteger(number)) refuse('an integer is too large to be exact')
  return number
}

const requireNumbers = (value: unknown): void => {
  if (typeof value === 'number') settleNumber(value)
  else if (typeof value === 'object') for (const name in value) requireNumbers((value as Record<string, unknown>)[name])
}

const textOf = (bytes: Buffer): string => {
  try {
    return decoder.decode(bytes)
  } catch {
    return refuse('the body is not UTF-8')
  }
}

/** Parses bytes as JSON in one reading only; throws JsonRefused where two readers could disagree. */
export const parseStrictJson = (bytes: Buffer): unknown => {
  const isPlain = isAscii(bytes)
  const text = isPlain ? bytes.toString('latin1') : textOf(bytes)
  if (text.charCodeAt(0) === 0xfeff) refuse('the body begins with a byte order mark')
  const value = parseUnique(text)
  if (!isPlain || text.includes('\\')) return settle(value)
  // Every text stands there as it is, and has no second spelling.
  requireNumbers(value)
  return value
}
