import { createHash } from 'node:crypto'
import type { keyTypes } from '@gatehouse/contract/node-tasks'
import { type Curve, curves, isCurvePoint, isEd25519Key } from './curve-points.ts'
import { bitsOf, isWeakRsa } from './rsa-strength.ts'
import { positiveOf, wireNumber, wireReader, wireTexts } from './wire.ts'

type KeyType = (typeof keyTypes)[number]

/** What is kept of a key; nothing of it is a piece of the text that was sent. */
export interface PublicKey {
  readonly key_type: KeyType
  readonly blob: string
  readonly bits: number
  readonly fingerprint: string
}

/** Why a text is no key that we take. */
export type Refusal =
  | 'too_long'
  | 'private_key'
  | 'not_one_line'
  | 'type_not_accepted'
  | 'not_base64'
  | 'malformed'
  | 'type_mismatch'
  | 'point_invalid'
  | 'too_short'
  | 'weak'

interface Read {
  readonly bits: number
  /** Whether it protects nothing; asked last, since it costs most. */
  readonly isWeak?: () => boolean
  /** Written anew from what was understood. */
  readonly fields: readonly Uint8Array[]
}
type Reader = ReturnType<typeof wireReader>

const readEd25519 = ({ text }: Reader): Read | Refusal => {
  const point = text()
  if (point?.length !== 32) return 'malformed'
  return isEd25519Key(point) ? { bits: 256, fields: [point] } : 'point_invalid'
}

const readEcdsa =
  (curve: Curve) =>
  ({ text }: Reader): Read | Refusal => {
    const [name, point] = [text(), text()]
    if (!name || !point) return 'malformed'
    if (name.toString('latin1') !== curve) return 'type_mismatch'
    return isCurvePoint(curve, point) ? { bits: curves[curve].bits, fields: [Buffer.from(curve), point] } : 'point_invalid'
  }

const readRsa = ({ text }: Reader): Read | Refusal => {
  const [exponent, modulus] = [text(), text()].map((bytes) => bytes && positiveOf(bytes))
  if (exponent === undefined || modulus === undefined) return 'malformed'
  const bits = bitsOf(modulus)
  if (bits < 2048) return 'too_short'
  if (bits > 8192) return 'too_long'
  return { bits, isWeak: () => isWeakRsa(exponent, modulus), fields: [wireNumber(exponent), wireNumber(modulus)] }
}

/** What the security key was told that it is for: one that was made for a web site is not meant for logins. */
const application = /^ssh:[\x21-\x7e]{0,200}$/
const onSecurityKey =
  (read: (reader: Reader) => Read | Refusal) =>
  (reader: Reader): Read | Refusal => {
    const inner = read(reader)
    if (typeof inner === 'string') return inner
    const meant = reader.text()?.toString('latin1')
    return meant !== undefined && application.test(meant) ? { ...inner, fields: [...inner.fields, Buffer.from(meant)] } : 'malformed'
  }

const readers: Readonly<Record<KeyType, (reader: Reader) => Read | Refusal>> = {
  'ssh-ed25519': readEd25519,
  'ssh-rsa': readRsa,
  'ecdsa-sha2-nistp256': readEcdsa('nistp256'),
  'ecdsa-sha2-nistp384': readEcdsa('nistp384'),
  'ecdsa-sha2-nistp521': readEcdsa('nistp521'),
  'sk-ssh-ed25519@openssh.com': onSecurityKey(readEd25519),
  'sk-ecdsa-sha2-nistp256@openssh.com': onSecurityKey(readEcdsa('nistp256')),
}
const isKeyType = (name: string): name is KeyType => Object.hasOwn(readers, name)

const longestText = 16 * 1024
const longestComment = 1024

/** Only to tell somebody what he has done: none of these would be taken for a public key. The last is `openssh-key-v1` in base64. */
const privateMarks = [/PRIVATE KEY/i, /PuTTY-User-Key-File/i, /"d"\s*:/, /b3BlbnNzaC1rZXktdjE/]

/** Whatever ends a line somewhere, is seen by nobody, or only looks like a blank. */
const strange = /\p{C}|(?! )\p{Z}/u
const otherKey = /^(?:ssh-dss|.*-cert-v0[01]@openssh\.com|AAAA[A-Za-z0-9+/]{16}.*)$/
/** A comment is not kept; but what looks like a second key, or turns the rest into a comment, was not meant as one. */
const isMisleading = (comment: string): boolean =>
  comment.includes('#') || comment.split(' ').some((word) => isKeyType(word) || otherKey.test(word))

/** A key that can be one, before anybody has asked whether it is worth anything. */
interface ReadKey {
  readonly key: PublicKey
  readonly isWeak: () => boolean
}

const readBlob = (key_type: KeyType, bytes: Buffer): ReadKey | Refusal => {
  const reader = wireReader(bytes)
  const inner = reader.text()
  if (!inner) return 'malformed'
  if (inner.toString('latin1') !== key_type) return 'type_mismatch'
  const read = readers[key_type](reader)
  if (typeof read === 'string') return read
  const blob = wireTexts([Buffer.from(key_type), ...read.fields])
  // Nothing is left over, and nothing had another spelling.
  if (!blob.equals(bytes)) return 'malformed'
  const digest = createHash('sha256').update(blob).digest('base64').replace(/=+$/, '')
  const key = { key_type, blob: blob.toString('base64'), bits: read.bits, fingerprint: `SHA256:${digest}` }
  return { key, isWeak: read.isWeak ?? (() => false) }
}

const readText = (text: string): ReadKey | Refusal => {
  if (text.length > longestText) return 'too_long'
  if (privateMarks.some((mark) => mark.test(text))) return 'private_key'
  const line = text.endsWith('\n') ? text.slice(0, -1) : text
  if (strange.test(line)) return 'not_one_line'
  const [, key_type, base64, comment = ''] = /^([^ ]+) ([^ ]+)(?: (.*))?$/.exec(line) ?? []
  if (key_type === undefined || base64 === undefined) return 'malformed'
  if (!isKeyType(key_type)) return 'type_not_accepted'
  if (comment.length > longestComment) return 'too_long'
  if (isMisleading(comment)) return 'not_one_line'
  const bytes = Buffer.from(base64, 'base64')
  // There is one spelling of the same bytes; what else decodes to them is refused.
  return bytes.toString('base64') === base64 ? readBlob(key_type, bytes) : 'not_base64'
}

/**
 * The key in one line as `.pub` files have it, or why it is not taken. Whatever is returned holds nothing of the text as it came. What is
 * to be known before the costly question whether it is weak can be known by then.
 */
export const readPublicKey = (text: string): ReadKey | { readonly refused: Refusal } => {
  const read = readText(text)
  return typeof read === 'string' ? { refused: read } : read
}

/** The same with that question answered. */
export const parsePublicKey = (text: string): PublicKey | { readonly refused: Refusal } => {
  const read = readPublicKey(text)
  if ('refused' in read) return read
  return read.isWeak() ? { refused: 'weak' } : read.key
}
