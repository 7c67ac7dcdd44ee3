// What eight dear anonymous bodies a second do to an honest caller: `npm run bench -- stranger`, in turns with quiet times.
import { setTimeout as pause } from 'node:timers/promises'
import { decide } from '@gatehouse/contract/decisions'
import { issueServiceAccountToken } from '@gatehouse/contract/tokens'
import { localIssuer, signText } from '@gatehouse/server/people/principals/oidc/testing/local-issuer'
import { dearJson } from '../cost/dear-bodies.ts'
import { median, table } from './decide/measure.ts'
import { openWorld, subjectOf, tenantId, userId } from './decide/world.ts'
import { startOurs } from './servers.ts'

const [rounds, seconds, bodies_a_second, most_times_quiet] = [5, 3, 8, 3]
const every_ms = 10
/** The dearest to a parser that is not linear: about 100 ms each to the former one. */
const dearest = ['escaped names', 'different escaped names', '30 marks on each letter', 'escaped marks']
const bodiesOf = (size: number): readonly Buffer[] => dearest.map((name) => dearJson(size)[name]!)
const caller = 10

const issuer = await localIssuer()
const world = await openWorld(issuer.issuer)
await world.growTo(500)
const server = await startOurs(world, issuer)
try {
  const now = Math.floor(Date.now() / 1000)
  const token = await signText(issuer.key, JSON.stringify(issuer.claims(now, { sub: subjectOf(caller), exp: now + 3600 })))
  const question = {
    actor: { type: 'user', id: userId(caller) },
    action: 'tenant.read',
    resource: { type: 'organization', id: tenantId(0) },
  }
  const asked = {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(question),
  }
  /**
   * The median of an honest caller's latencies, who asks at fixed times, whether or not the last answer is there (an open loop). One who waits for
   * each answer before asking again would ask a thousand times between two stalls and once in each: half of the stalls would not show.
   */
  const p50 = async (): Promise<number> => {
    const took: Promise<number>[] = []
    const ask = async (): Promise<number> => {
      const began = performance.now()
      const response = await fetch(server.url + decide.path, asked)
      await response.arrayBuffer()
      if (response.status >= 500 || response.status === 429) throw new Error(`the honest caller got ${response.status}`)
      return performance.now() - began
    }
    for (let n = 0; n < (seconds * 1000) / every_ms; n += 1) {
      took.push(ask())
      await pause(every_ms)
    }
    return median(await Promise.all(took))
  }
  const attacked = async (bodies: readonly Buffer[]): Promise<number> => {
    let sent = 0
    const timer = setInterval(() => {
      const body = bodies[sent % bodies.length]!
      sent += 1
      const headers = { 'content-type': 'application/json' }
      // A body that is refused while it is sent ends the connection.
      fetch(server.url + issueServiceAccountToken.path, { method: 'POST', headers, body }).then(
        (response) => response.arrayBuffer(),
        () => {},
      )
    }, 1000 / bodies_a_second)
    try {
      return await p50()
    } finally {
      clearInterval(timer)
    }
  }
  const kinds: Record<string, readonly Buffer[]> = {
    '256 KiB': bodiesOf(256 * 1024 - 10),
    '16 KiB': bodiesOf(16 * 1024 - 10),
  }
  await p50()
  const figures = new Map<string, number[]>()
  for (let round = 0; round < rounds; round += 1) {
    const note = (name: string, figure: number) => figures.set(name, [...(figures.get(name) ?? []), figure])
    note('quiet', await p50())
    for (const [name, bodies] of Object.entries(kinds)) note(name, await attacked(bodies))
  }
  const quiet = median(figures.get('quiet')!)
  const rows = [...figures].map(([name, all]) => [name, median(all).toFixed(2), (median(all) / quiet).toFixed(2)])
  console.log(table([`${bodies_a_second} anonymous bodies a second`, 'p50 ms', 'times quiet'], rows))
  const isKept = [...figures.values()].every((all) => median(all) <= most_times_quiet * quiet)
  console.log(`an honest caller's p50 stays within ${most_times_quiet} times quiet: ${isKept ? 'kept' : 'broken'}`)
  if (!isKept) process.exitCode = 1
} finally {
  await server.stop()
  await issuer.stop()
  await world.stop()
}
