import { introspectToken, issueOAuthToken, revokeOAuthToken } from '@gatehouse/contract/oauth'
import { assertionAlgorithms, proofAlgorithms } from '@gatehouse/contract/proofs'
import type { Wanted } from '#ground/epochs/fresh.ts'
import { Problem } from '#ground/kernel/problem.ts'
import { carriedInTokens } from '#rails/authz/carried-keys.ts'
import type { PublicDocument } from '#rails/http/documents.ts'
import { policyIn, wantPolicy } from '#rails/policies/read-policy.ts'
import type { KeySet } from '../keys/key-set.ts'

const claims_supported = [
  ...['iss', 'sub', 'aud', 'exp', 'iat', 'jti', 'client_id', 'cnf', 'act', 'scope'],
  ...['actor_type', 'org_id', 'project_id', 'shared_runtime_id'],
]

const maxAge = 'auth.iam_token_issuer.jwks_max_age_seconds'

/** What is supported, by the names that OAuth has for it. */
export interface Supported {
  readonly client_methods: readonly string[]
  readonly grants: readonly string[]
}

/** With what tokens are signed that others can verify; a shared secret is none of their business. */
const algorithmsIn = (keys: KeySet | undefined): string[] => [...new Set((keys?.published ?? []).map(({ jwk }) => jwk.alg!))].sort()

const aboutServer = (url: string, { client_methods, grants }: Supported) => ({
  issuer: url,
  token_endpoint: `${url}${issueOAuthToken.path}`,
  introspection_endpoint: `${url}${introspectToken.path}`,
  revocation_endpoint: `${url}${revokeOAuthToken.path}`,
  jwks_uri: `${url}/.well-known/jwks.json`,
  scopes_supported: [...new Set([...carriedInTokens('service_account'), ...carriedInTokens('shared_runtime_operator')])].sort(),
  grant_types_supported: grants,
  token_endpoint_auth_methods_supported: client_methods,
  // A token is a way to say who one is, too; only of introspection have metadata a word for that.
  introspection_endpoint_auth_methods_supported: [...client_methods, 'Bearer', 'DPoP'],
  revocation_endpoint_auth_methods_supported: client_methods,
  token_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
  introspection_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
  revocation_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
  dpop_signing_alg_values_supported: proofAlgorithms,
})

/** For clients of OAuth (RFC 8414). Nobody is sent here by a browser, so there is no type of response. */
const asServer = (url: string, supported: Supported) => ({ ...aboutServer(url, supported), response_types_supported: [] })

/**
 * For whoever verifies our tokens without having heard of us, as clouds and object stores do: where the keys are and what they sign.
 * Such readers want a type of response to be named; this is the one that a signed statement about somebody is called by.
 */
const asProvider = (url: string, supported: Supported, id_token_signing_alg_values_supported: readonly string[]) => ({
  ...aboutServer(url, supported),
  response_types_supported: ['id_token'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported,
  claims_supported,
})

/** What anybody may know of how tokens are issued here. */
export const oauthDocuments = (url: string, wantKeys: () => Wanted<KeySet>, supported: Supported): PublicDocument[] => {
  const document = (path: string, body: (keys: KeySet | undefined) => object): PublicDocument => ({
    path,
    media_type: 'application/json',
    read: async (fresh) => {
      const {
        values: [age, keys],
      } = await fresh.read([wantPolicy(maxAge), wantKeys()])
      return { body: body(keys), max_age_seconds: policyIn(maxAge, age) }
    },
  })
  return [
    document('/.well-known/oauth-authorization-server', () => asServer(url, supported)),
    document('/.well-known/openid-configuration', (keys) => {
      const algorithms = algorithmsIn(keys)
      // With a shared secret alone nobody else can verify anything: then there is nothing to federate with.
      if (algorithms.length === 0) throw new Problem('route_not_found')
      return asProvider(url, supported, algorithms)
    }),
  ]
}
