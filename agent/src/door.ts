import { Agent, request } from 'node:https'
import { node_protocol, node_protocol_header, nodeProtocolOf } from '@gatehouse/contract/node-protocol'

/** What is shown to the door, and by which authority the door is believed. */
export interface Showing {
  readonly url: string
  readonly authority: string
  readonly key?: string
  readonly certificate?: string
}

export interface Asking {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: unknown
  readonly idempotency_key?: string
  readonly timeout_ms?: number
  readonly signal?: AbortSignal
}

export interface Answer {
  readonly status: number
  readonly body: unknown
  readonly retry_after_seconds: number | undefined
  /** Which version of the nodes' protocol both sides speak. A control plane that says nothing of it speaks the first. */
  readonly protocol?: number
}

/** The control plane as a node reaches it. Fails where no answer came, which says nothing about whether it was heard. */
export interface Door {
  readonly ask: (asking: Asking) => Promise<Answer>
  readonly close: () => void
}

const answer_bytes = 32 * 1024 * 1024

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The door is known by the pinned authority and nothing else: no store of the system's takes part, and there is no switch for it. */
export const openDoor = ({ url, authority, key, certificate }: Showing): Door => {
  const agent = new Agent({
    ca: authority,
    ...(key && certificate ? { key, cert: certificate } : {}),
    minVersion: 'TLSv1.3',
    rejectUnauthorized: true,
    keepAlive: true,
    maxSockets: 8,
    maxCachedSessions: 0,
  })

  const ask = ({ method, path, body, idempotency_key, timeout_ms = 15_000, signal }: Asking): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
      const headers = {
        accept: 'application/json',
        [node_protocol_header]: `${node_protocol}`,
        ...(bytes ? { 'content-type': 'application/json', 'content-length': bytes.length } : {}),
        ...(idempotency_key ? { 'idempotency-key': idempotency_key } : {}),
      }
      const asked = request(new URL(path, url), { method, agent, headers, ...(signal ? { signal } : {}) })
      // The whole of it: a door that answers a byte at a time holds nobody for ever.
      const timer = setTimeout(() => asked.destroy(new Error('no answer in time')), timeout_ms)
      const end = (settle: () => void) => {
        clearTimeout(timer)
        settle()
      }
      asked.once('error', (error) => end(() => reject(error)))
      asked.once('response', (response) => {
        const chunks: Buffer[] = []
        let size = 0
        response.on('data', (chunk: Buffer) => {
          size += chunk.length
          if (size > answer_bytes) asked.destroy(new Error('the answer is too long'))
          else chunks.push(chunk)
        })
        response.once('error', (error) => end(() => reject(error)))
        response.once('end', () => {
          const seconds = Number(response.headers['retry-after'])
          const retry_after_seconds = Number.isFinite(seconds) && seconds > 0 ? seconds : undefined
          const text = Buffer.concat(chunks).toString('utf8')
          const protocol = nodeProtocolOf(response.headers[node_protocol_header]) ?? 1
          end(() => resolve({ status: response.statusCode ?? 0, body: parsed(text), retry_after_seconds, protocol }))
        })
      })
      asked.end(bytes)
    })

  return { ask, close: () => agent.destroy() }
}

/** What an answer that is no success says: its code, and why it was refused where it says so. */
export const refusalIn = ({ body }: Answer): { code: string; reason_code: string | null } => {
  const { code, details } = (typeof body === 'object' && body !== null ? body : {}) as {
    code?: unknown
    details?: { reason_code?: unknown }
  }
  const reason = details?.reason_code
  return { code: typeof code === 'string' ? code : 'none', reason_code: typeof reason === 'string' ? reason : null }
}

/** The certificate counts no more: the node was retired, or enrolled anew elsewhere, or was away for too long. */
export const isIdentityRefused = (answer: Answer): boolean => {
  const { code, reason_code } = refusalIn(answer)
  return answer.status === 401 || (answer.status === 403 && (reason_code === 'membership_missing' || code === 'token_invalid'))
}
