// Texts and numbers as SSH writes them down (RFC 4251, section 5).

/** Reads one after the other; what does not fit is undefined, and so is everything after it. */
export const wireReader = (bytes: Buffer) => {
  let at = 0
  let is_broken = false
  const text = (): Buffer | undefined => {
    const begin = at + 4
    const end = begin <= bytes.length ? begin + bytes.readUInt32BE(at) : Number.POSITIVE_INFINITY
    if (is_broken || end > bytes.length) {
      is_broken = true
      return undefined
    }
    at = end
    return bytes.subarray(begin, end)
  }
  return { text }
}

const wireText = (text: Uint8Array): Buffer => {
  const length = Buffer.alloc(4)
  length.writeUInt32BE(text.length)
  return Buffer.concat([length, text])
}

export const wireTexts = (texts: readonly Uint8Array[]): Buffer => Buffer.concat(texts.map(wireText))

/** A number above zero, in the one spelling that it has: the first bit is the sign, and no byte says nothing. */
export const positiveOf = (bytes: Buffer): bigint | undefined => {
  const [first, second] = bytes
  if (first === undefined || first >= 0x80) return undefined
  if (first === 0 && (second === undefined || second < 0x80)) return undefined
  return BigInt(`0x${bytes.toString('hex')}`)
}

export const wireNumber = (number: bigint): Buffer => {
  const hex = number.toString(16)
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
  return bytes[0]! >= 0x80 ? Buffer.concat([Buffer.alloc(1), bytes]) : bytes
}
