import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { Exactly, uuidPattern } from '@gatehouse/contract/shapes'
import Type from 'typebox'
import { Compile } from 'typebox/compile'
import { Secret } from '#ground/kernel/secret.ts'

/** By this a scanner knows one of ours wherever it was left lying. */
const prefix = 'ghne_'

/** Where to go, as which node, with which secret, and by what the door is known there: nothing else has to be told to an agent. */
const Token = Exactly({
  v: Type.Literal(1),
  url: Type.String({ maxLength: 500 }),
  node_id: Type.String({ pattern: uuidPattern }),
  secret: Type.String({ pattern: '^[A-Za-z0-9_-]{43}$' }),
  ca: Type.String({ maxLength: 3000 }),
})
const shape = Compile(Token)

const hashOf = (secret: string): Buffer => createHash('sha256').update(secret).digest()

interface Enrolling {
  readonly url: string
  readonly node_id: string
  /** The authority's certificate in DER. */
  readonly authority: Buffer
}

/** The secret has 256 bits of chance in it: a plain hash is all that has to be kept of it. */
export const newEnrolmentToken = ({ url, node_id, authority }: Enrolling): { token: Secret; secret_hash: Buffer } => {
  const secret = randomBytes(32).toString('base64url')
  const told = JSON.stringify({ v: 1, url, node_id, secret, ca: authority.toString('base64') })
  return { token: new Secret(`${prefix}${Buffer.from(told).toString('base64url')}`), secret_hash: hashOf(secret) }
}

/** Which node a token says it is for, and the hash of its secret. */
export interface ReadToken {
  readonly node_id: string
  readonly secret_hash: Buffer
}

/** Null where it is none of ours. */
export const readEnrolmentToken = (text: string): ReadToken | null => {
  if (!text.startsWith(prefix)) return null
  const bytes = Buffer.from(text.slice(prefix.length), 'base64url')
  // One spelling: what follows the last whole byte would be let pass.
  if (bytes.toString('base64url') !== text.slice(prefix.length)) return null
  try {
    const told: unknown = JSON.parse(bytes.toString('utf8'))
    return shape.Check(told) ? { node_id: told.node_id.toLowerCase(), secret_hash: hashOf(told.secret) } : null
  } catch {
    return null
  }
}

export const isSameHash = (one: Buffer, other: Buffer): boolean => timingSafeEqual(one, other)
