import { type Findings, table } from '../decide/measure.ts'
import type { World } from '../decide/world.ts'
import { introspections, tokenRequests } from './peers.ts'
import { issuances, questions } from './requests.ts'
import { type Contestant, head, inTurns, row, type Servers, scope, sendRaw } from './servers.ts'

type Name = 'gatehouse, a request that is decided' | `oidc-provider introspection, ${'PostgreSQL' | 'memory'}`

const tokensPerAccount = 5

const mint = async (port: number, requests: readonly string[]): Promise<string[]> => {
  const tokens: string[] = []
  for (let times = 0; times < tokensPerAccount; times += 1)
    for (const request of requests) tokens.push((await sendRaw(port, request)).access_token as string)
  return tokens
}

/** How often a second it can be said of a token that it is live now, to whoever asks over HTTP. */
export const compareValidation = async (_world: World, servers: Servers): Promise<Findings> => {
  const { accounts, clients, keeper, ports } = servers
  const opaque = tokenRequests(clients, 'opaque', scope)
  const contestants: Contestant<Name>[] = [
    {
      name: 'gatehouse, a request that is decided',
      port: ports.ours,
      requests: questions(accounts, await mint(ports.ours, issuances(accounts, scope))),
    },
    {
      name: 'oidc-provider introspection, PostgreSQL',
      port: ports.written,
      requests: introspections(keeper, await mint(ports.written, opaque)),
    },
    {
      name: 'oidc-provider introspection, memory',
      port: ports.remembered,
      requests: introspections(keeper, await mint(ports.remembered, opaque)),
    },
  ]
  for (const { name, port, requests } of contestants)
    for (const request of requests) {
      const { decision, active } = await sendRaw(port, request)
      if (decision !== 'allow' && active !== true) throw new Error(`${name} says that a live token is none`)
    }
  const measured = await inTurns(servers, contestants)
  const ours = measured.get('gatehouse, a request that is decided')!
  const figures = table(
    head('is it live?'),
    [...measured].map(([name, each]) => row(name, each, ours)),
  )
  const peer = measured.get('oidc-provider introspection, PostgreSQL')!
  return {
    summary: `${(ours.per_second / peer.per_second).toFixed(2)}× oidc-provider introspection: ${ours.per_second.toFixed(0)}/s beside ${peer.per_second.toFixed(0)}/s`,
    figures: `${figures}\n\n${accounts.length * tokensPerAccount} live tokens each.`,
    promises: [{ what: 'at least as fast as introspection from the same PostgreSQL', is_kept: ours.per_second >= peer.per_second }],
  }
}
