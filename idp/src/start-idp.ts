import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import Provider from 'oidc-provider'
import { accountsOf, type Person } from './accounts.ts'
import { interactions } from './interactions.ts'
import { pagePolicy, stylesheet } from './pages.ts'
import { offerPasswordGrant } from './password-grant.ts'
import { providerSettings } from './provider-settings.ts'
import { signingKeys } from './signing-keys.ts'

export type IdpOptions = {
  /** 0 takes any free port. */
  readonly port: number
  readonly issuer?: string
  readonly stateDir?: string
  readonly people: readonly Person[]
  readonly extraRedirectUris?: readonly string[]
}

export type Idp = { readonly issuer: string; readonly port: number; stop(): Promise<void> }

const application = (issuer: string, port: number, options: IdpOptions): RequestListener => {
  const accounts = accountsOf(options.people)
  const provider = new Provider(issuer, providerSettings(accounts, signingKeys(options.stateDir), options.extraRedirectUris ?? []))
  offerPasswordGrant(provider, accounts)
  provider.on('server_error', (_ctx, error) => console.error(`idp: ${error.message}`))

  const showForm = interactions(provider, accounts)
  const answer = provider.callback()
  const hosts = new Set([new URL(issuer).host, `127.0.0.1:${port}`])

  const route = async (request: IncomingMessage, response: ServerResponse) => {
    response.setHeader('x-content-type-options', 'nosniff')
    response.setHeader('referrer-policy', 'no-referrer')
    response.setHeader('content-security-policy', pagePolicy())
    // The passwords are known to all, so a web page that points its own name at 127.0.0.1 must not get to try them.
    if (!hosts.has(request.headers.host ?? '')) return void response.writeHead(421).end()
    const { pathname } = new URL(request.url ?? '/', 'http://localhost')
    if (pathname === '/style.css') return void response.writeHead(200, { 'content-type': 'text/css; charset=utf-8' }).end(stylesheet)
    if (pathname.startsWith('/interaction/')) return showForm(request, response)
    return answer(request, response)
  }
  return (request, response) =>
    void route(request, response).catch((error: unknown) => {
      console.error(`idp: ${error instanceof Error ? error.message : String(error)}`)
      if (!response.headersSent) response.writeHead(500)
      response.end()
    })
}

/** The development identity provider, listening on loopback. Rejects when the port is taken. */
export const startIdp = async (options: IdpOptions): Promise<Idp> => {
  const server = createServer()
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.port, '127.0.0.1', resolve)
  })
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  try {
    const { port } = server.address() as AddressInfo
    const issuer = options.issuer ?? `http://127.0.0.1:${port}`
    server.on('request', application(issuer, port, options))
    return { issuer, port, stop }
  } catch (error) {
    await stop()
    throw error
  }
}
