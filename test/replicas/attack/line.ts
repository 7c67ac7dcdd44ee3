import { Agent, request } from 'node:http'

export interface Heard {
  /** Taken before the first byte was sent. */
  readonly sent_at: number
  readonly heard_at: number
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: read as a stranger would, without our types
  readonly body: any
}

export interface Asking {
  readonly method: string
  readonly path: string
  readonly token?: string
  readonly body?: unknown
  /** Of the request, and its key: asked again, it is done once. */
  readonly correlation_id?: string
}

const agent = new Agent({ keepAlive: true })

/** Asks, and notes when: what counts is whether it began before or after something else was answered. */
export const ask = (base: string, { method, path, token, body, correlation_id }: Asking): Promise<Heard> =>
  new Promise((resolve, reject) => {
    const bytes = body === undefined ? undefined : JSON.stringify(body)
    const asking = request(`${base}/api/v1${path}`, {
      agent,
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(correlation_id === undefined ? {} : { 'x-request-id': correlation_id, 'idempotency-key': correlation_id }),
        ...(bytes === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(bytes) }),
      },
    })
    asking.on('error', reject).on('response', (response) => {
      const heard_at = performance.now()
      const parts: Buffer[] = []
      response
        .on('data', (part: Buffer) => parts.push(part))
        .on('error', reject)
        .on('end', () => {
          const text = Buffer.concat(parts).toString('utf8')
          resolve({ sent_at, heard_at, status: response.statusCode ?? 0, body: text === '' ? null : JSON.parse(text) })
        })
    })
    const sent_at = performance.now()
    asking.end(bytes)
  })

export const isSuccess = ({ status }: Pick<Heard, 'status'>): boolean => status >= 200 && status < 300
/** No answer to the question, only that there was no time for one. */
export const isBusy = ({ status }: Pick<Heard, 'status'>): boolean => status === 503 || status === 429
