import { createPrivateKey, type KeyObject, sign } from 'node:crypto'
import { type SignedTask, signedTextOf } from '@gatehouse/contract/node-tasks'
import { unseal } from '#ground/custody/envelope.ts'
import type { KeyRing } from '#ground/custody/key-ring.ts'
import type { Tx } from '#ground/db/database.ts'
import { Problem } from '#ground/kernel/problem.ts'
import { recentlyUsed } from '#ground/kernel/recently-used.ts'
import { boundOfSigner } from './make-signer.ts'
import { activeSigner } from './task-signer-queries.ts'

/** How long a task may wait to be performed; then it is signed anew, or nobody wants it any more. */
export const task_lifetime_ms = 3600 * 1000

export type UnsignedTask = Omit<SignedTask, 'kid' | 'signature'>

export interface TaskSigning {
  /** With the version that signs at this moment, which is read in the transaction that the task is queued in. */
  readonly signed: (tx: Pick<Tx, 'maybe'>, unsigned: UnsignedTask) => Promise<Pick<SignedTask, 'kid' | 'signature'>>
}

const unavailable = (why: string, cause?: unknown) => new Problem('dependency_unavailable', undefined, new Error(why, { cause }))

/** Signs tasks. Without a key that can be had nothing is queued: a node would not believe it. */
export const taskSigning = (ring: KeyRing): TaskSigning => {
  // Opening an envelope costs more than signing.
  const opened = recentlyUsed<KeyObject>(4)

  const privateKeyOf = (kid: string, envelope: unknown): KeyObject => {
    const known = opened.get(kid)
    if (known) return known
    try {
      const key = createPrivateKey({ key: JSON.parse(unseal(ring, envelope, boundOfSigner(kid)).reveal()), format: 'jwk' })
      opened.set(kid, key)
      return key
    } catch (error) {
      throw unavailable('the envelope of the key that tasks are signed with does not open', error)
    }
  }

  return {
    signed: async (tx, unsigned) => {
      const active = await tx.maybe(activeSigner())
      if (!active) throw unavailable('there is no key that tasks are signed with')
      const key = privateKeyOf(active.kid, active.envelope)
      return { kid: active.kid, signature: sign(null, Buffer.from(signedTextOf(unsigned)), key).toString('base64url') }
    },
  }
}
