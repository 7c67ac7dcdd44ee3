import type { Reply } from '@gatehouse/contract/operation'
import { issueSharedRuntimeOperatorToken } from '@gatehouse/contract/tokens'
import type { Issuing } from '#rails/http/answer.ts'
import { isSecretOf } from '../service-accounts/credential.ts'
import type { GateAndIssuer } from './issuing.ts'

/** The operator's way to the issuer: its secret is verified, and everything else comes from the record of its runtime. */
export const issueForOperator =
  ({ operators, issue }: GateAndIssuer): Issuing<typeof issueSharedRuntimeOperatorToken> =>
  async (caller, { body }) => {
    const { client_secret, ...same_by } = body
    const { shared_runtime_id: actor_id, key_id, ...request } = same_by
    const verify = operators.verifier(caller, { actor_id, key_id }, (credential) => isSecretOf(credential, client_secret))
    const issued = await issue(caller, { operation: issueSharedRuntimeOperatorToken, request, same_by, verify })
    // Bound to no key, and with the claims of its class alone: nobody has asked for another profile.
    return issued as Reply<typeof issueSharedRuntimeOperatorToken>
  }
