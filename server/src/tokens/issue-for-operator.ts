import { issueSharedRuntimeOperatorToken } from '@gatehouse/contract/tokens'
import type { Issuing } from '../http/answer.ts'
import { isSecretOf } from '../service-accounts/credential.ts'
import type { GateAndIssuer } from './issuing.ts'

/** The operator's way to the issuer: its secret is verified, and everything else comes from the record of its runtime. */
export const issueForOperator =
  ({ operators, issue }: GateAndIssuer): Issuing<typeof issueSharedRuntimeOperatorToken> =>
  (caller, { body }) => {
    const { client_secret, ...same_by } = body
    const { shared_runtime_id: actor_id, key_id, ...request } = same_by
    const verify = operators.verifier(caller, { actor_id, key_id }, (credential) => isSecretOf(credential, client_secret))
    return issue(caller, { operation: issueSharedRuntimeOperatorToken as never, request, same_by, verify }) as never
  }
