import type { ClientForm } from '@gatehouse/contract/oauth'
import { Problem } from '#ground/kernel/problem.ts'
import type { Actor } from '#ground/work/work.ts'
import type { Caller } from '#rails/http/answer.ts'
import { shownTokenOf } from '#rails/http/read-request.ts'
import type { GateAndIssuer } from '../tokens/issuing.ts'
import { type ClientMethod, presentedBy } from './client.ts'
import type { OAuthParts } from './oauth-parts.ts'

/** Who asks about tokens, or ends them: a client as at the token endpoint, or whoever shows a token. Whether he is served is said later. */
export const identifyClient =
  (methods: readonly ClientMethod[], { identifyOwner, identify }: Pick<GateAndIssuer, 'identifyOwner'> & Pick<OAuthParts, 'identify'>) =>
  async (caller: Caller, body: unknown): Promise<Actor> => {
    const { authorization } = caller
    const form = body as ClientForm
    if (authorization !== undefined && /^(?:Bearer|DPoP) /i.test(authorization)) {
      if (methods.some(({ isTried }) => isTried({ authorization: undefined, form })))
        throw new Problem('invalid_request', { because: 'a client authenticates in one way' })
      return identify(shownTokenOf(caller), caller)
    }
    const { client_id, prove } = presentedBy(methods, { authorization, form, fresh: caller.fresh })
    return identifyOwner(caller, { key_id: client_id }, prove)
  }
