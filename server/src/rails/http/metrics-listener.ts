import { createServer, type Server } from 'node:http'
import type { Metrics } from '#ground/telemetry/metrics.ts'
import { isOneHost } from './read-request.ts'

/** Metrics tell load and habits of tenants, so they have a listener of their own, which no public proxy needs to reach. */
export const metricsListener = (metrics: Pick<Metrics, 'contentType' | 'text'>): Server => {
  let collecting: Promise<string> | undefined
  /** However many ask at once, they are collected once. */
  const collected = (): Promise<string> => {
    collecting ??= metrics.text().finally(() => {
      collecting = undefined
    })
    return collecting
  }
  const limits = { maxHeaderSize: 16 * 1024, headersTimeout: 10_000, requestTimeout: 12_000, keepAliveTimeout: 30_000 }
  return createServer(limits, (request, response) => {
    const answer = (status: number, type: string, text: string, headers: Record<string, string> = {}) =>
      response
        .writeHead(status, {
          'content-type': type,
          'content-length': Buffer.byteLength(text),
          'cache-control': 'no-store',
          'x-content-type-options': 'nosniff',
          ...headers,
        })
        .end(text)
    const plain = 'text/plain; charset=utf-8'
    if (!isOneHost(request.rawHeaders, request.headers.host)) return void answer(400, plain, 'Send one Host header.\n')
    if (request.url?.split('?', 1)[0] !== '/metrics') return void answer(404, plain, 'Only /metrics is served here.\n')
    if (request.method !== 'GET') return void answer(405, plain, 'Ask with GET.\n', { allow: 'GET' })
    collected().then(
      (text) => answer(200, metrics.contentType, text),
      () => answer(500, plain, 'The metrics cannot be collected.\n'),
    )
  })
}
