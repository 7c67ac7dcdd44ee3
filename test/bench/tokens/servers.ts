import { readFileSync } from 'node:fs'
import type { LocalIssuer } from '@gatehouse/server/people/principals/oidc/testing/local-issuer'
import { median } from '../decide/measure.ts'
import type { World } from '../decide/world.ts'
import { child, ended, load, type Measured, medianOf, startOurs } from '../servers.ts'
import { type Account, clientsLike, populate } from './accounts.ts'
import { peerSchema } from './peer-adapter.ts'
import { startPeer } from './peers.ts'

export const connections = 64
const seconds = 5
const rounds = 3

/** What a token of both may do; asked for by name, so that both have as long a list. */
export const scope = 'allocation.create allocation.read allocation.release storage.read storage.write'

/** Hundredths of a second that a process has used, and its children that are gone. */
const ticksOf = (pid: number | string): number =>
  readFileSync(`/proc/${pid}/stat`, 'latin1')
    .split(') ')[1]!
    .split(' ')
    .slice(11, 15)
    .reduce((sum, each) => sum + Number(each), 0)

/** Processor time of PostgreSQL with all its processes; what a server leaves to the database is not for nothing. */
const postgresMicroseconds = (pid: number): number => {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim().split(' ')
  return [pid, ...children].reduce((sum: number, each) => sum + ticksOf(each), 0) * 10_000
}

/** Ours and the peer twice, on one PostgreSQL, and a process that asks them. */
export const startAll = async (world: World, issuer: LocalIssuer) => {
  const accounts = await populate(world)
  await world.sql(peerSchema)
  const clients = clientsLike(accounts)
  const [keeper] = clientsLike([{ id: 'keeper' } as Account]) as [{ id: string; secret: string }]
  const plan = { clients, keeper, audience: 'gpuaas-api', scope, ttl_seconds: 3600 }
  const written = await startPeer({ ...plan, database_url: world.appUrl })
  const remembered = await startPeer({ ...plan, database_url: null })
  const server = await startOurs(world, issuer)
  const generator = child('./decide/load.ts')
  generator.once('exit', (code) => {
    if (code) throw new Error('the load generator ended')
  })
  const ours = Number(new URL(server.url).port)
  return {
    accounts,
    clients,
    keeper,
    ports: { ours, written: written.port, remembered: remembered.port },
    load: async (port: number, requests: readonly string[]): Promise<Loaded> => {
      const before = postgresMicroseconds(world.postgres_pid)
      const metrics_port = port === ours ? server.metrics_port : port
      const measured = await load(generator, { port, requests, connections, seconds }, metrics_port)
      return { ...measured, postgres_us: (postgresMicroseconds(world.postgres_pid) - before) / measured.statuses['200']! }
    },
    stop: async () => {
      await server.stop()
      await written.stop()
      await remembered.stop()
      await ended(generator)
    },
  }
}
export type Servers = Awaited<ReturnType<typeof startAll>>

export interface Contestant<Name extends string> {
  readonly name: Name
  readonly port: number
  readonly requests: readonly string[]
}

interface Loaded extends Measured {
  /** Processor time of PostgreSQL for one request. */
  readonly postgres_us: number
}

export interface Measurement extends ReturnType<typeof medianOf> {
  readonly postgres_us: number
  /** In all rounds, the warming one too. */
  readonly answered: number
}

/** Each in its turn, three times; the first time only warms up. */
export const inTurns = async <Name extends string>(
  { load }: Pick<Servers, 'load'>,
  contestants: readonly Contestant<Name>[],
): Promise<Map<Name, Measurement>> => {
  const measured = new Map<Name, Loaded[]>(contestants.map(({ name }) => [name, []]))
  for (let round = 0; round <= rounds; round += 1)
    for (const { name, port, requests } of contestants) measured.get(name)!.push(await load(port, requests))
  return new Map(
    [...measured].map(([name, all]) => [
      name,
      {
        ...medianOf(all.slice(1)),
        postgres_us: median(all.slice(1).map(({ postgres_us }) => postgres_us)),
        answered: all.reduce((sum, { statuses }) => sum + statuses['200']!, 0),
      },
    ]),
  )
}

/** One request sent by itself, and what came back. */
export const sendRaw = async (port: number, request: string): Promise<Record<string, unknown>> => {
  const [head = '', body = ''] = request.split('\r\n\r\n')
  const [first = '', ...lines] = head.split('\r\n')
  const [method = '', path = ''] = first.split(' ')
  const headers = Object.fromEntries(
    lines.map((line) => line.split(': ') as [string, string]).filter(([name]) => !/^(host|content-length)$/.test(name)),
  )
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, body })
  const text = await response.text()
  if (response.status !== 200) throw new Error(`${path} answered ${response.status} ${text}`)
  return JSON.parse(text)
}

export const row = (name: string, { per_second, p50_ms, p99_ms, cpu_us, postgres_us }: Measurement, ours: Measurement) => [
  name,
  per_second.toFixed(0),
  per_second === ours.per_second ? '' : `${(ours.per_second / per_second).toFixed(2)}×`,
  p50_ms.toFixed(1),
  p99_ms.toFixed(1),
  cpu_us.toFixed(0),
  postgres_us.toFixed(0),
]
export const head = (what: string) => [what, 'per second', 'gatehouse is', 'p50 ms', 'p99 ms', 'server’s CPU µs', 'PostgreSQL’s']
