import { randomBytes } from 'node:crypto'
import { type ClientMetadata, type Configuration, errors } from 'oidc-provider'
import type { Accounts } from './accounts.ts'
import { memory } from './memory.ts'
import { logoutPage, problemPage, signedOutPage } from './pages.ts'
import type { SigningKeys } from './signing-keys.ts'

/** A resource indicator has to be a URI; the audience that ends up in the token does not. */
export const apiResource = 'urn:gatehouse:api'
export const apiScopes = ''
export const apiServer = {
  scope: apiScopes,
  audience: 'gatehouse-api',
  accessTokenFormat: 'jwt' as const,
  accessTokenTTL: 3600,
  jwt: { sign: { alg: 'ES256' as const } },
}

const scopes = ['openid', 'profile', 'email', 'offline_access']
const day = 24 * 3600

const clients = (extraRedirectUris: readonly string[]): ClientMetadata[] => [
  {
    client_id: 'gatehouse-cli',
    client_name: 'Gatehouse command line',
    // Native: the port of a loopback redirect is not compared (RFC 8252, 7.3).
    application_type: 'native',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token', 'password'],
    response_types: ['code'],
    redirect_uris: ['http://127.0.0.1/callback'],
  },
  {
    client_id: 'gatehouse-console',
    client_name: 'Gatehouse console',
    application_type: 'web',
    token_endpoint_auth_method: 'none',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    redirect_uris: ['http://127.0.0.1:8090/api/v1/auth/oidc/callback', ...extraRedirectUris],
    post_logout_redirect_uris: ['http://127.0.0.1:8090/', ...extraRedirectUris.map((uri) => new URL('/', uri).href)],
  },
]

export const providerSettings = (accounts: Accounts, keys: SigningKeys, extraRedirectUris: readonly string[]): Configuration => ({
  adapter: memory(),
  clients: clients(extraRedirectUris),
  clientAuthMethods: ['none'],
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
  jwks: keys as NonNullable<Configuration['jwks']>,
  cookies: { keys: [randomBytes(32).toString('base64url')] },
  scopes,
  claims: { openid: ['sub'], profile: ['name', 'preferred_username'], email: ['email', 'email_verified'] },
  responseTypes: ['code'],
  pkce: { required: () => true },
  routes: { authorization: '/auth', token: '/token', jwks: '/jwks' },
  interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
  ttl: {
    AccessToken: 3600,
    IdToken: 3600,
    AuthorizationCode: 60,
    Interaction: 3600,
    Session: day,
    Grant: 14 * day,
    RefreshToken: 14 * day,
  },
  // The console talks to us through its server, so no page of any origin has a reason to read a token answer.
  clientBasedCORS: () => false,
  issueRefreshToken: async (_ctx, client) => client.grantTypeAllowed('refresh_token'),
  expiresWithSession: async () => false,
  findAccount: (_ctx, sub) => {
    const account = accounts.find(sub)
    return account && { accountId: sub, claims: () => ({ ...account }) }
  },
  extraTokenClaims: (_ctx, token) => {
    const account = 'accountId' in token && typeof token.accountId === 'string' ? accounts.find(token.accountId) : undefined
    if (!account) return undefined
    const { preferred_username, email, email_verified } = account
    return { preferred_username, email, email_verified }
  },
  // All clients are our own, so nobody is asked whether Gatehouse may know who they are.
  loadExistingGrant: async ({ oidc }) => {
    const { client, session, provider, account } = oidc
    const kept = client && session?.grantIdFor(client.clientId)
    const grant = kept ? await provider.Grant.find(kept) : undefined
    if (grant && grant.accountId === account?.accountId) return grant
    const made = new provider.Grant({ clientId: client?.clientId, accountId: account?.accountId })
    made.addOIDCScope(scopes.join(' '))
    made.addResourceScope(apiResource, apiScopes)
    await made.save()
    return made
  },
  renderError: (ctx, out) => problemPage(ctx, out.error_description ?? out.error),
  features: {
    devInteractions: { enabled: false },
    dPoP: { enabled: false },
    pushedAuthorizationRequests: { enabled: false },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => apiResource,
      // Without this a request with the scope `openid` would get an opaque token for /me instead of one for the API.
      useGrantedResource: () => true,
      getResourceServerInfo: (_ctx, resource) => {
        if (resource !== apiResource) throw new errors.InvalidTarget()
        return apiServer
      },
    },
    rpInitiatedLogout: { enabled: true, logoutSource: logoutPage, postLogoutSuccessSource: signedOutPage },
  },
})
