import { issueServiceAccountToken } from '@gatehouse/contract/tokens'
import type { Issuing } from '../http/answer.ts'
import { isSecretOf } from '../service-accounts/credential.ts'
import type { GateAndIssuer } from './issuing.ts'

/** The service account's way to the issuer: its secret is verified, and everything else comes from its record. */
export const issueForServiceAccount =
  ({ gate, issue }: GateAndIssuer): Issuing<typeof issueServiceAccountToken> =>
  (caller, { body }) => {
    const { client_secret, ...same_by } = body
    const { service_account_id: actor_id, key_id, ...request } = same_by
    const verify = gate.verifier(caller, { actor_id, key_id }, (credential) => isSecretOf(credential, client_secret))
    return issue(caller, { operation: issueServiceAccountToken as never, request, same_by, verify }) as never
  }
