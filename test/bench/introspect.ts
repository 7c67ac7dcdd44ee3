// How fast it can be said of a token that it counts: `npm run bench -- introspect`, beside the least that such an answer could be.
import { once } from 'node:events'
import { introspectToken, issueOAuthToken } from '@gatehouse/contract/oauth'
import { localIssuer } from '@gatehouse/server/people/principals/oidc/testing/local-issuer'
import { recordIfWanted } from '../../tools/evidence/records.ts'
import { table } from './decide/measure.ts'
import { installPeers } from './decide/peers.ts'
import { openWorld } from './decide/world.ts'
import { child, ended, load, type Measured, medianOf, startOurs } from './servers.ts'
import { type Account, populate } from './tokens/accounts.ts'
import { connections, scope, sendRaw } from './tokens/servers.ts'

const tokens_per_account = 5
const [rounds, seconds, wanted] = [3, 5, 8000]

const post = (path: string, { key_id, secret }: Account, fields: Record<string, string>): string => {
  const body = new URLSearchParams(fields).toString()
  const basic = Buffer.from(`${key_id}:${secret}`).toString('base64')
  const head = `host: bench\r\ncontent-type: application/x-www-form-urlencoded\r\nauthorization: Basic ${basic}`
  return `POST ${path} HTTP/1.1\r\n${head}\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}

const recording = recordIfWanted('introspect')
await installPeers()
const issuer = await localIssuer()
const world = await openWorld(issuer.issuer)
try {
  const accounts = await populate(world)
  const server = await startOurs(world, issuer)
  const bare = child('./introspect/bare-server.ts')
  const [{ port }] = (await once(bare, 'message')) as [{ port: number }]
  const generator = child('./decide/load.ts')
  try {
    const ports = { ours: Number(new URL(server.url).port), bare: port }
    const requests: string[] = []
    for (let times = 0; times < tokens_per_account; times += 1)
      for (const account of accounts) {
        const { access_token } = await sendRaw(ports.ours, post(issueOAuthToken.path, account, { grant_type: 'client_credentials', scope }))
        requests.push(post(introspectToken.path, account, { token: access_token as string }))
      }
    for (const request of requests)
      if ((await sendRaw(ports.ours, request)).active !== true) throw new Error('a live token is said to be none')
    const figures: Record<keyof typeof ports, Measured[]> = { ours: [], bare: [] }
    // The first round only warms up.
    for (let round = 0; round <= rounds; round += 1)
      for (const name of ['ours', 'bare'] as const)
        figures[name].push(
          await load(generator, { port: ports[name], requests, connections, seconds }, name === 'ours' ? server.metrics_port : port),
        )
    const [ours, floor] = [medianOf(figures.ours.slice(1)), medianOf(figures.bare.slice(1))]
    const row = (name: string, { per_second, p50_ms, p99_ms, cpu_us }: typeof ours) => [
      name,
      per_second.toFixed(0),
      p50_ms.toFixed(1),
      p99_ms.toFixed(1),
      cpu_us.toFixed(0),
      `${((per_second / floor.per_second) * 100).toFixed(0)} %`,
    ]
    const head = ['introspection', 'requests/s', 'p50 ms', 'p99 ms', 'server’s CPU µs', 'of the bare POST']
    console.log(`\n${table(head, [row('POST /oauth2/introspect', ours), row('bare validated POST', floor)])}\n`)
    console.log(`${accounts.length} clients in as many tenants, ${requests.length} live tokens, ${connections} connections.`)
    const is_kept = ours.per_second >= wanted
    console.log(`${is_kept ? 'kept  ' : 'broken'}  at least ${wanted} introspections a second`)
    if (!is_kept) process.exitCode = 1
    recording.end({
      verdict: is_kept ? 'kept' : 'broken',
      figure: `${ours.per_second.toFixed(0)} requests/s, p99 ${ours.p99_ms.toFixed(1)} ms, ${Math.round((100 * ours.per_second) / floor.per_second)} % of a bare POST`,
    })
  } finally {
    await server.stop()
    await ended(bare)
    await ended(generator)
  }
} finally {
  await world.stop()
  await issuer.stop()
}
