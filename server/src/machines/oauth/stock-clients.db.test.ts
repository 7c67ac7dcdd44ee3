import { createRemoteJWKSet, jwtVerify } from 'jose'
import * as oauth from 'oauth4webapi'
import * as openid from 'openid-client'
import { beforeEach, describe, expect, test } from 'vitest'
import { serverFixture } from '../../../../test/live-server.ts'
import { auroraHome } from '../../../../test/machine-credential.ts'
import { oauthClient } from '../../../../test/oauth-client.ts'

// The libraries as they come. All that is switched off is that they insist on TLS, since the server of a test is reached by loopback.
let client: Awaited<ReturnType<typeof oauthClient>>
const live = serverFixture({ is_own_issuer: true, policies: { 'auth.wrong_secret.first_delay_milliseconds': 0 } })
beforeEach(async () => {
  client = await oauthClient(live)
})

const insecure = { [oauth.allowInsecureRequests]: true }

describe('oauth4webapi', () => {
  const discovered = async (algorithm: 'oauth2' | 'oidc' = 'oauth2') => {
    const issuer = new URL(live.url)
    const response = await oauth.discoveryRequest(issuer, { algorithm, ...insecure })
    return oauth.processDiscoveryResponse(issuer, response)
  }

  const authentications = (secret: string) => ({
    client_secret_basic: oauth.ClientSecretBasic(secret),
    client_secret_post: oauth.ClientSecretPost(secret),
  })

  test('TI-17 RFC 8414 discovers the server, by either document', async () => {
    const [server, provider] = [await discovered(), await discovered('oidc')]
    expect(server).toMatchObject({
      issuer: live.url,
      token_endpoint: `${live.url}/oauth2/token`,
      jwks_uri: `${live.url}/.well-known/jwks.json`,
    })
    expect(provider).toMatchObject({ issuer: live.url, subject_types_supported: ['public'], jwks_uri: server.jwks_uri })
  })

  test.for(['client_secret_basic', 'client_secret_post'] as const)(
    'TI-17 RFC 6749 7662 7009 9068 gets a token by %s, asks about it, verifies it and gives it back',
    async (method) => {
      const server = await discovered()
      expect(server.token_endpoint_auth_methods_supported).toContain(method)
      const me: oauth.Client = { client_id: client.client_id }
      const authentication = authentications(client.client_secret)[method]

      const parameters = new URLSearchParams({ scope: 'project.read allocation.read' })
      const asked = await oauth.clientCredentialsGrantRequest(server, me, authentication, parameters, insecure)
      const issued = await oauth.processClientCredentialsResponse(server, me, asked)
      expect(issued).toMatchObject({ token_type: 'bearer', expires_in: 3600, scope: 'allocation.read project.read' })

      const request = new Request('https://resource.example/', { headers: { authorization: `Bearer ${issued.access_token}` } })
      const claims = await oauth.validateJwtAccessToken(server, request, 'gpuaas-api', insecure)
      expect(claims).toMatchObject({ sub: client.service_account_id, client_id: client.client_id, iss: live.url, ...auroraHome })

      const introspect = async () => {
        const response = await oauth.introspectionRequest(server, me, authentication, issued.access_token, insecure)
        return oauth.processIntrospectionResponse(server, me, response)
      }
      expect(await introspect()).toMatchObject({
        active: true,
        sub: client.service_account_id,
        client_id: client.client_id,
        aud: 'gpuaas-api',
      })
      const revoked = await oauth.revocationRequest(server, me, authentication, issued.access_token, insecure)
      expect(await oauth.processRevocationResponse(revoked)).toBeUndefined()
      expect(await introspect()).toEqual({ active: false })
    },
  )

  test('TI-17 the access token opens the API, as its own request', async () => {
    const token = await client.token()
    const url = new URL(`${live.url}/api/v1/projects/${auroraHome.project_id}`)
    const response = await oauth.protectedResourceRequest(token, 'GET', url, new Headers(), null, insecure)
    expect(response.status).toBe(200)
  })

  test('TI-15 TI-17 refuses our token for another audience, and one of another type', async () => {
    const server = await discovered()
    const shown = (token: string) => new Request('https://resource.example/', { headers: { authorization: `Bearer ${token}` } })
    await expect(oauth.validateJwtAccessToken(server, shown(await client.token()), 'object-store', insecure)).rejects.toThrow()
    const { body } = await client.machine_ask()
    await expect(oauth.validateJwtAccessToken(server, shown(body.access_token), 'gpuaas-api', insecure)).rejects.toThrow()
  })

  test('TI-17 reads our refusals as those of the RFC', async () => {
    const server = await discovered()
    const me: oauth.Client = { client_id: client.client_id }
    const ask = async (secret: string, fields: Record<string, string>) => {
      const authentication = oauth.ClientSecretPost(secret)
      const response = await oauth.clientCredentialsGrantRequest(server, me, authentication, new URLSearchParams(fields), insecure)
      return oauth.processClientCredentialsResponse(server, me, response)
    }
    await expect(ask(client.client_secret, { scope: 'platform.admin' })).rejects.toMatchObject({ error: 'invalid_scope', status: 400 })
    await expect(ask(client.client_secret, { resource: 'https://x.example' })).rejects.toMatchObject({
      error: 'invalid_target',
      status: 400,
    })
    const refused = await ask('wrong', {}).catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(oauth.WWWAuthenticateChallengeError)
    expect(refused).toMatchObject({ status: 401, cause: [{ scheme: 'basic' }] })
  })
})

describe('openid-client', () => {
  const configured = (authentication: openid.ClientAuth) =>
    openid.discovery(new URL(live.url), client.client_id, undefined, authentication, {
      algorithm: 'oauth2',
      execute: [openid.allowInsecureRequests],
    })

  test.for([
    ['client_secret_basic', openid.ClientSecretBasic],
    ['client_secret_post', openid.ClientSecretPost],
  ] as const)('TI-17 RFC 6749 7662 7009 8414 discovers, gets a token by %s, asks about it and gives it back', async ([, by]) => {
    const config = await configured(by(client.client_secret))
    const issued = await openid.clientCredentialsGrant(config, { scope: 'project.read' })
    expect(issued).toMatchObject({ token_type: 'bearer', scope: 'project.read' })
    expect(issued.expiresIn()).toBeGreaterThan(3500)
    expect(await openid.tokenIntrospection(config, issued.access_token)).toMatchObject({ active: true, client_id: client.client_id })
    await openid.tokenRevocation(config, issued.access_token)
    expect(await openid.tokenIntrospection(config, issued.access_token)).toEqual({ active: false })
  })

  test('TI-17 discovers the document that clouds read, too', async () => {
    const config = await openid.discovery(new URL(live.url), client.client_id, client.client_secret, undefined, {
      execute: [openid.allowInsecureRequests],
    })
    expect(config.serverMetadata()).toMatchObject({ issuer: live.url, id_token_signing_alg_values_supported: ['ES256'] })
  })

  test('TI-17 reads our refusals as those of the RFC', async () => {
    const config = await configured(openid.ClientSecretPost(client.client_secret))
    await expect(openid.clientCredentialsGrant(config, { scope: 'none.such' })).rejects.toMatchObject({ error: 'invalid_scope' })
    const stranger = await configured(openid.ClientSecretBasic('wrong'))
    await expect(openid.clientCredentialsGrant(stranger)).rejects.toMatchObject({ code: 'OAUTH_WWW_AUTHENTICATE_CHALLENGE', status: 401 })
  })
})

describe('jose', () => {
  test('TI-13 TI-17 RFC 9068 verifies a token with the keys that the metadata name', async () => {
    const { jwks_uri } = (await (await fetch(`${live.url}/.well-known/openid-configuration`)).json()) as { jwks_uri: string }
    const { payload, protectedHeader } = await jwtVerify(await client.token(), createRemoteJWKSet(new URL(jwks_uri)), {
      issuer: live.url,
      audience: 'gpuaas-api',
      typ: 'at+jwt',
      algorithms: ['ES256', 'EdDSA'],
      requiredClaims: ['iss', 'exp', 'aud', 'sub', 'client_id', 'iat', 'jti'],
    })
    expect(protectedHeader.typ).toBe('at+jwt')
    expect(payload).toMatchObject({ sub: client.service_account_id, client_id: client.client_id })
  })
})
