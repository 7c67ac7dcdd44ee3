import { isAscii } from 'node:buffer'

// The parser of before, kept as a control: what must be too dear for the bounds of test/cost/dear-bodies.ts.
const maxDepth = 32
/** Of one object; whoever sends more wants to keep us busy. */
const maxMembers = 1000
const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
// A key that would reach a prototype has no honest use in a request.
const poisoned = new Set(['__proto__', 'constructor', 'prototype'])

/** What JSON.parse would have accepted, or quietly changed, and we do not. The message is for the caller and quotes nothing. */
class JsonRefused extends Error {
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

/** How many members the object has by now that is open at each depth. */
const open = new Uint32Array(maxDepth + 1)
type NoteMember = (first: number, last: number) => void

/**
 * Walks the text once before it is parsed: depth and members are bounded first, and each member is counted, also those that JSON.parse
 * would drop.
 */
const membersWritten = (text: string, note?: NoteMember): number => {
  let depth = 0
  let members = 0
  open[0] = 0
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code === openBrace || code === openBracket) {
      depth += 1
      if (depth > maxDepth) refuse(`deeper than ${maxDepth} levels`)
      open[depth] = 0
    } else if (code === closeBrace || code === closeBracket) depth -= 1
    else if (code === quote) {
      const first = at
      at = stringEnd(text, at)
      let after = at + 1
      while (isSpace(text.charCodeAt(after))) after += 1
      if (text.charCodeAt(after) !== colon) continue
      members += 1
      open[depth]! += 1
      if (open[depth]! > maxMembers) refuse(`more than ${maxMembers} members`)
      note?.(first, at)
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
  for (const name in value) {
    if (poisoned.has(name)) refuse('a member name is not allowed')
    members += 1 + membersKept((value as Record<string, unknown>)[name])
  }
  return members
}

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return refuse('the body is not JSON')
  }
}

/** The value with its members under their own names, which stand in the list at the places that they have for names now. */
const renamed = (value: unknown, names: readonly string[]): unknown => {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((each) => renamed(each, names))
  const members: Record<string, unknown> = {}
  for (const [place, member] of Object.entries(value)) {
    const name = names[Number.parseInt(place, 10)]!
    if (poisoned.has(name)) refuse('a member name is not allowed')
    if (Object.hasOwn(members, name)) refuse('a member appears twice')
    members[name] = renamed(member, names)
  }
  return members
}

const parseCounted = (text: string, written: number): unknown => {
  const value = parsed(text)
  if (membersKept(value) !== written) refuse('a member appears twice')
  return value
}

/**
 * JSON.parse takes a name that is escaped for another one where an object before it, of whoever's request, had a name with a backslash in
 * it (nodejs/node#63785). So it is shown no such name: each is read by itself, and its place in a list stands for it meanwhile.
 */
const parseEscaped = (text: string): unknown => {
  const names: string[] = []
  let plain = ''
  let from = 0
  membersWritten(text, (first, last) => {
    plain += `${text.slice(from, first)}"${names.length}."`
    names.push(text.slice(first, last + 1))
    from = last + 1
  })
  if (!names.some((name) => name.includes('\\'))) return parseCounted(text, names.length)
  const value = parsed(plain + text.slice(from))
  return renamed(
    value,
    names.map((name) => parsed(name) as string),
  )
}

/** What a text says as JSON, where no object in it has two members of one name: of these each reader would keep another. */
const parseUnique = (text: string): unknown => (text.includes('\\') ? parseEscaped(text) : parseCounted(text, membersWritten(text)))

const settle = (value: unknown, asTheyCame: readonly string[], within?: string): unknown => {
  if (typeof value === 'string') {
    const settled = settleText(value, within)
    return within !== undefined && asTheyCame.includes(within) ? value : settled
  }
  if (typeof value === 'number') return settleNumber(value)
  if (Array.isArray(value)) return value.map((each) => settle(each, asTheyCame, within))
  if (typeof value !== 'object' || value === null) return value
  const settled: Record<string, unknown> = {}
  for (const [name, member] of Object.entries(value)) {
    const key = settleText(name)
    if (Object.hasOwn(settled, key)) refuse('a member appears twice')
    settled[key] = settle(member, asTheyCame, within ?? key)
  }
  return settled
}

/** No script puts so many on one letter (UAX 15, stream-safe text). To put marks in their order takes as long as their number squared. */
const endlessMarks = /\p{M}{31}/u

/** One spelling per text (NFC), and nothing that the database or a peer could not hold. */
const settleText = (text: string, within?: string): string => {
  if (text.includes('\u0000')) throw new JsonRefused('a text contains NUL', within)
  if (!isSurrogatePaired(text)) throw new JsonRefused('a text is not well-formed Unicode', within)
  if (endlessMarks.test(text)) throw new JsonRefused('a text has too many marks on one letter', within)
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

/**
 * Parses bytes as JSON in one reading only; throws JsonRefused where two readers could disagree. The texts of the members that are named last
 * are kept to the letter: a secret in another spelling is another one.
 */
export const formerParser = (bytes: Buffer, asTheyCame: () => readonly string[] = () => []): unknown => {
  const isPlain = isAscii(bytes)
  const text = isPlain ? bytes.toString('latin1') : textOf(bytes)
  if (text.charCodeAt(0) === 0xfeff) refuse('the body begins with a byte order mark')
  const value = parseUnique(text)
  if (!isPlain || text.includes('\\')) return settle(value, asTheyCame())
  // Every text stands there as it is, and has no second spelling.
  requireNumbers(value)
  return value
}
