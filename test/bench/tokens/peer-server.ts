// oidc-provider as its makers would run it for client_credentials: with tokens in PostgreSQL, or in its own memory.
import { randomBytes } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import { memory } from '../../../idp/src/memory.ts'
import { signingKeys } from '../../../idp/src/signing-keys.ts'
import { inPostgres } from './peer-adapter.ts'
import type { Plan } from './peers.ts'

const start = async ({ clients, keeper, audience, scope, ttl_seconds, database_url }: Plan): Promise<void> => {
  const kept = database_url === null ? null : inPostgres(database_url)
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const provider = new Provider(`http://127.0.0.1:${port}`, {
    adapter: kept?.factory ?? memory(),
    // Known beforehand: nobody has to be looked up.
    clients: [...clients, keeper].map(({ id, secret }) => ({
      client_id: id,
      client_secret: secret,
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
      scope,
    })),
    clientAuthMethods: ['client_secret_basic'],
    clientDefaults: { id_token_signed_response_alg: 'ES256' },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    jwks: signingKeys(undefined) as never,
    cookies: { keys: [randomBytes(32).toString('base64url')] },
    scopes: scope.split(' '),
    ttl: { ClientCredentials: ttl_seconds },
    features: {
      devInteractions: { enabled: false },
      dPoP: { enabled: false },
      pushedAuthorizationRequests: { enabled: false },
      rpInitiatedLogout: { enabled: false },
      userinfo: { enabled: false },
      clientCredentials: { enabled: true },
      introspection: { enabled: true, allowedPolicy: () => true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => undefined as never,
        getResourceServerInfo: () => ({
          scope,
          audience,
          accessTokenFormat: 'jwt',
          accessTokenTTL: ttl_seconds,
          jwt: { sign: { alg: 'ES256' } },
        }),
      },
    },
  })
  if (kept)
    provider.use(async (ctx, next) => {
      await next()
      const token = ctx.oidc?.entities.ClientCredentials
      // It keeps its opaque tokens itself, and of those that are signed it would keep nothing.
      if (token?.resourceServer && ctx.path === '/token' && ctx.status === 200) {
        const { jti, clientId, aud, scope, iat, exp } = token
        await kept.write(jti, { jti, clientId, aud, scope, iat, exp, kind: 'ClientCredentials' }, ttl_seconds)
      }
    })
  provider.on('server_error', (_ctx, error) => console.error(error))
  const answer = provider.callback()
  server.on('request', (request, response) => {
    if (request.url !== '/metrics') return answer(request, response)
    const { user, system } = process.cpuUsage()
    response.end(`process_cpu_seconds_total ${(user + system) / 1e6}`)
  })
  process.send?.({ port })
}

process.on('disconnect', () => process.exit(0))
process.once('message', (plan: Plan) => void start(plan))
