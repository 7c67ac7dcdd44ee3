import { parseUnique } from './strict-json.ts'

/** Signatures that only the holder of a private key can make. `none` and HMAC are not in the language, so nobody can configure them. */
export const asymmetricAlgorithms = [
  'ES256',
  'ES384',
  'ES512',
  'PS256',
  'PS384',
  'PS512',
  'RS256',
  'RS384',
  'RS512',
  'EdDSA',
  'Ed25519',
] as const

export type JwsHeader = { readonly alg: string; readonly kid: string; readonly typ?: string }
export type Claims = Readonly<Record<string, unknown>>

type Refused = { readonly ok: false; readonly reason: string }

/** What the parts are. Nothing here has been verified. */
export type JwsParts =
  | {
      readonly ok: true
      readonly header: JwsHeader
      /** All members of the header, those too that nobody reads. */
      readonly members: readonly string[]
      readonly payload: Buffer
      readonly signature: Buffer
      /** What the signature is of. */
      readonly signed: Buffer
    }
  | Refused

/** What the parts say. Nothing here has been verified. */
export type CompactJws = { readonly ok: true; readonly header: JwsHeader; readonly claims: Claims } | Refused

const maximumLength = 16 * 1024

/** Members by which a token would bring its own key, or change what is signed. */
const forbidden = ['crit', 'b64', 'jwk', 'jku', 'x5u', 'x5c', 'zip']

const refused = (reason: string): Refused => ({ ok: false, reason })

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The bytes of one part, or undefined unless it is the only spelling of those bytes. */
const bytesOf = (part: string): Buffer | undefined => {
  if (!/^[A-Za-z0-9_-]*$/.test(part)) return undefined
  const bytes = Buffer.from(part, 'base64url')
  return bytes.toString('base64url') === part ? bytes : undefined
}

/** The one JSON object that the bytes are, in every reader's eyes; undefined if they are not. */
export const objectOf = (bytes: Buffer): Claims | undefined => {
  try {
    // Two parsers that keep different ones of two members would read two different tokens.
    const value = parseUnique(utf8.decode(bytes))
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Claims) : undefined
  } catch {
    return undefined
  }
}

/** The three parts, each in its one spelling. What the header says has not been looked at. */
export type BareJws =
  | { readonly ok: true; readonly named: Claims; readonly payload: Buffer; readonly signature: Buffer; readonly signed: Buffer }
  | Refused

/** A strict gate in front of whatever verifies: it forgives no whitespace, no padding and no spare bits, as libraries do. */
export const bareJws = (token: string): BareJws => {
  if (token.length > maximumLength) return refused('longer than 16 KiB')
  const parts = token.split('.', 4)
  const [header, payload, signature] = parts.map(bytesOf)
  if (parts.length !== 3 || !header || !payload || !signature) return refused('not three canonical base64url parts')
  if (signature.length === 0) return refused('not signed')

  const named = objectOf(header)
  if (!named) return refused('header is not a JSON object with unique members')
  return { ok: true, named, payload, signature, signed: Buffer.from(token.slice(0, token.lastIndexOf('.')), 'ascii') }
}

/** The same of a token that names its key and does not bring it along. */
export const splitCompactJws = (token: string, algorithms: readonly string[] = asymmetricAlgorithms): JwsParts => {
  const jws = bareJws(token)
  if (!jws.ok) return jws
  const { named, payload, signature, signed } = jws
  const { alg, kid, typ } = named
  const brought = forbidden.find((member) => Object.hasOwn(named, member))
  if (brought) return refused(`header carries ${brought}`)
  if (typeof alg !== 'string' || !algorithms.includes(alg)) return refused('algorithm is not allowed')
  if (typeof kid !== 'string' || kid === '' || kid.length > 255) return refused('header has no usable kid')
  if (typ !== undefined && typeof typ !== 'string') return refused('header typ is not a string')
  return {
    ok: true,
    header: { alg, kid, ...(typ !== undefined && { typ }) },
    members: Object.keys(named),
    payload,
    signature,
    signed,
  }
}

/** The same of a token whose payload is claims. */
export const openCompactJws = (token: string, algorithms: readonly string[] = asymmetricAlgorithms): CompactJws => {
  const jws = splitCompactJws(token, algorithms)
  if (!jws.ok) return jws
  const claims = objectOf(jws.payload)
  return claims ? { ok: true, header: jws.header, claims } : refused('payload is not a JSON object with unique members')
}
