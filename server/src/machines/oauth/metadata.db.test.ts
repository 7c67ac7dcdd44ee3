import { operations } from '@gatehouse/contract/operations'
import { decodeJwt } from 'jose'
import { expect, test } from 'vitest'
import { liveServer, serverFixture, tokenIssuer } from '../../../../test/live-server.ts'
import { oauthClient } from '../../../../test/oauth-client.ts'

const live = serverFixture()

const server = '/.well-known/oauth-authorization-server'
const provider = '/.well-known/openid-configuration'
const read = (path: string) => live.call(null, 'GET', path)

test.for([server, provider])('TI-17 RFC 8414 %s names the issuer of the tokens and endpoints that there are', async (path) => {
  const { status, body, headers } = await read(path)
  expect([status, headers.get('content-type')]).toEqual([200, 'application/json; charset=utf-8'])
  expect(body.issuer).toBe(tokenIssuer.url)
  const endpoints = Object.entries(body as Record<string, unknown>).filter(([name]) => name.endsWith('_endpoint'))
  expect(endpoints.map(([name]) => name).sort()).toEqual(['introspection_endpoint', 'revocation_endpoint', 'token_endpoint'])
  for (const [, url] of endpoints)
    expect(operations.filter((operation) => `${tokenIssuer.url}${operation.path}` === url && operation.speaks === 'oauth')).toHaveLength(1)
  expect(body.jwks_uri).toBe(`${tokenIssuer.url}/.well-known/jwks.json`)
  // What is not there is not promised, and what must be there for readers of this document is.
  expect(body.response_types_supported).toEqual(path === server ? [] : ['id_token'])
  for (const name of ['authorization_endpoint', 'registration_endpoint', 'userinfo_endpoint', 'code_challenge_methods_supported'])
    expect(body).not.toHaveProperty(name)
})

test('TI-17 may be kept as long as the keys, and is the same bytes until something changes', async () => {
  const { headers } = await read(server)
  const keys = await read('/.well-known/jwks.json')
  expect(headers.get('cache-control')).toBe(keys.headers.get('cache-control'))
  const again = await live.call(null, 'GET', server, { headers: { 'if-none-match': headers.get('etag')! } })
  expect([again.status, again.text]).toEqual([304, ''])
})

test('TI-17 every grant that is named can be asked for, and none else', async () => {
  const { body } = await read(server)
  const client = await oauthClient(live)
  for (const grant_type of body.grant_types_supported)
    expect([grant_type, (await client.ask({ grant_type })).body.error]).not.toEqual([grant_type, 'unsupported_grant_type'])
  for (const grant_type of ['authorization_code', 'refresh_token', 'password', 'implicit', 'urn:ietf:params:oauth:grant-type:device_code'])
    expect((await client.ask({ grant_type })).body.error).toBe('unsupported_grant_type')
  expect(body.token_endpoint_auth_methods_supported).not.toContain('none')
})

test('TI-17 RFC 8414 how a client may authenticate, by the names that there are at each endpoint', async () => {
  const { body } = await read(server)
  const methods = body.token_endpoint_auth_methods_supported
  expect(methods).toEqual(['client_secret_basic', 'client_secret_post', 'private_key_jwt'])
  expect(body.revocation_endpoint_auth_methods_supported).toEqual(methods)
  expect(body.introspection_endpoint_auth_methods_supported).toEqual([...methods, 'Bearer', 'DPoP'])
})

test('TI-17 every claim that a token can have is named', async () => {
  const { body } = await read(provider)
  const client = await oauthClient(live)
  const token = await client.token()
  expect(body.claims_supported).toEqual(expect.arrayContaining([...Object.keys(decodeJwt(token)), 'cnf', 'act']))
})

test('TI-13 TI-17 where only a secret signs, no document says that others could verify', async () => {
  const shared = await liveServer({}, { algorithm: 'HS256' as never }, { is_own_issuer: true })
  try {
    expect((await shared.call(null, 'GET', '/.well-known/jwks.json')).body.keys).toEqual([])
    expect((await shared.call(null, 'GET', provider)).status).toBe(404)
    expect((await shared.call(null, 'GET', server)).status).toBe(200)
  } finally {
    await shared.stop()
  }
})

test('TI-13 TI-17 the algorithms are those of the published keys', async () => {
  const [{ body }, keys] = [await read(provider), await read('/.well-known/jwks.json')]
  const algorithms = keys.body.keys.map(({ alg }: { alg: string }) => alg)
  expect(body.id_token_signing_alg_values_supported).toEqual([...new Set(algorithms)].sort())
  expect(body.id_token_signing_alg_values_supported).not.toContain('none')
})
