import { errors, type Provider } from 'oidc-provider'
import type { Accounts } from './accounts.ts'
import { apiResource, apiScopes, apiServer } from './provider-settings.ts'

// Public in the library, missing from its published types.
type WithResourceServer = {
  ResourceServer: new (identifier: string, settings: typeof apiServer) => NonNullable<AccessToken['resourceServer']>
}
type AccessToken = InstanceType<Provider['AccessToken']>

/**
 * One request signs a person in, so that a tour of the API needs no browser. OAuth 2.1 dropped this grant with reason:
 * it exists in this process only, which refuses to start in production, and the server knows nothing of it.
 */
export const offerPasswordGrant = (provider: Provider, accounts: Accounts) =>
  provider.registerGrantType(
    'password',
    async (ctx) => {
      const { client, params } = ctx.oidc
      const account = accounts.signIn(params?.username, params?.password)
      if (!client || !account) throw new errors.InvalidGrant('username or password is wrong')
      if (params?.resource !== undefined && params.resource !== apiResource) throw new errors.InvalidTarget()

      const grant = new provider.Grant({ clientId: client.clientId, accountId: account.sub })
      grant.addResourceScope(apiResource, apiScopes)
      const grantId = await grant.save()

      const accessToken = new provider.AccessToken({ accountId: account.sub, client, grantId, gty: 'password' } as never)
      accessToken.resourceServer = new (provider as unknown as WithResourceServer).ResourceServer(apiResource, apiServer)
      const refreshToken = new provider.RefreshToken({
        accountId: account.sub,
        client,
        grantId,
        gty: 'password',
        resource: apiResource,
        rotations: 0,
        scope: '',
      } as never)
      ctx.body = {
        access_token: await accessToken.save(),
        expires_in: accessToken.expiration,
        refresh_token: await refreshToken.save(),
        token_type: 'Bearer',
      }
    },
    ['username', 'password', 'resource'],
  )
