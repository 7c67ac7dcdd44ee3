import { once } from 'node:events'
import { child, ended } from '../servers.ts'

interface Client {
  readonly id: string
  readonly secret: string
}

export interface Plan {
  readonly clients: readonly Client[]
  /** Who asks whether a token is live. */
  readonly keeper: Client
  readonly audience: string
  readonly scope: string
  readonly ttl_seconds: number
  /** Null: tokens are kept in its memory. */
  readonly database_url: string | null
}

export const startPeer = async (plan: Plan) => {
  const peer = child('./tokens/peer-server.ts')
  const said = once(peer, 'message') as Promise<[{ port: number }]>
  const gone = once(peer, 'exit').then(() => {
    throw new Error('oidc-provider did not start')
  })
  gone.catch(() => {})
  peer.send(plan)
  const [{ port }] = await Promise.race([said, gone])
  return { port, stop: () => ended(peer) }
}

const form = (path: string, { id, secret }: Client, fields: Record<string, string>): string => {
  const body = new URLSearchParams(fields).toString()
  const authorization = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`
  return `POST ${path} HTTP/1.1\r\nhost: bench\r\ncontent-type: application/x-www-form-urlencoded\r\nauthorization: ${authorization}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

/** A signed token is what a resource server gets; without naming one it is a word that only the issuer knows. */
export const tokenRequests = (clients: readonly Client[], format: 'jwt' | 'opaque', scope: string): string[] =>
  clients.map((client) =>
    form('/token', client, {
      grant_type: 'client_credentials',
      scope,
      ...(format === 'jwt' ? { resource: 'urn:gatehouse:bench' } : {}),
    }),
  )

export const introspections = (keeper: Client, tokens: readonly string[]): string[] =>
  tokens.map((token) => form('/token/introspection', keeper, { token, token_type_hint: 'access_token' }))
