import { setTimeout as sleep } from 'node:timers/promises'
import type { Build } from './builds.ts'
import { judgeIntent, judgeSettled, judgeWorld } from './judge.ts'
import { recipes } from './recipes.ts'
import { type KillPoint, type ServerProcess, serverPool } from './server-process.ts'
import { nameOf } from './statement-faults.ts'
import type { FaultWorld } from './world.ts'

export interface Case {
  readonly operation: string
  readonly point: KillPoint
}

export interface Tally {
  kills: number
  /** Operations that were under way in a process when it was killed. */
  interrupted: number
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

/** The points where most mistakes would show: some of them, the others in the next turn. */
export const fewPoints = (statements: number, turn: number): KillPoint[] => [
  ...(turn % 2 === 0
    ? [{ at: 'during', statement: Math.ceil((statements * 2) / 3) } as const]
    : [{ at: 'before_commit' } as const, { at: 'during_commit' } as const]),
  { at: 'after_commit' },
]

interface Servers {
  /** Sets the scene: the product as it is. */
  readonly calm: ServerProcess
  /** Of the build that is judged, and lives: it is asked again. */
  readonly next: ServerProcess
  readonly victim: ServerProcess
}

/**
 * Asks for each case, kills the process when all of them are at their points, judges, asks again (twice) of a server that lives,
 * and judges again.
 */
const killOnce = async (world: FaultWorld, { calm, next, victim }: Servers, cases: readonly Case[], tally: Tally) => {
  const asked = []
  for (const { operation, point } of cases) {
    const asking = await world.prepare(operation, world.stageOn(calm.url))
    const where = `${operation}, killed ${nameOf(point)}`
    asked.push({ intent: world.intend(operation, asking), id: world.newCorrelation(), point, where })
  }
  await victim.arm(Object.fromEntries(asked.map(({ id, point }) => [id, point])))
  const answers = Promise.all(asked.map(({ intent, id }) => world.ask(victim.url, intent, id)))
  // Time counts only once everybody has been answered: a busy machine may take long to bring a request to its point.
  const isKilled = await Promise.race([victim.gone.then(() => true), answers.then(() => sleep(28_000)).then(() => false)])
  if (!isKilled) {
    await victim.kill()
    tally.faults.push(`not all of them came to their point: ${asked.map(({ where }) => where).join('; ')}`)
    return
  }
  tally.kills += 1
  await world.forgotten(victim)
  for (const [index, answer] of (await answers).entries()) {
    const { intent, where } = asked[index]!
    const { happened, faults } = await judgeIntent(world.sql, world.journal.of(intent))
    tally.interrupted += 1
    if (answer) tally.answered += 1
    else tally.unknown += 1
    if (happened) tally.present += 1
    else tally.absent += 1
    for (let again = 0; again < 2; again += 1) await world.ask(next.url, intent)
    const settled = await judgeSettled(world.sql, world.journal.of(intent))
    tally.faults.push(...[...faults, ...settled].map((fault) => `${where}: ${fault}`))
  }
}

/**
 * Puts cases together that do not wait for each other's locks, so that one process can be killed in all of them. One lock a batch at
 * most, whichever it is: with two, the batches of two lanes could wait for each other for ever.
 */
const batched = (cases: readonly Case[], most: number): Case[][] => {
  const batches: Case[][] = []
  for (const one of cases) {
    const { lock } = recipes[one.operation]!
    const fits = (batch: Case[]) => batch.length < most && !(lock && batch.some(({ operation }) => recipes[operation]!.lock))
    const batch = batches.find(fits)
    if (batch) batch.push(one)
    else batches.push([one])
  }
  return batches
}

interface Run {
  readonly calm: ServerProcess
  readonly build?: Build
  readonly lanes?: number
  /** How many operations a process is killed in. */
  readonly together?: number
  readonly told?: (tally: Tally) => void
}

/** Runs the cases in a few lanes, each with a server of its own to kill, and judges the whole world at the end. */
export const runKills = async (world: FaultWorld, cases: readonly Case[], run: Run): Promise<Tally> => {
  const { calm, build = 'sound', lanes = 2, together = 1, told = () => {} } = run
  const tally: Tally = { kills: 0, interrupted: 0, unknown: 0, absent: 0, present: 0, answered: 0, faults: [] }
  const waiting = batched(cases, together)
  const pool = serverPool(() => world.start({ build }), lanes, waiting.length)
  const next = build === 'sound' ? calm : await world.start({ build })
  let last: Promise<unknown> = Promise.resolve()
  const lane = async () => {
    for (let one = waiting.shift(); one; one = waiting.shift()) {
      const batch = one
      const kill = async () => killOnce(world, { calm, next, victim: await pool.take() }, batch, tally)
      if (batch.some(({ operation }) => recipes[operation]!.is_alone)) {
        // In turn, across the lanes.
        last = last.then(kill)
        await last
      } else await kill()
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
