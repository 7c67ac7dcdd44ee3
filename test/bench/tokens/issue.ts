import { type Findings, table } from '../decide/measure.ts'
import type { World } from '../decide/world.ts'
import { tenants } from './accounts.ts'
import { tokenRequests } from './peers.ts'
import { issuances } from './requests.ts'
import { type Contestant, connections, head, inTurns, row, type Servers, scope, sendRaw } from './servers.ts'

type Name = 'gatehouse' | `oidc-provider, ${'signed' | 'opaque'}, ${'a row each' | 'in memory'}`

const countOf = async (world: World, from: string): Promise<number> => Number((await world.sql(`select count(*) as n ${from}`)).rows[0].n)
const rowsOf = async (world: World) => ({
  issued: await countOf(world, 'from issued_tokens'),
  recorded: await countOf(world, `from audit_logs where action = 'auth.token.issue' and result = 'success'`),
  peers: await countOf(world, 'from peer.tokens'),
})

/** Tokens per second, of 200 tenants, each with its row and its record; the peer with a row, or with nothing but its memory. */
export const compareIssuance = async (world: World, servers: Servers): Promise<Findings> => {
  const { accounts, clients, ports } = servers
  const contestants: Contestant<Name>[] = [
    { name: 'gatehouse', port: ports.ours, requests: issuances(accounts, scope) },
    { name: 'oidc-provider, signed, a row each', port: ports.written, requests: tokenRequests(clients, 'jwt', scope) },
    { name: 'oidc-provider, opaque, a row each', port: ports.written, requests: tokenRequests(clients, 'opaque', scope) },
    { name: 'oidc-provider, signed, in memory', port: ports.remembered, requests: tokenRequests(clients, 'jwt', scope) },
    { name: 'oidc-provider, opaque, in memory', port: ports.remembered, requests: tokenRequests(clients, 'opaque', scope) },
  ]
  // Everybody gives what was asked for, before anybody is timed.
  for (const { name, port, requests } of contestants) {
    const { access_token, scope: granted } = (await sendRaw(port, requests[0]!)) as { access_token: string; scope: string }
    if (granted.split(' ').sort().join(' ') !== scope) throw new Error(`${name} granted ${granted}`)
    if (access_token.includes('.') !== !name.includes('opaque')) throw new Error(`${name} gave another kind of token`)
  }
  const before = await rowsOf(world)
  const measured = await inTurns(servers, contestants)
  const after = await rowsOf(world)
  const answered = (name: Name) => measured.get(name)!.answered
  const written = answered('oidc-provider, signed, a row each') + answered('oidc-provider, opaque, a row each')
  if (after.issued - before.issued !== answered('gatehouse')) throw new Error('a token of ours has no row, or a row no token')
  if (after.recorded - before.recorded !== answered('gatehouse')) throw new Error('a token of ours is not in the record')
  if (after.peers - before.peers !== written) throw new Error('a token of the peer has no row')

  const ours = measured.get('gatehouse')!
  const figures = table(
    head('issuance'),
    [...measured].map(([name, each]) => row(name, each, ours)),
  )
  const signed = measured.get('oidc-provider, signed, a row each')!
  return {
    summary: `${(ours.per_second / signed.per_second).toFixed(2)}× oidc-provider signed with a row: ${ours.per_second.toFixed(0)}/s beside ${signed.per_second.toFixed(0)}/s`,
    figures: `${figures}\n\n${ours.answered} tokens of ${tenants} tenants over ${connections} connections, each with its row and its record.`,
    // The signed one gives the same thing as ours. What an opaque one costs stands beside it.
    promises: [
      {
        what: 'audited issuance at least as fast as oidc-provider with a row for each signed token',
        is_kept: ours.per_second >= signed.per_second,
      },
    ],
  }
}
