import { createHash } from 'node:crypto'
import type { Database } from '#ground/db/database.ts'
import { together } from '#ground/epochs/together.ts'
import { forgetProofs, insertProofs, type Proof } from './used-proofs-queries.ts'

/** What is said of a proof that is about to be used. */
export interface ToBeUsed extends Pick<Proof, 'kind' | 'subject'> {
  readonly jti: string
  /** From when on its own time refuses it, in seconds since 1970. */
  readonly ends_at: number
}

/** Only the digest is kept: what a caller writes there may be anything. */
const digestOf = (jti: string): Buffer => createHash('sha256').update(jti).digest()

/** Uses up a proof: true for exactly one of all who try, on whichever process. Those that come at the same time are written together. */
export const proofUsing = (database: Database) => {
  const used = together(
    async (proofs: readonly Proof[]): Promise<readonly boolean[]> => {
      const first = await database.transaction('write', (tx) => tx.many(insertProofs(proofs)))
      const places = new Set(first.map(({ n }) => n))
      return proofs.map((_proof, index) => places.has(index + 1))
    },
    { most_questions: 256 },
  )
  return ({ kind, subject, jti, ends_at }: ToBeUsed): Promise<boolean> =>
    used({ kind, subject, jti_hash: digestOf(jti), expires_at: new Date(ends_at * 1000).toISOString() })
}
export type UseProof = ReturnType<typeof proofUsing>

/** However many there are, no statement takes long: whoever comes while they go is not kept waiting. */
export const forgetUsedProofs = async (database: Database, most_at_once = 5000): Promise<number> => {
  const { count } = await database.transaction('write', (tx) => tx.one(forgetProofs(tx.now, most_at_once)))
  return count < most_at_once ? count : count + (await forgetUsedProofs(database, most_at_once))
}
