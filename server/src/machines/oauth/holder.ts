import type { FreshReader } from '#ground/epochs/fresh.ts'
import { Problem } from '#ground/kernel/problem.ts'
import type { Caller } from '#rails/http/answer.ts'
import { policyIn, wantPolicy } from '#rails/policies/read-policy.ts'
import type { RequireHolder } from '../tokens/identify-machine.ts'
import { badProof, type ProvedRequest, readProof } from './dpop-proof.ts'
import type { UseProof } from './used-proofs.ts'

const window = 'auth.dpop_proof_window_seconds'
const wantedWindow = wantPolicy(window)

/** The key that somebody has proved to hold, once the proof is used up. */
export interface Holder {
  readonly jkt: string
  /** Throws where another was first. However often it is called, the proof is used once. */
  readonly useProof: () => Promise<void>
}

const nothing = async (): Promise<void> => {}

/** Whoever brings a proof, by what is so now: at the token endpoint for a token to come, and elsewhere for the one that he shows. */
export const holding = (use: UseProof, public_url: string) => {
  const holderOf = async (proof: string | undefined, request: ProvedRequest, fresh: FreshReader): Promise<Holder> => {
    const { moment, values } = await fresh.read([wantedWindow])
    const window_seconds = policyIn(window, values[0])
    const { jkt, jti, iat } = readProof(proof, request, { window_seconds, now: moment.now })
    let used: Promise<boolean> | undefined
    const useProof = async () => {
      used ??= use({ kind: 'dpop', subject: jkt, jti, ends_at: iat + window_seconds })
      if (!(await used)) throw badProof('was used before')
    }
    return { jkt, useProof }
  }

  const requireHolder: RequireHolder = async ({ scheme, token, proof, method, path }, cnf_jkt, fresh) => {
    if (cnf_jkt === null) {
      if (scheme === 'Bearer') return nothing
      throw new Problem('token_invalid', undefined, new Error('is bound to no key'))
    }
    if (scheme !== 'DPoP') throw badProof('a bound token was shown as if it were anybody’s')
    const holder = await holderOf(proof, { method, url: `${public_url}${path}`, token }, fresh)
    if (holder.jkt !== cnf_jkt) throw badProof('is of another key')
    return holder.useProof
  }

  return {
    requireHolder,
    /** Undefined where nobody wants to be bound. */
    holderAsking: async ({ dpop, method, path, fresh }: Caller): Promise<Holder | undefined> =>
      dpop === undefined ? undefined : holderOf(dpop, { method, url: `${public_url}${path}` }, fresh),
  }
}
export type Holding = ReturnType<typeof holding>
