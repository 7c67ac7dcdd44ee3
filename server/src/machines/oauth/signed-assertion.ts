import { issueOAuthToken } from '@gatehouse/contract/oauth'
import { Problem } from '#ground/kernel/problem.ts'
import { policyIn, wantPolicy } from '#rails/policies/read-policy.ts'
import type { ClientMethod } from './client.ts'
import { assertionType, clientNamedBy, readAssertion } from './client-assertion.ts'
import type { UseProof } from './used-proofs.ts'

const max_ttl = 'auth.client_assertion_max_ttl_seconds'
const wantedMax = wantPolicy(max_ttl)

/** A client that signs who it is with a key whose public part is registered (RFC 7523). Each assertion opens once. */
export const signedAssertion = (use: UseProof, public_url: string): ClientMethod => ({
  name: 'private_key_jwt',
  isTried: ({ form }) => form.client_assertion !== undefined || form.client_assertion_type !== undefined,
  read: ({ form: { client_assertion: assertion, client_assertion_type: type }, fresh }) => {
    if (assertion === undefined || type === undefined)
      throw new Problem('invalid_request', { because: 'client_assertion and client_assertion_type must come together' })
    const client_id = type === assertionType ? clientNamedBy(assertion) : undefined
    if (client_id === undefined) throw new Problem('token_invalid', undefined, new Error('no assertion that names a client'))
    const audiences = [public_url, `${public_url}${issueOAuthToken.path}`]
    let used: Promise<boolean> | undefined
    return {
      client_id,
      prove: async (credential, now) => {
        const { values } = await fresh.read([wantedMax])
        const read = readAssertion(assertion, credential, { audiences, max_ttl_seconds: policyIn(max_ttl, values[0]), now })
        if (!read.ok) return 'wrong_assertion'
        // A request may be judged more than once; its assertion is used once.
        return () => (used ??= use({ kind: 'client_assertion', subject: client_id, jti: read.jti, ends_at: read.exp }))
      },
    }
  },
})
