import type { Reply } from '@gatehouse/contract/operation'
import { issueServiceAccountToken } from '@gatehouse/contract/tokens'
import type { Issuing } from '#rails/http/answer.ts'
import { isSecretOf } from '../service-accounts/credential.ts'
import type { GateAndIssuer } from './issuing.ts'

/** The service account's way to the issuer: its secret is verified, and everything else comes from its record. */
export const issueForServiceAccount =
  ({ gate, issue }: GateAndIssuer): Issuing<typeof issueServiceAccountToken> =>
  async (caller, { body }) => {
    const { client_secret, ...same_by } = body
    const { service_account_id: actor_id, key_id, ...request } = same_by
    const verify = gate.verifier(caller, { actor_id, key_id }, (credential) => isSecretOf(credential, client_secret))
    const issued = await issue(caller, { operation: issueServiceAccountToken, request, same_by, verify })
    // Bound to no key, and with the claims of its class alone: nobody has asked for another profile.
    return issued as Reply<typeof issueServiceAccountToken>
  }
