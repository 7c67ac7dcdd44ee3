import type { issueOAuthToken, TokenForm, TokenReply } from '@gatehouse/contract/oauth'
import { Problem } from '#ground/kernel/problem.ts'
import type { Caller, Issuing } from '#rails/http/answer.ts'
import type { Profile, Verified } from '../tokens/issue-token.ts'
import { accessTokenType, type MachineClass } from '../tokens/machine-class.ts'
import { type ClientMethod, type Presented, presentedBy } from './client.ts'
import type { Holder, Holding } from './holder.ts'

/** What a client asks for: it is not known yet whether it is who it says. */
export interface Asked {
  readonly caller: Caller
  readonly client: Presented
  readonly form: TokenForm
  /** Whom the token is to be bound to, where somebody brings a proof; it is used up when the client is known. */
  readonly holder: Holder | undefined
}

/** One way to come by a token, under its `grant_type`. Whichever it is, the one issuer issues. */
export interface Grant {
  readonly type: string
  readonly issue: (asked: Asked) => Promise<TokenReply>
}

/** The audience that is asked for, by either of its names. */
export const audienceIn = ({ audience, resource }: Pick<TokenForm, 'audience' | 'resource'>): { audience?: string } => {
  if (audience !== undefined && resource !== undefined && audience !== resource) throw new Problem('invalid_target')
  const asked = audience ?? resource
  return asked === undefined ? {} : { audience: asked }
}

/** An access token as RFC 9068 has it, and its refusals as RFC 6749 calls them. */
export const accessToken = ({ client_id }: Pick<Presented, 'client_id'>, holder: Holder | undefined): Profile => ({
  typ: accessTokenType,
  more: { client_id },
  cnf_jkt: holder?.jkt ?? null,
  refusals: {
    binding: () => new Problem('invalid_scope', { reason_code: 'scope_mismatch' }),
    scope: () => new Problem('invalid_scope', { reason_code: 'scope_mismatch' }),
    audience: () => new Problem('invalid_target'),
    subject: () => new Problem('subject_token_invalid'),
  },
})

/** A client that is known, once its proof is used up; or with why it gets nothing, where another was first. */
export const provedBy = async <C extends MachineClass>(holder: Holder | undefined, verified: Verified<C>): Promise<Verified<C>> => {
  try {
    await holder?.useProof()
    return verified
  } catch (error) {
    if (error instanceof Problem && error.code === 'proof_invalid') return { ...verified, refused: { problem: error, why: 'used_proof' } }
    throw error
  }
}

/** The token endpoint: who the client says it is, and which way it wants to go. */
export const tokenEndpoint = (
  methods: readonly ClientMethod[],
  grants: readonly Grant[],
  holders: Holding,
): Issuing<typeof issueOAuthToken> => {
  const byType = new Map(grants.map((grant) => [grant.type, grant]))
  return async (caller, { body: form }) => {
    const client = presentedBy(methods, { authorization: caller.authorization, form, fresh: caller.fresh })
    const grant = byType.get(form.grant_type)
    if (!grant) throw new Problem('unsupported_grant_type')
    return grant.issue({ caller, client, form, holder: await holders.holderAsking(caller) })
  }
}
