import { once } from 'node:events'
import { decide } from '@gatehouse/contract/decisions'
import { type LocalIssuer, signText } from '@gatehouse/server/people/principals/oidc/testing/local-issuer'
import { actions } from '@gatehouse/server/rails/authz/actions'
import { child, ended, load, type Measured, medianOf, startOurs } from '../servers.ts'
import { type Findings, table } from './measure.ts'
import { givenByRoles, numbers, sampleOf } from './questions.ts'
import { peoplePerTenant, projectId, projectOf, subjectOf, tenantId, tenantOf, userId, type World } from './world.ts'

const callers = 500
const requestsPerCaller = 20
const connections = 64

/** Each caller asks half of the time about himself and half about somebody of his tenant: so everybody there is asked about. */
const requestsOf = async (issuer: LocalIssuer, population: number): Promise<string[]> => {
  const next = numbers(11)
  const now = Math.floor(Date.now() / 1000)
  // Members, from the tenth of a tenant on, may read its roles.
  const people = sampleOf(population, callers).map((person) => tenantOf(person) * peoplePerTenant + 10 + next(peoplePerTenant - 10))
  const requests: string[] = []
  for (const person of people) {
    const claims = issuer.claims(now, { sub: subjectOf(person), exp: now + 3600, preferred_username: subjectOf(person) })
    const token = await signText(issuer.key, JSON.stringify(claims))
    for (let count = 0; count < requestsPerCaller; count += 1) {
      const other = tenantOf(person) * peoplePerTenant + next(peoplePerTenant)
      const possible = givenByRoles.filter((key) => actions[key].tier !== 'platform')
      const action = possible[next(possible.length)]!
      const resource =
        actions[action].tier === 'tenant'
          ? { type: 'organization', id: tenantId(tenantOf(person)) }
          : { type: 'allocation', tenant_id: tenantId(tenantOf(person)), project_id: projectId(projectOf(person)) }
      const body = JSON.stringify({ ...(count % 2 === 0 ? {} : { actor: { type: 'user', id: userId(other) } }), action, resource })
      requests.push(
        `POST ${decide.path} HTTP/1.1\r\nhost: bench\r\ncontent-type: application/json\r\nauthorization: Bearer ${token}\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      )
    }
  }
  // In an order in which no caller follows himself.
  return requests.map((_, index) => requests[(index * requestsPerCaller + Math.floor(index / people.length)) % requests.length]!)
}

/** Both servers in turns, under the same requests from a third process. */
export const measureHttp = async (world: World, issuer: LocalIssuer, population: number, seconds = 5, rounds = 3) => {
  const requests = await requestsOf(issuer, population)
  const generator = child('./decide/load.ts')
  generator.once('exit', (code) => {
    if (code) throw new Error('the load generator ended')
  })
  const bare = child('./decide/bare-server.ts')
  const [{ port }] = (await once(bare, 'message')) as [{ port: number }]
  const server = await startOurs(world, issuer)
  try {
    const ports = { ours: Number(new URL(server.url).port), bare: port }
    const figures: Record<keyof typeof ports, Measured[]> = { ours: [], bare: [] }
    for (let round = 0; round <= rounds; round += 1)
      for (const name of ['ours', 'bare'] as const) {
        const metrics_port = name === 'ours' ? server.metrics_port : port
        const measured = await load(generator, { port: ports[name], requests, connections, seconds }, metrics_port)
        // The first round only warms up.
        if (round > 0) figures[name].push(measured)
      }
    return { ours: medianOf(figures.ours), bare: medianOf(figures.bare) }
  } finally {
    await server.stop()
    await ended(bare)
    await ended(generator)
  }
}

export const compareHttp = async (world: World, issuer: LocalIssuer): Promise<Findings> => {
  const population = 10_000
  await world.growTo(population)
  const { ours, bare } = await measureHttp(world, issuer, population)
  const row = (name: string, { per_second, p50_ms, p99_ms, cpu_us }: typeof ours) => [
    name,
    per_second.toFixed(0),
    p50_ms.toFixed(1),
    p99_ms.toFixed(1),
    cpu_us.toFixed(0),
    `${((per_second / bare.per_second) * 100).toFixed(0)} %`,
  ]
  const figures = table(
    ['over HTTP', 'requests/s', 'p50 ms', 'p99 ms', 'server’s CPU µs', 'of the bare POST'],
    [row('POST /api/v1/authz/decisions', ours), row('bare validated POST', bare)],
  )
  const share = ours.per_second / bare.per_second
  return {
    figures,
    summary: `${Math.round(100 * share)} % of the bare POST: ${ours.per_second.toFixed(0)} requests/s, p50 ${ours.p50_ms.toFixed(1)} ms, p99 ${ours.p99_ms.toFixed(1)} ms, ${ours.cpu_us.toFixed(0)} µs CPU beside ${bare.cpu_us.toFixed(0)}`,
    promises: [{ what: 'at least 60 % of a bare validated POST', is_kept: share >= 0.6 }],
  }
}
