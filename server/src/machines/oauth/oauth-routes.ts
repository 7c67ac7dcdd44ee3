import * as oauth from '@gatehouse/contract/oauth'
import { answer, answerAsking, answerIssuing } from '#rails/http/answer.ts'
import { type ClientMethod, clientMethods } from './client.ts'
import { clientCredentials } from './client-credentials.ts'
import { tokenExchange } from './exchange-token.ts'
import { type Grant, tokenEndpoint } from './grant.ts'
import { identifyClient } from './identify-client.ts'
import { introspectToken } from './introspect-token.ts'
import { oauthDocuments } from './metadata.ts'
import type { OAuthParts } from './oauth-parts.ts'
import { revokeOwnToken } from './revoke-token.ts'
import { signedAssertion } from './signed-assertion.ts'

/** Every way for a client to say who it is, and every way to come by a token; what the metadata say is made from the same lists. */
const methodsWith = ({ useProof, issuer }: OAuthParts): readonly ClientMethod[] => [...clientMethods, signedAssertion(useProof, issuer.url)]
const grantsWith = (parts: OAuthParts): readonly Grant[] => [clientCredentials(parts), tokenExchange(parts)]

/** What stock clients of OAuth speak to. */
export const oauthWith = (parts: OAuthParts) => {
  const [methods, grants] = [methodsWith(parts), grantsWith(parts)]
  return {
    routes: [
      answerIssuing(oauth.issueOAuthToken, tokenEndpoint(methods, grants, parts.holders)),
      answerAsking(oauth.introspectToken, introspectToken(parts)),
      answer(oauth.revokeOAuthToken, revokeOwnToken(parts)),
    ],
    documents: oauthDocuments(parts.issuer.url, parts.keys.want, {
      client_methods: methods.map(({ name }) => name),
      grants: grants.map(({ type }) => type),
    }),
    identifyClient: identifyClient(methods, parts),
  }
}
