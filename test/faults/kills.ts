import { setTimeout as sleep } from 'node:timers/promises'
import type { Build } from './builds.ts'
import { judgeIntent, judgeSettled, judgeWorld } from './judge.ts'
import { type KillPoint, type ServerProcess, serverPool } from './server-process.ts'
import { nameOf } from './statement-faults.ts'
import type { FaultWorld } from './world.ts'

export interface Case {
  readonly operation: string
  readonly point: KillPoint
}

export interface Tally {
  kills: number
  /** The client had no answer: it cannot know. */
  unknown: number
  /** It had not happened, and did when asked for again; or it had, and did not happen again. */
  absent: number
  present: number
  answered: number
  faults: string[]
}

/** How many statements the operation's transaction has, found by doing it once. */
export const countStatements = async (world: FaultWorld, calm: ServerProcess, operation: string): Promise<number> => {
  const asking = await world.prepare(operation, world.stageOn(calm.url))
  await calm.arm(null)
  const answer = await world.ask(calm.url, world.intend(operation, asking))
  if (!answer || answer.status >= 300) throw new Error(`${operation} was to be rehearsed, and answered ${answer?.status}`)
  return calm.statements()
}

/** Every point there is in an operation with so many statements. */
export const allPoints = (statements: number): KillPoint[] => [
  { at: 'before_transaction' },
  ...Array.from({ length: statements }, (_, index) => index + 1).flatMap((statement): KillPoint[] => [
    { at: 'before', statement },
    { at: 'during', statement },
    { at: 'after', statement },
  ]),
  { at: 'before_commit' },
  { at: 'during_commit' },
  { at: 'after_commit' },
  { at: 'mid_answer' },
  { at: 'after_answer' },
]

/** The points where most mistakes would show. */
export const fewPoints = (statements: number): KillPoint[] => [
  { at: 'during', statement: Math.ceil((statements * 2) / 3) },
  { at: 'during_commit' },
  { at: 'after_commit' },
]

interface Servers {
  /** Sets the scene: the product as it is. */
  readonly calm: ServerProcess
  /** Of the build that is judged, and lives: it is asked again. */
  readonly next: ServerProcess
  readonly victim: ServerProcess
}

/** One operation, one kill, the judge, the same request again (twice) on a server that lives, and the judge. */
const killOnce = async (world: FaultWorld, { calm, next, victim }: Servers, { operation, point }: Case, tally: Tally) => {
  const where = `${operation}, killed ${nameOf(point)}`
  const asking = await world.prepare(operation, world.stageOn(calm.url))
  await victim.arm(point)
  const intent = world.intend(operation, asking)
  const answer = await world.ask(victim.url, intent)
  const isKilled = await Promise.race([victim.gone.then(() => true), sleep(5000).then(() => false)])
  if (!isKilled) {
    await victim.kill()
    tally.faults.push(`${where}: the point was never reached`)
    return
  }
  tally.kills += 1
  await world.forgotten(victim)
  const { happened, faults } = await judgeIntent(world.sql, world.journal.of(intent))
  if (answer) tally.answered += 1
  else tally.unknown += 1
  if (happened) tally.present += 1
  else tally.absent += 1
  for (let again = 0; again < 2; again += 1) await world.ask(next.url, intent)
  const settled = await judgeSettled(world.sql, world.journal.of(intent))
  tally.faults.push(...[...faults, ...settled].map((fault) => `${where}: ${fault}`))
}

interface Run {
  readonly calm: ServerProcess
  readonly build?: Build
  readonly lanes?: number
  readonly told?: (tally: Tally) => void
}

/** Runs the cases in a few lanes, each with a server of its own to kill, and judges the whole world at the end. */
export const runKills = async (world: FaultWorld, cases: readonly Case[], run: Run): Promise<Tally> => {
  const { calm, build = 'sound', lanes = 2, told = () => {} } = run
  const tally: Tally = { kills: 0, unknown: 0, absent: 0, present: 0, answered: 0, faults: [] }
  const pool = serverPool(() => world.start({ build }), lanes, cases.length)
  const next = build === 'sound' ? calm : await world.start({ build })
  const waiting = [...cases]
  const lane = async () => {
    for (let one = waiting.shift(); one; one = waiting.shift()) {
      await killOnce(world, { calm, next, victim: await pool.take() }, one, tally)
      told(tally)
    }
  }
  await Promise.all(Array.from({ length: lanes }, lane))
  if (next !== calm) {
    await next.kill()
    await world.forgotten(next)
  }
  tally.faults.push(...(await judgeWorld(world, world.journal.read())))
  return tally
}
