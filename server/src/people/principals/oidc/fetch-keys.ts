import { type Issuer, isLoopback } from './issuer-settings.ts'
import { type VerificationKey, verificationKeys } from './verification-keys.ts'

export type Fetch = typeof globalThis.fetch

const maximumBytes = 1_000_000

const jsonAt = async (fetch: Fetch, url: string, signal: AbortSignal): Promise<unknown> => {
  // A redirect could lead from the issuer's host to any other, so it is an error and not followed.
  const response = await fetch(url, { redirect: 'error', signal, headers: { accept: 'application/json' } })
  if (response.status !== 200 || !response.body) {
    await response.body?.cancel()
    throw new Error(`${url} answered ${response.status}`)
  }
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body) {
    size += chunk.byteLength
    if (size > maximumBytes) throw new Error(`${url} answered more than ${maximumBytes} bytes`)
    chunks.push(chunk)
  }
  return JSON.parse(Buffer.concat(chunks).toString('utf8'))
}

const jwksAddress = (discovered: unknown, issuer: string): string => {
  const { issuer: named, jwks_uri } = (discovered ?? {}) as { issuer?: unknown; jwks_uri?: unknown }
  if (named !== issuer) throw new Error(`the discovery document of ${issuer} names another issuer`)
  const url = typeof jwks_uri === 'string' ? URL.parse(jwks_uri) : null
  const isAllowed = url?.protocol === 'https:' || (url?.protocol === 'http:' && issuer.startsWith('http:') && isLoopback(url))
  if (!url || !isAllowed || url.username || url.password) throw new Error(`the discovery document of ${issuer} has no usable jwks_uri`)
  return url.href
}

/** One round: discovery, then the key set. Both within the signal's time. */
export const fetchKeys = async (fetch: Fetch, { issuer }: Issuer, signal: AbortSignal): Promise<ReadonlyMap<string, VerificationKey>> => {
  const discovered = await jsonAt(fetch, `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`, signal)
  return verificationKeys(await jsonAt(fetch, jwksAddress(discovered, issuer), signal))
}
