import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { Exactly } from '@gatehouse/contract/shapes'
import Type, { type Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { Secret } from '../kernel/secret.ts'
import type { KeyRing } from './key-ring.ts'

/** A secret as it lies at rest. */
export const Envelope = Exactly({
  v: Type.Literal(1),
  alg: Type.Literal('A256GCM'),
  key_id: Type.String({ maxLength: 63 }),
  nonce: Type.String({ pattern: '^[A-Za-z0-9_-]{16}$' }),
  ct: Type.String({ pattern: '^[A-Za-z0-9_-]{22,}$' }),
})
export type Envelope = Static<typeof Envelope>
const shape = Compile(Envelope)

/** A bad envelope opens for nobody and says nothing but that it is bad. */
export class EnvelopeRefused extends Error {
  override readonly name = 'EnvelopeRefused'
}

// The id is authenticated too, so that an envelope cannot be relabelled; `bound` ties it to its place in its table.
const aadOf = (key_id: string, bound: string) => Buffer.from(`gatehouse envelope v1\n${key_id}\n${bound}`)

export const seal = (ring: KeyRing, secret: Secret, bound: string): Envelope => {
  const nonce = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', ring.keyOf(ring.active_id)!, nonce).setAAD(aadOf(ring.active_id, bound))
  const ct = Buffer.concat([cipher.update(secret.reveal(), 'utf8'), cipher.final(), cipher.getAuthTag()])
  return { v: 1, alg: 'A256GCM', key_id: ring.active_id, nonce: nonce.toString('base64url'), ct: ct.toString('base64url') }
}

export const unseal = (ring: KeyRing, envelope: unknown, bound: string): Secret => {
  if (!shape.Check(envelope)) throw new EnvelopeRefused('an envelope does not have its shape')
  const key = ring.keyOf(envelope.key_id)
  if (!key) throw new EnvelopeRefused(`no key with the id ${envelope.key_id} is configured`)
  const bytes = Buffer.from(envelope.ct, 'base64url')
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, Buffer.from(envelope.nonce, 'base64url'))
    decipher.setAAD(aadOf(envelope.key_id, bound)).setAuthTag(bytes.subarray(-16))
    return new Secret(Buffer.concat([decipher.update(bytes.subarray(0, -16)), decipher.final()]).toString('utf8'))
  } catch {
    throw new EnvelopeRefused('an envelope does not open')
  }
}
