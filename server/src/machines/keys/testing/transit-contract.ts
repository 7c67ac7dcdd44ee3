import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { KeyAlgorithm } from '../key-set.ts'

/** How it misbehaves, where a test wants it. */
export type TransitFault = 'sealed' | 'denied' | 'silent' | 'redirects' | 'garbled' | 'wrong_signature' | 'wrong_version' | 'huge'

const token = 'hvs.CANARY-transit-token-0123456789'

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let text = ''
  for await (const chunk of request) text += chunk
  return text
}

/**
 * What the published API documentation of the transit engine says of the three calls that we make, and nothing else: whatever is not
 * in it (a path, a method, a member of a body, a header that is missing) is refused. It really signs.
 */
export const transitContract = async (
  alg: KeyAlgorithm,
  { mount = 'transit', key = 'gatehouse', namespace = null as string | null } = {},
) => {
  const versions: { publicKey: KeyObject; privateKey: KeyObject }[] = []
  const rotate = () => versions.push(alg === 'ES256' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : generateKeyPairSync('ed25519'))
  rotate()
  const asked: string[] = []
  const undocumented: string[] = []
  let fault: TransitFault | undefined

  const publicText = ({ publicKey }: { publicKey: KeyObject }) =>
    alg === 'ES256'
      ? publicKey.export({ type: 'spki', format: 'pem' }).toString()
      : Buffer.from((publicKey.export({ format: 'jwk' }) as { x: string }).x, 'base64url').toString('base64')

  const read = () => ({
    type: alg === 'ES256' ? 'ecdsa-p256' : 'ed25519',
    name: key,
    supports_signing: true,
    derived: false,
    keys: Object.fromEntries(
      versions.map((pair, at) => [at + 1, { creation_time: '2026-11-15T00:00:00Z', name: 'P-256', public_key: publicText(pair) }]),
    ),
  })

  const signed = (body: Record<string, unknown>) => {
    const version = fault === 'wrong_version' ? versions.length : (body.key_version as number)
    const { privateKey } = fault === 'wrong_signature' ? generateKeyPairSync('ec', { namedCurve: 'P-256' }) : versions[version - 1]!
    const input = Buffer.from(body.input as string, 'base64')
    const isJws = body.marshaling_algorithm === 'jws'
    const bytes =
      privateKey.asymmetricKeyType === 'ec'
        ? sign('sha256', input, { key: privateKey, dsaEncoding: isJws ? 'ieee-p1363' : 'der' })
        : sign(null, input, privateKey)
    return { signature: `vault:v${version}:${bytes.toString(isJws ? 'base64url' : 'base64')}` }
  }

  const members: Readonly<Record<string, string>> = { input: 'string', key_version: 'number', marshaling_algorithm: 'string' }
  const isSignBody = (body: Record<string, unknown>) =>
    Object.entries(body).every(([name, value]) => typeof value === members[name]) &&
    /^[A-Za-z0-9+/]+={0,2}$/.test(String(body.input)) &&
    versions[Number(body.key_version) - 1] !== undefined &&
    (body.marshaling_algorithm === undefined || (alg === 'ES256' && body.marshaling_algorithm === 'jws'))

  const answerTo = (route: string, text: string): object | undefined => {
    const base = `/v1/${mount}`
    if (route === `GET ${base}/keys/${key}` && text === '') return read()
    if (route === `POST ${base}/keys/${key}/rotate` && text === '') {
      rotate()
      return {}
    }
    // Ed25519 has a hash of its own; the others name theirs.
    if (route !== `POST ${base}/sign/${key}${alg === 'ES256' ? '/sha2-256' : ''}`) return undefined
    const body = JSON.parse(text) as Record<string, unknown>
    return isSignBody(body) ? signed(body) : undefined
  }

  const server = createServer(async (request, response) => {
    const send = (status: number, body?: object, headers = {}) =>
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(body && JSON.stringify(body))
    const text = await bodyOf(request)
    const route = `${request.method} ${request.url}`
    asked.push(route)
    if (fault === 'silent') return
    if (fault === 'sealed') return send(503, { errors: ['Vault is sealed'] })
    if (fault === 'redirects') return send(307, undefined, { location: 'http://127.0.0.1:9/v1/elsewhere' })
    if (fault === 'garbled') return response.writeHead(200).end('<html>not what you wanted</html>')
    if (fault === 'huge') return response.writeHead(200).end('x'.repeat(2_000_000))
    if (fault === 'denied' || request.headers['x-vault-token'] !== token) return send(403, { errors: ['permission denied'] })
    if ((request.headers['x-vault-namespace'] ?? null) !== namespace) return send(404, { errors: [] })
    const data = answerTo(route, text)
    if (data) return send(200, { data })
    undocumented.push(`${route} ${text}`)
    return send(400, { errors: ['unsupported'] })
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    token,
    asked,
    undocumented,
    versions,
    breaks: (as: TransitFault | undefined) => {
      fault = as
    },
    stop: () => {
      server.closeAllConnections()
      return new Promise((closed) => server.close(closed))
    },
  }
}
