import { createPublicKey, type KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { Problem } from '#ground/kernel/problem.ts'
import type { KeyAlgorithm } from './key-set.ts'

/** Where the engine is, and how it is spoken to. */
export interface TransitSettings {
  readonly url: string
  readonly token_file: string
  readonly mount: string
  readonly key: string
  readonly namespace: string | null
  readonly timeout_ms?: number
}

/** A Vault or OpenBao transit engine: keys that are made there, sign there, and never leave. */
export interface Transit {
  readonly newVersion: (alg: KeyAlgorithm) => Promise<{ readonly name: string; readonly version: number; readonly key: KeyObject }>
  readonly sign: (key: { readonly name: string; readonly version: number }, alg: KeyAlgorithm, input: Buffer) => Promise<Buffer>
}

const maximumBytes = 1_000_000

/** What is said of a failure: never the token, and nothing that the other side wrote. */
const unavailable = (why: string, cause?: unknown) =>
  new Problem('dependency_unavailable', undefined, new Error(`the transit engine ${why}`, cause === undefined ? undefined : { cause }))

const textOf = async (response: Response): Promise<string> => {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > maximumBytes) throw new Error('too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString('utf8')
}

const meanings: Readonly<Record<number, string>> = {
  403: 'does not permit this',
  404: 'has no such key or mount',
  429: 'is a standby or has too much to do',
  503: 'is sealed or under maintenance',
}

const types: Readonly<Record<string, string>> = { ES256: 'ecdsa-p256', EdDSA: 'ed25519' }

/** Ed25519 keys come as their 32 bytes, the others as PEM. */
const publicKeyFrom = (alg: KeyAlgorithm, text: string): KeyObject => {
  if (alg !== 'EdDSA') return createPublicKey(text)
  const x = Buffer.from(text, 'base64').toString('base64url')
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
}

export const createTransit = ({ url, token_file, mount, key, namespace, timeout_ms = 3000 }: TransitSettings): Transit => {
  const asked = async (method: 'GET' | 'POST', path: string, body?: object): Promise<Record<string, unknown>> => {
    const token = await readFile(token_file, 'utf8').catch((error: NodeJS.ErrnoException) => {
      throw unavailable(`has no token for us: its file cannot be read (${error.code})`)
    })
    let status: number
    let text: string
    try {
      const response = await fetch(`${url}/v1/${mount}/${path}`, {
        method,
        // It could lead the token anywhere.
        redirect: 'error',
        signal: AbortSignal.timeout(timeout_ms),
        headers: {
          'x-vault-token': token.trim(),
          ...(namespace === null ? {} : { 'x-vault-namespace': namespace }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      })
      status = response.status
      text = await textOf(response)
    } catch (error) {
      // The reason is our side's own word for it; a header that is none would be quoted with its value.
      throw unavailable(`does not answer (${(error as Error).name})`)
    }
    if (status !== 200 && status !== 204) throw unavailable(meanings[status] ?? `answered ${status}`)
    try {
      return status === 204 ? {} : ((JSON.parse(text) as { data?: Record<string, unknown> }).data ?? {})
    } catch {
      throw unavailable('answered what is no JSON')
    }
  }

  return {
    newVersion: async (alg) => {
      await asked('POST', `keys/${key}/rotate`)
      const { type, keys } = await asked('GET', `keys/${key}`)
      if (type !== types[alg]) throw unavailable(`keeps a key of another type under this name; ${alg} needs ${types[alg]}`)
      const version = Math.max(...Object.keys((keys ?? {}) as object).map(Number))
      const found = (keys as Record<string, { public_key?: unknown } | undefined> | undefined)?.[version]
      if (typeof found?.public_key !== 'string') throw unavailable('tells no public key')
      try {
        return { name: key, version, key: publicKeyFrom(alg, found.public_key) }
      } catch {
        throw unavailable('tells a public key that is none')
      }
    },

    sign: async ({ name, version }, alg, input) => {
      const body = { input: input.toString('base64'), key_version: version }
      const { signature } =
        alg === 'ES256'
          ? await asked('POST', `sign/${name}/sha2-256`, { ...body, marshaling_algorithm: 'jws' })
          : await asked('POST', `sign/${name}`, body)
      const [scheme, by, text, ...more] = typeof signature === 'string' ? signature.split(':') : []
      if (scheme !== 'vault' || by !== `v${version}` || text === undefined || more.length > 0) throw unavailable('answered no signature')
      return Buffer.from(text, alg === 'ES256' ? 'base64url' : 'base64')
    },
  }
}
