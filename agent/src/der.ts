/** As much of DER as a certificate signing request needs. */
const lengthOf = (size: number): Buffer => {
  if (size < 0x80) return Buffer.from([size])
  const bytes: number[] = []
  for (let rest = size; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256)
  return Buffer.from([0x80 | bytes.length, ...bytes])
}

const tagged = (tag: number, ...contents: readonly Buffer[]): Buffer => {
  const content = Buffer.concat(contents)
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content])
}

const septets = (value: number): number[] => {
  const bytes = [value % 128]
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) bytes.unshift(0x80 | (rest % 128))
  return bytes
}

export const sequence = (...members: readonly Buffer[]): Buffer => tagged(0x30, ...members)
export const set = (...members: readonly Buffer[]): Buffer => tagged(0x31, ...members)
export const integer = (value: 0): Buffer => tagged(0x02, Buffer.from([value]))
export const utf8 = (text: string): Buffer => tagged(0x0c, Buffer.from(text, 'utf8'))
export const bits = (content: Buffer): Buffer => tagged(0x03, Buffer.from([0]), content)
/** Constructed, with a tag that its context gives a meaning. */
export const inContext = (number: number, ...members: readonly Buffer[]): Buffer => tagged(0xa0 | number, ...members)
export const objectId = (dotted: string): Buffer => {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number)
  return tagged(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(septets)]))
}

export const pem = (label: string, der: Buffer): string =>
  `-----BEGIN ${label}-----\n${der.toString('base64').replace(/.{1,64}/g, '$&\n')}-----END ${label}-----\n`
