// What one tenant at its limits costs the others (M5): `npm run bench -- noisy`. One caller of another tenant asks, first alone, then beside it.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { decide, decideBatch } from '@gatehouse/contract/decisions'
import { localIssuer, signText } from '@gatehouse/server/principals/oidc/testing/local-issuer'
import type { Figures, Plan } from './decide/load.ts'
import { median, table } from './decide/measure.ts'
import { openWorld, peoplePerTenant, projectId, subjectOf, tenantId } from './decide/world.ts'
import { child, ended, startOurs } from './servers.ts'

const [rounds, seconds] = [3, 3]
const most_ratio = 2

const issuer = await localIssuer()
const world = await openWorld(issuer.issuer)
const bearer = async (person: number) => {
  const now = Math.floor(Date.now() / 1000)
  const claims = issuer.claims(now, { sub: subjectOf(person), exp: now + 3600, preferred_username: subjectOf(person) })
  return `host: bench\r\nauthorization: Bearer ${await signText(issuer.key, JSON.stringify(claims))}`
}
const post = (path: string, head: string, asked: object): string => {
  const body = JSON.stringify(asked)
  return `POST ${path} HTTP/1.1\r\n${head}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}
const run = async (generator: ChildProcess, plan: Plan): Promise<Figures> => {
  const answer = once(generator, 'message') as Promise<[Figures]>
  generator.send(plan)
  return (await answer)[0]
}

try {
  await world.growTo(4 * peoplePerTenant)
  await world.sql(`update policy_values set value = '10000000' where key like 'rate_limit.%' and replaced_at is null`)
  // As many rules as a project may have, with as many tests as one may have, none of which holds.
  const any = Array.from({ length: 20 }, (_, n) => ({ any: [{ in: { actor_type: [`a${n}`] } }, { in: { resource_type: [`r${n}`] } }] }))
  await world.sql(
    `insert into policy_constraints (constraint_id, version, key, scope_type, project_id, actions, condition, time_zone, is_locked, state, created_at)
     select gen_random_uuid(), 1, 'dear-' || n, 'project', '${projectId(0)}', '{allocation.*}', '${JSON.stringify({ any })}', 'UTC', false, 'active', now()
       from generate_series(1, 200) n`,
  )
  const server = await startOurs(world, issuer)
  const [quiet, batches] = [child('./decide/load.ts'), child('./decide/load.ts')]
  try {
    const port = Number(new URL(server.url).port)
    const dear = { action: 'allocation.read', resource: { type: 'allocation', tenant_id: tenantId(0), project_id: projectId(0) } }
    const noise = [post(decideBatch.path, await bearer(10), { questions: Array(100).fill(dear) })]
    const asked = { action: 'tenant.read', resource: { type: 'organization', id: tenantId(1) } }
    const requests = [post(decide.path, await bearer(peoplePerTenant + 10), asked)]
    const alone: Figures[] = []
    const beside: Figures[] = []
    const noisy: Figures[] = []
    // The first round only warms up.
    for (let round = 0; round <= rounds; round += 1) {
      const calm = await run(quiet, { port, requests, connections: 1, seconds })
      const under_way = run(batches, { port, requests: noise, connections: 4, seconds: seconds + 1 })
      const disturbed = await run(quiet, { port, requests, connections: 1, seconds })
      const heavy = await under_way
      if (round === 0) continue
      alone.push(calm)
      beside.push(disturbed)
      noisy.push(heavy)
    }
    const p50 = (figures: readonly Figures[]) => median(figures.map(({ p50_ms }) => p50_ms))
    const p99 = (figures: readonly Figures[]) => median(figures.map(({ p99_ms }) => p99_ms))
    const said = (figures: readonly Figures[]) => JSON.stringify(figures.map(({ statuses }) => statuses))
    const row = (name: string, figures: readonly Figures[]) => [name, p50(figures).toFixed(2), p99(figures).toFixed(2), said(figures)]
    console.log(
      `\n${table(['caller', 'p50 ms', 'p99 ms', 'answers'], [row('another tenant, alone', alone), row('another tenant, beside it', beside), row('the noisy tenant: batches of 100', noisy)])}\n`,
    )
    const ratio = p50(beside) / p50(alone)
    const refused = beside.some(({ statuses }) => Object.keys(statuses).some((status) => status !== '200'))
    const is_kept = ratio <= most_ratio && !refused
    console.log(
      `${is_kept ? 'kept  ' : 'broken'}  others at most ${most_ratio} times their quiet p50 and never refused: ${ratio.toFixed(2)} times`,
    )
    if (!is_kept) process.exitCode = 1
  } finally {
    await server.stop()
    for (const generator of [quiet, batches]) await ended(generator)
  }
} finally {
  await world.stop()
  await issuer.stop()
}
