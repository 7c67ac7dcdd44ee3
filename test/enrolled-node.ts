import { webcrypto } from 'node:crypto'
import https from 'node:https'
import { createNode, enrolNode, enrolNodeAgain } from '../contract/src/nodes.ts'
import type { Operation } from '../contract/src/operation.ts'
import { x509 } from '../server/src/fleet/nodes/x509.ts'
import { type Answer, type Asked, askThrough, requestOf } from './ask.ts'
import { fixture } from './fixture.ts'
import type { Answered, LiveServer } from './live-server.ts'

// biome-ignore lint/suspicious/noExplicitAny: what `call` is told has no type
export interface Told<Body = any> extends Omit<Answered, 'headers' | 'body'> {
  body: Body
  headers: Record<string, string | string[] | undefined>
}

/** What a connection shows and trusts. */
interface Showing {
  readonly key?: string
  readonly cert?: string
  readonly ca: string
}

/** One connection after the other to a door of nodes, kept open between requests. */
export const doorCaller = (url: string, { key, cert, ca }: Showing, more: https.AgentOptions = {}) => {
  const agent = new https.Agent({ keepAlive: true, maxSockets: 8, ca, ...(key && cert ? { key, cert } : {}), ...more })
  const call = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}, base = url): Promise<Told> => {
    const text = body === undefined ? undefined : JSON.stringify(body)
    const sent = { ...(text === undefined ? {} : { 'content-type': 'application/json', 'content-length': `${Buffer.byteLength(text)}` }) }
    const { promise, resolve, reject } = Promise.withResolvers<Told>()
    const request = https.request(`${base}${path}`, { method, agent, headers: { ...sent, ...headers } }, (response) => {
      const parts: Buffer[] = []
      response.on('data', (part: Buffer) => parts.push(part))
      response.on('error', reject)
      response.on('end', () => {
        const answered = Buffer.concat(parts).toString('utf8')
        let parsed: unknown = null
        try {
          parsed = JSON.parse(answered)
        } catch {
          // Not every answer is JSON; the text is there.
        }
        resolve({ status: response.statusCode!, headers: response.headers, body: parsed, text: answered })
      })
    })
    request.on('error', reject)
    request.end(text)
    return promise
  }
  /** Asks an operation of the contract: request and answer have the types that it declares. */
  const ask = <P, Q, B, R>(
    operation: Operation<P, Q, B, R>,
    ...[given]: Asked<NoInfer<P>, NoInfer<Q>, NoInfer<B>>
  ): Promise<Told<Answer<R>['body']>> => {
    const { path, sending, base } = requestOf(operation, given)
    return call(operation.method, path, sending.body, sending.headers, base)
  }
  return { ask, call, stop: () => agent.destroy() }
}

type KeyKind = 'P-256' | 'Ed25519'

/** A key of a node's own, and the request for a certificate of it. */
export const nodeKeys = async (kind: KeyKind = 'P-256') => {
  const algorithm = kind === 'P-256' ? { name: 'ECDSA', namedCurve: kind } : { name: kind }
  const keys = (await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])) as webcrypto.CryptoKeyPair
  const signingAlgorithm = kind === 'P-256' ? { name: 'ECDSA', hash: 'SHA-256' } : { name: kind }
  const request = await x509.Pkcs10CertificateRequestGenerator.create({ name: 'CN=whatever', keys, signingAlgorithm })
  const pkcs8 = Buffer.from(await webcrypto.subtle.exportKey('pkcs8', keys.privateKey)).toString('base64')
  return {
    csr: request.toString('pem'),
    key: `-----BEGIN PRIVATE KEY-----\n${pkcs8.match(/.{1,64}/g)!.join('\n')}\n-----END PRIVATE KEY-----\n`,
  }
}

/** What a token tells an agent. */
export const readToken = (token: string): { url: string; node_id: string; secret: string; ca: string } =>
  JSON.parse(Buffer.from(token.slice('ghne_'.length), 'base64url').toString('utf8'))

export const pemOf = (der_base64: string): string =>
  `-----BEGIN CERTIFICATE-----\n${der_base64.match(/.{1,64}/g)!.join('\n')}\n-----END CERTIFICATE-----\n`

let made = 0

export interface NodeKind {
  region?: string
  sku?: string
  gpus?: number
  name?: string
}

/** Registers a node, as the platform does. */
export const registeredNode = async (live: Pick<LiveServer, 'call'>, { region = 'eu-1', sku = 'h100', gpus = 8, name }: NodeKind = {}) => {
  made += 1
  const body = { name: name ?? `node-${process.pid}-${made}`, region, sku, gpus }
  const created = await askThrough(live.call)('ada', createNode, { body })
  if (created.status !== 201) throw new Error(`registering a node: ${created.status} ${created.text}`)
  const token: string = created.body.enrolment_token
  return { id: created.body.node.id as string, token, ...readToken(token) }
}

interface Enrolling {
  readonly id: string
  readonly url: string
  readonly token: string
  readonly authority: string
  readonly key_kind?: KeyKind
}

const enrolledWith = async ({ id, url, token, authority, key_kind }: Enrolling) => {
  const { key, csr } = await nodeKeys(key_kind)
  const stranger = doorCaller(url, { ca: authority })
  const enrolled = await stranger.ask(enrolNode, { body: { enrolment_token: token, csr } })
  stranger.stop()
  if (enrolled.status !== 201) throw new Error(`enrolling a node: ${enrolled.status} ${enrolled.text}`)
  const certificate: string = enrolled.body.certificate
  return {
    id,
    url,
    token,
    key,
    certificate,
    authority,
    enrolled: enrolled.body,
    ...doorCaller(url, { key, cert: certificate, ca: authority }),
  }
}

/** A node that has enrolled, by real mutual TLS; `call` speaks as it and keeps its connections. */
export const enrolledNode = async (live: Pick<LiveServer, 'call'>, kind: NodeKind & { key_kind?: KeyKind } = {}) => {
  const { id, token, url, ca } = await registeredNode(live, kind)
  return enrolledWith({ id, url, token, authority: pemOf(ca), ...(kind.key_kind && { key_kind: kind.key_kind }) })
}

/** Another machine in a node's place, with a token that was made for it. */
export const enrolledAnew = async (
  live: Pick<LiveServer, 'call'>,
  { id, url, authority }: Pick<EnrolledNode, 'id' | 'url' | 'authority'>,
): Promise<EnrolledNode> => {
  const made = await askThrough(live.call)('ada', enrolNodeAgain, { params: { node_id: id }, body: { reason: 'new mainboard' } })
  if (made.status !== 201) throw new Error(`a new enrolment: ${made.status} ${made.text}`)
  return enrolledWith({ id, url, token: made.body.enrolment_token, authority })
}
export type EnrolledNode = Awaited<ReturnType<typeof enrolledNode>>

/** The node that all tests of a file share. */
export const nodeFixture = (live: LiveServer, kind?: NodeKind): EnrolledNode =>
  fixture(
    () => enrolledNode(live, kind),
    (node) => node.stop(),
  )
