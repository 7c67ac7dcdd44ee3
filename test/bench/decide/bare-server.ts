// The least that a decision over HTTP could be: the same body validated, an answer of the same shape serialised, and nothing in between.
import { decide } from '@gatehouse/contract/decisions'
import { fromPeers } from './peers.ts'

interface App {
  get(path: string, handler: () => Promise<string>): void
  post(path: string, options: { schema: object }, handler: () => Promise<object>): void
  listen(at: { host: string; port: number }): Promise<string>
  server: { address(): { port: number } }
}

const answer = {
  decision: 'allow',
  reason_code: null,
  applied_scope: 'project',
  policy_source: 'in_code',
  decision_id: '00000001-0000-7000-8000-000000000001',
  break_glass_id: null,
  decided_by: {
    bindings: [
      {
        binding_id: '00000001-0000-7000-8000-000000000002',
        scope: 'project',
        role_id: '00000001-0000-7000-8000-000000000003',
        role_version_id: '00000001-0000-7000-8000-000000000004',
        role_name: 'project_member',
        version: 1,
      },
    ],
    constraint: null,
  },
  revision: '1.1',
}

const fastify = await fromPeers<() => App>('fastify')
const app = fastify()
app.post(decide.path, { schema: { body: decide.body!, response: { 200: decide.reply! } } }, async () => answer)
// What it costs, told as our server tells it.
app.get('/metrics', async () => `process_cpu_seconds_total ${(process.cpuUsage().user + process.cpuUsage().system) / 1e6}`)
await app.listen({ host: '127.0.0.1', port: 0 })
process.on('disconnect', () => process.exit(0))
process.send?.({ port: app.server.address().port })
