// What one tenant at its limits costs the others (M5): `npm run bench -- noisy`. A caller of another tenant asks, first alone, then beside it.
// The server has its defaults, and nobody's limit on requests is lifted: the noisy tenant has as many callers as it has people.
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { decide, decideBatch } from '@gatehouse/contract/decisions'
import { localIssuer, signText } from '@gatehouse/server/people/principals/oidc/testing/local-issuer'
import type { Figures, Plan } from './decide/load.ts'
import { median, table } from './decide/measure.ts'
import { openWorld, peoplePerTenant, projectId, projectsPerTenant, subjectOf, tenantId } from './decide/world.ts'
import { child, ended, startOurs } from './servers.ts'
import { type Account, addAccount } from './tokens/accounts.ts'
import { issuances } from './tokens/requests.ts'
import { scope } from './tokens/servers.ts'

const [rounds, seconds] = [3, 3]
const most_ratio = 2
/** More than an export of one answer holds. */
const audit_rows = 12_000
/** So many that no limit of a machine is reached. */
const accounts_per_tenant = 30
/** Name some to leave the others out: `npm run bench -- noisy lists exports`. */
const wanted = process.argv.slice(3)

const issuer = await localIssuer()
const world = await openWorld(issuer.issuer)
const bearer = async (person: number) => {
  const now = Math.floor(Date.now() / 1000)
  const claims = issuer.claims(now, { sub: subjectOf(person), exp: now + 3600, preferred_username: subjectOf(person) })
  return `host: bench\r\nauthorization: Bearer ${await signText(issuer.key, JSON.stringify(claims))}`
}
const post = (path: string, head: string, asked: object, more = ''): string => {
  const body = JSON.stringify(asked)
  return `POST ${path} HTTP/1.1\r\n${head}\r\n${more}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
}
const get = (path: string, head: string): string => `GET ${path} HTTP/1.1\r\n${head}\r\n\r\n`
const run = async (generator: ChildProcess, plan: Plan): Promise<Figures> => {
  const answer = once(generator, 'message') as Promise<[Figures]>
  generator.send(plan)
  return (await answer)[0]
}

interface Kind {
  readonly requests: readonly string[]
  readonly connections: number
}
/** What the noisy tenant does, each with connections of its own, always as fast as it is answered. */
const noises = async (accounts: readonly Account[]): Promise<Record<string, Kind>> => {
  const heads = await Promise.all(Array.from({ length: peoplePerTenant }, (_, person) => bearer(person)))
  const dear = { action: 'allocation.read', resource: { type: 'allocation', tenant_id: tenantId(0), project_id: projectId(0) } }
  // One owner and two admins: those who may read the audit log.
  const readers = heads.slice(0, 3)
  return {
    batches: { requests: [post(decideBatch.path, heads[10]!, { questions: Array(100).fill(dear) })], connections: 4 },
    lists: {
      requests: heads.flatMap((head, person) => [
        get(`/api/v1/orgs/${tenantId(0)}/members?limit=200`, head),
        get(`/api/v1/projects/${projectId(person % projectsPerTenant)}/members?limit=200`, head),
        get(`/api/v1/orgs/${tenantId(0)}/projects?limit=200`, head),
      ]),
      connections: 4,
    },
    exports: { requests: readers.map((head) => get(`/api/v1/orgs/${tenantId(0)}/audit-logs?format=jsonl`, head)), connections: 2 },
    'audit reads': { requests: readers.map((head) => get(`/api/v1/orgs/${tenantId(0)}/audit-logs?limit=200`, head)), connections: 2 },
    // A request that repeats a key waits for the first.
    repeats: {
      requests: Array.from({ length: 200 }, (_, n) =>
        post(
          `/api/v1/orgs/${tenantId(0)}/projects`,
          readers[0]!,
          { name: 'Repeated', slug: `repeated-${n >> 3}` },
          `idempotency-key: repeated-${n >> 3}\r\n`,
        ),
      ),
      connections: 4,
    },
    tokens: { requests: issuances(accounts, scope), connections: 32 },
  }
}

try {
  await world.growTo(4 * peoplePerTenant)
  // As many rules as a project may have, with as many tests as one may have, none of which holds.
  const any = Array.from({ length: 20 }, (_, n) => ({ any: [{ in: { actor_type: [`a${n}`] } }, { in: { resource_type: [`r${n}`] } }] }))
  await world.sql(
    `insert into policy_constraints (constraint_id, version, key, scope_type, project_id, actions, condition, time_zone, is_locked, state, created_at)
     select gen_random_uuid(), 1, 'dear-' || n, 'project', '${projectId(0)}', '{allocation.*}', '${JSON.stringify({ any })}', 'UTC', false, 'active', now()
       from generate_series(1, 200) n`,
  )
  await world.sql(
    `insert into audit_logs (chain_id, seq, id, occurred_at, correlation_id, actor_type, actor_id, tenant_id, resource_type, resource_id, resource_name, action, result, severity, metadata, hash)
     select '${tenantId(0)}', 1000000 + n, gen_random_uuid(), now(), gen_random_uuid()::text, 'user', '${tenantId(0)}', '${tenantId(0)}', 'project', gen_random_uuid()::text,
            'gpuaas:local:-:iam/project', 'project.update', 'success', 'info', '{"name":{"from":"a","to":"b"},"reason":null}', decode(repeat('ab', 32), 'hex')
       from generate_series(1, ${audit_rows}) n`,
  )
  const accountsOf = async (tenant: number): Promise<Account[]> => {
    const accounts: Account[] = []
    for (let n = 0; n < accounts_per_tenant; n += 1) accounts.push(await addAccount(world, tenant, `bench-${tenant}-${n}`))
    return accounts
  }
  const [noisy_accounts, other_accounts] = [await accountsOf(0), await accountsOf(1)]
  await world.sql('analyze')
  const server = await startOurs(world, issuer)
  const all = Object.entries(await noises(noisy_accounts)).filter(([name]) => wanted.length === 0 || wanted.includes(name))
  const quiet = child('./decide/load.ts')
  const noisy = all.map(() => child('./decide/load.ts'))
  try {
    const port = Number(new URL(server.url).port)
    const others = await Promise.all(Array.from({ length: peoplePerTenant }, (_, person) => bearer(peoplePerTenant + person)))
    const asked = { action: 'tenant.read', resource: { type: 'organization', id: tenantId(1) } }
    const calm: Record<string, readonly string[]> = {
      'a decision': [post(decide.path, others[10]!, asked)],
      'a list': others.map((head) => get(`/api/v1/orgs/${tenantId(1)}/projects`, head)),
      'a token': issuances(other_accounts, scope),
    }
    const figures = new Map<string, Figures[]>()
    const note = (name: string, of: Figures) => figures.set(name, [...(figures.get(name) ?? []), of])
    // The first round only warms up.
    for (let round = 0; round <= rounds; round += 1)
      for (const [name, requests] of Object.entries(calm)) {
        const alone = await run(quiet, { port, requests, connections: 1, seconds })
        const under_way = all.map(([, kind], n) => run(noisy[n]!, { port, ...kind, seconds: seconds + 1 }))
        const beside = await run(quiet, { port, requests, connections: 1, seconds })
        const heavy = await Promise.all(under_way)
        if (round === 0) continue
        note(`${name}, alone`, alone)
        note(`${name}, beside it`, beside)
        for (const [n, [noise]] of all.entries()) note(`the noisy tenant: ${noise}`, heavy[n]!)
      }
    const p50 = (name: string) => median(figures.get(name)!.map(({ p50_ms }) => p50_ms))
    const rows = [...figures].map(([name, of]) => [
      ...[name, p50(name).toFixed(2), median(of.map(({ p99_ms }) => p99_ms)).toFixed(2)],
      ...[median(of.map(({ per_second }) => per_second)).toFixed(0), JSON.stringify(of.map(({ statuses }) => statuses))],
    ])
    console.log(`\n${table(['caller', 'p50 ms', 'p99 ms', 'a second', 'answers'], rows)}\n`)
    for (const name of Object.keys(calm)) {
      const ratio = p50(`${name}, beside it`) / p50(`${name}, alone`)
      const refused = figures.get(`${name}, beside it`)!.some(({ statuses }) => Object.keys(statuses).some((status) => status !== '200'))
      const is_kept = ratio <= most_ratio && !refused
      console.log(
        `${is_kept ? 'kept  ' : 'broken'}  ${name} of others: at most ${most_ratio} times their quiet p50, never refused: ${ratio.toFixed(2)} times`,
      )
      if (!is_kept) process.exitCode = 1
    }
  } finally {
    await server.stop()
    for (const generator of [quiet, ...noisy]) await ended(generator)
  }
} finally {
  await world.stop()
  await issuer.stop()
}
