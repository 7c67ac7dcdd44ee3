import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { IssuerSettings } from '../../server/src/people/principals/oidc/issuer-settings.ts'
import { bundleOf } from '../bundles.ts'
import { spend } from '../spent.ts'
import type { Build } from './builds.ts'
import type { Point } from './statement-faults.ts'

/** Where a process ends itself: in a writing transaction, or while it answers. */
export type KillPoint = Point | { readonly at: 'mid_answer' | 'after_answer' }

/** By the id of the request: when each of them is at its point, the process ends. */
export type Arms = Readonly<Record<string, KillPoint>>

export interface Settings {
  readonly appUrl: string
  readonly issuer: IssuerSettings
  readonly keys: string
  readonly cursorKey: string
  readonly build: Build
  readonly logLevel: string
  /** Nodes may come to it. */
  readonly has_door?: boolean
  /** Otherwise it waits as long as a busy machine needs. */
  readonly deadlines?: { readonly decision_ms: number; readonly statement_ms: number; readonly round_trip_ms: number }
}

export type Order = { settings: Settings } | { arm: Arms } | { count: true }
export type Report = { port: number; door: string | null } | { armed: true } | { statements: number }

const compiled = fileURLToPath(new URL('../../node_modules/.cache/gatehouse/compiled', import.meta.url))

let started = 0

/** The database's name for a process's connections, so that one can see when the last of them is gone. */
const calling = (url: string, name: string): string => {
  const named = new URL(url)
  named.searchParams.set('application_name', name)
  return named.href
}

/** A real server in a process of its own, on a free port. */
export const startServerProcess = (settings: Settings) => spend('process starts', () => forkServer(settings))

const forkServer = async (settings: Settings) => {
  started += 1
  const name = `gatehouse-${process.pid}-${started}`
  const child = fork(await bundleOf('faulty-server'), [], {
    execArgv: [],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { NODE_COMPILE_CACHE: compiled },
  })
  const output: string[] = []
  child.stdout?.on('data', (bytes: Buffer) => output.push(bytes.toString('utf8')))
  child.stderr?.on('data', (bytes: Buffer) => output.push(bytes.toString('utf8')))
  // On `close`, not `exit`: by then all that it said has been read.
  const gone = new Promise<void>((resolve) => child.once('close', () => resolve()))

  const ask = async <R extends Report>(order: Order): Promise<R> => {
    const answer = once(child, 'message') as Promise<[R]>
    const ended = gone.then(() => {
      throw new Error(`the server process ended: ${output.join('').slice(-2000)}`)
    })
    child.send(order)
    return Promise.race([answer.then(([report]) => report), ended])
  }
  const { port, door } = await ask<{ port: number; door: string | null }>({
    settings: { ...settings, appUrl: calling(settings.appUrl, name) },
  })
  return {
    url: `http://127.0.0.1:${port}`,
    door,
    name,
    pid: child.pid!,
    gone,
    arm: (arm: Arms) => ask<{ armed: true }>({ arm }),
    /** How many statements the last writing transaction had. */
    statements: async () => (await ask<{ statements: number }>({ count: true })).statements,
    output: () => output.join(''),
    isAlive: () => child.exitCode === null && child.signalCode === null,
    kill: async () => {
      child.kill('SIGKILL')
      await gone
    },
  }
}

export type ServerProcess = Awaited<ReturnType<typeof startServerProcess>>

/** So many processes in all, a few of them always started in advance: a start costs far more than a request. */
export const serverPool = (start: () => Promise<ServerProcess>, spare: number, total: number) => {
  const waiting: Promise<ServerProcess>[] = []
  let left = total
  const fill = () => {
    for (; waiting.length < spare && left > 0; left -= 1) {
      const one = start()
      one.catch(() => {})
      waiting.push(one)
    }
  }
  fill()
  return {
    take: (): Promise<ServerProcess> => {
      const next = waiting.shift()
      if (!next) throw new Error('the pool of servers is used up')
      fill()
      return next
    },
  }
}
