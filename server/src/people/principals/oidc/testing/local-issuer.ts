import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CompactSign, type CryptoKey, exportJWK, generateKeyPair, type JWK } from 'jose'
import type { IssuerSettings } from '../issuer-settings.ts'

export type LocalKey = { readonly kid: string; readonly alg: string; readonly privateKey: CryptoKey; readonly publicJwk: JWK }

export const localKey = async (kid: string, alg = 'ES256'): Promise<LocalKey> => {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { kid, alg, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

/** The payload as text, for what JSON.stringify would not write. */
export const signText = (key: LocalKey, payload: string, header: Record<string, unknown> = {}) =>
  new CompactSign(new TextEncoder().encode(payload))
    .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'at+jwt', ...header })
    .sign(key.privateKey)

type Answer = 'well' | 'refuse_connection' | 'redirect' | 'error' | ((response: ServerResponse) => void)

/** A real issuer on loopback whose answers a test can spoil. */
export const localIssuer = async () => {
  const key = await localKey('first')
  const state = { jwks: { keys: [key.publicJwk] } as unknown, named: '', answer: 'well' as Answer, jwks_requests: 0 }
  const server = createServer((request, response) => {
    if (request.url === '/jwks') state.jwks_requests += 1
    if (state.answer === 'refuse_connection') return void request.socket.destroy()
    if (state.answer === 'redirect' && request.url === '/jwks') return void response.writeHead(302, { location: '/elsewhere' }).end()
    if (state.answer === 'error') return void response.writeHead(500).end()
    if (typeof state.answer === 'function' && request.url === '/jwks') return state.answer(response)
    const discovery = { issuer: state.named, jwks_uri: `${issuer}/jwks` }
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify(request.url === '/.well-known/openid-configuration' ? discovery : state.jwks))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  state.named = issuer
  const settings: IssuerSettings = { issuer, audience: 'gatehouse-api' }

  const claims = (nowSeconds: number, changed: Record<string, unknown> = {}) => ({
    iss: issuer,
    sub: 'alice',
    aud: 'gatehouse-api',
    iat: nowSeconds,
    exp: nowSeconds + 600,
    ...changed,
  })
  return {
    issuer,
    key,
    state,
    settings,
    claims,
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export type LocalIssuer = Awaited<ReturnType<typeof localIssuer>>

/** Both clocks stand still until a test moves them. */
export const handClock = (startSeconds = 1_900_000_000) => {
  const clock = { wall: startSeconds * 1000, elapsed: 0 }
  return {
    now: () => clock.wall,
    elapsed: () => clock.elapsed,
    seconds: () => Math.floor(clock.wall / 1000),
    pass: (seconds: number) => {
      clock.wall += seconds * 1000
      clock.elapsed += seconds * 1000
    },
    setBack: (seconds: number) => {
      clock.wall -= seconds * 1000
    },
  }
}
