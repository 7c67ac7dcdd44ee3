import { issueOAuthToken } from '@gatehouse/contract/oauth'
import type { GateAndIssuer } from '../tokens/issuing.ts'
import { accessToken, audienceIn, type Grant, provedBy } from './grant.ts'

/** A client that asks for itself (RFC 6749, 4.4): the token is its account's, or its runtime's. */
export const clientCredentials = ({ verifierOf, issue }: GateAndIssuer): Grant => ({
  type: 'client_credentials',
  issue: async ({ caller, client, holder, form: { grant_type, scope, ...form } }) => {
    const request = { ...audienceIn(form), ...(scope === undefined ? {} : { scope }) }
    const verify = verifierOf(caller, { key_id: client.client_id }, client.prove)
    const issued = await issue(caller, {
      operation: issueOAuthToken,
      request,
      same_by: { grant_type, client_id: client.client_id, ...request, ...(holder && { jkt: holder.jkt }) },
      verify: async (fresh) => provedBy(holder, await verify(fresh)),
      profile: accessToken(client, holder),
    })
    return { access_token: issued.access_token, token_type: issued.token_type, expires_in: issued.expires_in_seconds, scope: issued.scope }
  },
})
