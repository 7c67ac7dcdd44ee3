/** Where a text stops being JSON. Line and column begin with 1 and are counted in bytes of UTF-8, as is `byte`, which begins with 0. */
export interface JsonPosition {
  readonly line: number
  readonly column: number
  readonly byte: number
}

const codeOf = (char: string) => char.charCodeAt(0)
const [quote, backslash, comma, colon, minus, dot] = [...'"\\,:-.'].map(codeOf)
const [openBrace, closeBrace, openBracket, closeBracket, zero, nine] = [...'{}[]09'].map(codeOf)
const words = ['true', 'false', 'null'].map((word) => Buffer.from(word))
const escapable = new Set([...'"\\/bfnrt'].map(codeOf))
const isSpace = (code: number | undefined) => code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
const isDigit = (code: number | undefined) => code !== undefined && code >= zero! && code <= nine!
const isHex = (code: number | undefined) => isDigit(code) || (code !== undefined && (code | 0x20) >= 0x61 && (code | 0x20) <= 0x66)

/**
 * Reads bytes as RFC 8259 does and returns the first that cannot stand where it stands; the end, where something is missing; undefined,
 * where all of it is JSON. It keeps nothing but one bit for each open bracket, and looks at each byte once: it runs for what was refused.
 */
const faultIn = (bytes: Uint8Array): number | undefined => {
  let at = 0
  const skip = () => {
    while (isSpace(bytes[at])) at += 1
  }
  /** Each moves `at` past what it reads, or leaves it at the fault and returns false. */
  const string = (): boolean => {
    at += 1
    for (; ; at += 1) {
      const code = bytes[at]
      if (code === undefined || code < 0x20) return false
      if (code === quote) {
        at += 1
        return true
      }
      if (code !== backslash) continue
      at += 1
      if (bytes[at] === 0x75) {
        for (let digits = 0; digits < 4; digits += 1) {
          at += 1
          if (!isHex(bytes[at])) return false
        }
      } else if (bytes[at] === undefined || !escapable.has(bytes[at]!)) return false
    }
  }
  const digits = (): boolean => {
    if (!isDigit(bytes[at])) return false
    while (isDigit(bytes[at])) at += 1
    return true
  }
  const number = (): boolean => {
    if (bytes[at] === minus) at += 1
    if (bytes[at] === zero) at += 1
    else if (!digits()) return false
    if (bytes[at] === dot) {
      at += 1
      if (!digits()) return false
    }
    if (bytes[at] === 0x65 || bytes[at] === 0x45) {
      at += 1
      if (bytes[at] === 0x2b || bytes[at] === minus) at += 1
      if (!digits()) return false
    }
    return true
  }
  const word = (): boolean => {
    const wanted = words.find(([first]) => first === bytes[at])
    if (!wanted) return false
    for (const code of wanted) {
      if (bytes[at] !== code) return false
      at += 1
    }
    return true
  }
  const member = (): boolean => {
    skip()
    if (bytes[at] !== quote || !string()) return false
    skip()
    if (bytes[at] !== colon) return false
    at += 1
    return true
  }

  const open: boolean[] = []
  for (;;) {
    skip()
    const code = bytes[at]
    if (code === openBrace || code === openBracket) {
      const isObject = code === openBrace
      at += 1
      skip()
      if (bytes[at] === (isObject ? closeBrace : closeBracket)) at += 1
      else {
        open.push(isObject)
        if (isObject && !member()) return at
        continue
      }
    } else if (code === quote) {
      if (!string()) return at
    } else if (code === minus || isDigit(code)) {
      if (!number()) return at
    } else if (!word()) return at
    // A value has ended: so may what it lies in.
    for (;;) {
      skip()
      const isObject = open.at(-1)
      if (isObject === undefined) return at < bytes.length ? at : undefined
      if (bytes[at] === comma) {
        at += 1
        if (isObject && !member()) return at
        break
      }
      if (bytes[at] !== (isObject ? closeBrace : closeBracket)) return at
      at += 1
      open.pop()
    }
  }
}

export const malformedAt = (bytes: Uint8Array): JsonPosition | undefined => {
  const byte = faultIn(bytes)
  if (byte === undefined) return undefined
  let line = 1
  let begins = 0
  for (let at = bytes.indexOf(0x0a); at >= 0 && at < byte; at = bytes.indexOf(0x0a, at + 1)) {
    line += 1
    begins = at + 1
  }
  return { line, column: byte - begins + 1, byte }
}
