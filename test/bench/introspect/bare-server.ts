// The least that introspection over HTTP could be: the form parsed and validated, an answer of the same shape serialised, and nothing in between.
import { parse } from 'node:querystring'
import { introspectToken } from '@gatehouse/contract/oauth'
import { fromPeers } from '../decide/peers.ts'

interface App {
  addContentTypeParser(type: string, options: { parseAs: 'string' }, parser: (request: unknown, text: string) => Promise<unknown>): void
  get(path: string, handler: () => Promise<string>): void
  post(path: string, options: { schema: object }, handler: () => Promise<object>): void
  listen(at: { host: string; port: number }): Promise<string>
  server: { address(): { port: number } }
}

const id = '00000001-0000-7000-8000-000000000001'
const answer = {
  active: true,
  scope: 'allocation.create allocation.read allocation.release storage.read storage.write',
  client_id: id,
  token_type: 'Bearer',
  exp: 1_800_003_600,
  iat: 1_800_000_000,
  sub: id,
  aud: 'gpuaas-api',
  iss: 'http://localhost:8090',
  jti: id,
  actor_type: 'service_account',
  org_id: id,
  project_id: id,
}

const fastify = await fromPeers<() => App>('fastify')
const app = fastify()
app.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, async (_request, text) => ({ ...parse(text) }))
app.post(introspectToken.path, { schema: { body: introspectToken.body!, response: { 200: introspectToken.reply! } } }, async () => answer)
// What it costs, told as our server tells it.
app.get('/metrics', async () => `process_cpu_seconds_total ${(process.cpuUsage().user + process.cpuUsage().system) / 1e6}`)
await app.listen({ host: '127.0.0.1', port: 0 })
process.on('disconnect', () => process.exit(0))
process.send?.({ port: app.server.address().port })
