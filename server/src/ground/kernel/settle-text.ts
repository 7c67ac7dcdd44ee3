import { JsonRefused } from './json-refused.ts'

/** The Stream-Safe Text Format of UAX 15: no script puts more on one letter, and sorting them takes as long as their number squared. */
const most_marks = 30

/** Below it every character is in NFC and none combines. */
const firstThatCombines = 0x300
const endOfTable = 0x20000

/** One bit for each code point of the planes that have combining marks, besides the variation selectors of plane 14. */
let table: Uint8Array | undefined
const marks = (): Uint8Array => {
  if (table) return table
  const bits = new Uint8Array(endOfTable / 8)
  let points = ''
  for (let point = firstThatCombines; point < endOfTable; point += 1) {
    const isSurrogate = point >= 0xd800 && point <= 0xdfff
    if (!isSurrogate) points += String.fromCodePoint(point)
  }
  for (const [found] of points.matchAll(/\p{M}/gu)) {
    const point = found.codePointAt(0)!
    bits[point >> 3]! |= 1 << (point & 7)
  }
  table = bits
  return bits
}

const isMark = (bits: Uint8Array, point: number): boolean =>
  point < endOfTable ? (bits[point >> 3]! & (1 << (point & 7))) !== 0 : point >= 0xe0100 && point <= 0xe01ef

/** One pass instead of a regular expression, which would start again after each mark of a run. */
const hasEndlessMarks = (text: string, from: number): boolean => {
  const bits = marks()
  let run = 0
  for (let at = from; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    const isPair = code >= 0xd800 && code <= 0xdbff
    const point = isPair ? text.codePointAt(at)! : code
    if (isPair) at += 1
    run = isMark(bits, point) ? run + 1 : 0
    if (run > most_marks) return true
  }
  return false
}

/** Where the first character stands that may combine with another; refuses NUL on the way. */
const firstCombining = (text: string, member: string | undefined): number => {
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at)
    if (code >= firstThatCombines) return at
    if (code === 0) throw new JsonRefused('a text contains NUL', { member })
  }
  return -1
}

/** One spelling per text (NFC), and nothing that the database or a peer could not hold. */
export const settleText = (text: string, member?: string): string => {
  const from = firstCombining(text, member)
  if (from < 0) return text
  if (text.includes('\u0000', from)) throw new JsonRefused('a text contains NUL', { member })
  if (!text.isWellFormed()) throw new JsonRefused('a text is not well-formed Unicode', { member })
  if (hasEndlessMarks(text, from)) throw new JsonRefused('a text has too many marks on one letter', { member })
  return text.normalize('NFC')
}
