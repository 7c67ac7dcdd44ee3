// What several benches start, put under load and end: the product, what it is compared with, and the process that asks them.
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { LocalIssuer } from '@gatehouse/server/people/principals/oidc/testing/local-issuer'
import { realServer } from '../canaries/real-server.ts'
import type { Figures, Plan } from './decide/load.ts'
import { median } from './decide/measure.ts'
import type { World } from './decide/world.ts'

/** A process of its own, by the path of its file from here. */
export const child = (file: string): ChildProcess =>
  fork(fileURLToPath(new URL(file, import.meta.url)), [], { execArgv: [], stdio: ['ignore', 'inherit', 'inherit', 'ipc'] })

export const ended = async (process: ChildProcess): Promise<void> => {
  // What ended by itself is not there to be told, and why it did is what the bench must end with.
  if (process.exitCode !== null || process.signalCode !== null) return
  const exit = once(process, 'exit')
  if (process.connected) process.disconnect()
  await exit
}

/** The product by its own main file, on this world's database. */
export const startOurs = async (world: World, issuer: LocalIssuer) =>
  realServer({
    GATEHOUSE_PROFILE: 'development',
    GATEHOUSE_LOG_LEVEL: 'warn',
    GATEHOUSE_OIDC_ISSUERS: JSON.stringify([issuer.settings]),
    GATEHOUSE_KEY_ENCRYPTION_KEYS: world.keys,
    GATEHOUSE_CHECKPOINT_FILE: join(world.folder, 'checkpoints.jsonl'),
    DATABASE_URL: world.appUrl,
    ...(process.env.NODE_OPTIONS ? { NODE_OPTIONS: process.env.NODE_OPTIONS } : {}),
  })

export interface Measured extends Figures {
  /** Processor time of the server for one request. */
  readonly cpu_us: number
}

const cpuSeconds = async (port: number): Promise<number> => {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text()
  return Number(/^process_cpu_seconds_total ([\d.e+-]+)/m.exec(text)?.[1])
}

/** Ours serves its metrics apart; what it is compared with serves them on the port that is asked. */
export const load = async (generator: ChildProcess, plan: Plan, metrics_port = plan.port): Promise<Measured> => {
  const before = await cpuSeconds(metrics_port)
  const answer = once(generator, 'message') as Promise<[Figures]>
  generator.send(plan)
  const [figures] = await answer
  const odd = Object.keys(figures.statuses).filter((status) => status !== '200')
  if (odd.length > 0) throw new Error(`not every request was answered: ${JSON.stringify(figures.statuses)}`)
  return { ...figures, cpu_us: (((await cpuSeconds(metrics_port)) - before) * 1e6) / figures.statuses['200']! }
}

const figureNames = ['per_second', 'p50_ms', 'p99_ms', 'cpu_us'] as const
export const medianOf = (rounds: readonly Measured[]) =>
  Object.fromEntries(figureNames.map((name) => [name, median(rounds.map((round) => round[name]))])) as Record<
    (typeof figureNames)[number],
    number
  >
