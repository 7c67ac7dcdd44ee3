import { createHmac, createPrivateKey, type KeyObject, sign, verify } from 'node:crypto'
import { promisify } from 'node:util'
import { unseal } from '#ground/custody/envelope.ts'
import type { KeyRing } from '#ground/custody/key-ring.ts'
import { Problem } from '#ground/kernel/problem.ts'
import { recentlyUsed } from '#ground/kernel/recently-used.ts'
import { isEs256, lowOf, rawOf } from './es256.ts'
import type { SigningKey } from './key-set.ts'
import { boundOf } from './make-key.ts'
import type { Transit } from './transit.ts'

/** The bytes of a JWS signature over `input`. */
export type Sign = (key: SigningKey, input: Buffer) => Promise<Buffer>

const unavailable = (why: string, cause?: unknown) => new Problem('dependency_unavailable', undefined, new Error(why, { cause }))

/** In another thread: nobody else's request waits for a signature. */
const signing = promisify<string | null, Buffer, KeyObject, Buffer>(sign)
const signedWith = async ({ alg }: SigningKey, key: KeyObject, input: Buffer): Promise<Buffer> =>
  alg === 'ES256' ? lowOf(rawOf(await signing('sha256', input, key))) : signing(null, input, key)
const isMadeBy = ({ alg }: SigningKey, key: KeyObject, input: Buffer, signature: Buffer): boolean =>
  alg === 'ES256' ? isEs256(key, input, signature) : verify(null, input, key, signature)

/**
 * Signs with the key's private part, wherever that is. A key that cannot be had is no other key: nothing is issued.
 */
export const createSigner = ({ ring, transit }: { readonly ring: KeyRing; readonly transit: Transit | null }): Sign => {
  // Opening an envelope costs more than signing.
  const opened = recentlyUsed<KeyObject>(4)

  const privateKeyOf = (kid: string, envelope: unknown): KeyObject => {
    const known = opened.get(kid)
    if (known) return known
    try {
      const key = createPrivateKey({ key: JSON.parse(unseal(ring, envelope, boundOf(kid)).reveal()), format: 'jwk' })
      opened.set(kid, key)
      return key
    } catch (error) {
      throw unavailable('the envelope of the signing key does not open', error)
    }
  }

  return async (key, input) => {
    const { custody, kid } = key
    if (custody.kind === 'envelope') return signedWith(key, privateKeyOf(kid, custody.envelope), input)
    if (custody.kind === 'envelope_key') {
      const shared = ring.keyOf(custody.key_id)
      if (!shared) throw unavailable('the key-encryption key that tokens are signed with is not configured')
      return createHmac('sha256', shared).update(input).digest()
    }
    if (!transit) throw unavailable('the signing key lies with a transit engine, and none is configured')
    const signature = await transit.sign(custody, key.alg, input)
    // Whatever answered there, a token that nobody can verify is not given out.
    if (!isMadeBy(key, custody.key, input, signature)) throw unavailable('the transit engine answered with a wrong signature')
    return key.alg === 'ES256' ? lowOf(signature) : signature
  }
}
