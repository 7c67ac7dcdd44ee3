import pg from 'pg'
import { openDatabase } from '../../server/src/ground/db/database.ts'
import { unhurried } from '../unhurried.ts'
import { askBatch, type Mismatch, type Sides } from './compare.ts'
import { builtinRoles, clearBatches, prepareQuestions } from './rows.ts'
import { shrink } from './shrink.ts'
import { type Builtins, batchOf, type WorldBatch } from './worlds.ts'

export interface Lane extends Sides {
  builtins: Builtins
  close(): Promise<void>
}

/** Two connections to one database of its own: a superuser's and the application's. */
export const openLane = async ({ superuserUrl, appUrl }: { superuserUrl: string; appUrl: string }): Promise<Lane> => {
  const client = new pg.Client({ connectionString: superuserUrl, application_name: 'gatehouse-test' })
  await client.connect()
  // A batch is thousands of questions in one statement: it may take its time, but compiling it would take longer.
  const uncompiled = new URL(appUrl)
  uncompiled.searchParams.set('options', '-c jit=off')
  const database = openDatabase({ url: uncompiled.href, max_connections: 2, ...unhurried.database })
  await prepareQuestions(client)
  const close = async () => {
    await client.end()
    await database.close()
  }
  return { client, database, builtins: await builtinRoles(client), close }
}

export interface Tally {
  worlds: number
  questions: number
  /** Answers by reason; an allow has none and counts as `allow`. */
  answers: Record<string, number>
  /** The same of machines, by their type and the reason. */
  of_machines: Record<string, number>
  mismatches: Mismatch[]
  /** The first world about which the two sides differed, with everything left out that does not matter. */
  smallest: WorldBatch | undefined
}

const count = (counted: Record<string, number>, name: string) => {
  counted[name] = (counted[name] ?? 0) + 1
}

/** Batches are taken by whichever lane is free, until there are none or the two sides differ. */
export const runBatches = async (lanes: readonly Lane[], batches: Iterable<WorldBatch>, told: (tally: Tally) => void = () => {}) => {
  const tally: Tally = { worlds: 0, questions: 0, answers: {}, of_machines: {}, mismatches: [], smallest: undefined }
  const waiting = batches[Symbol.iterator]()
  const drive = async (lane: Lane) => {
    while (tally.mismatches.length === 0) {
      const { value: batch, done } = waiting.next()
      if (done) return
      const { reference, mismatches } = await askBatch(lane, batch)
      tally.worlds += batch.worlds.length
      tally.questions += reference.length
      const questions = batch.worlds.flatMap((world) => world.questions)
      for (const [at, { reason_code }] of reference.entries()) {
        const [answer, { actor_type = 'user' }] = [reason_code ?? 'allow', questions[at]!]
        count(tally.answers, answer)
        if (actor_type !== 'user') count(tally.of_machines, `${actor_type} ${answer}`)
      }
      tally.mismatches.push(...mismatches)
      const [first] = mismatches
      if (first && !tally.smallest) {
        tally.smallest = batch
        const alone = { ...first.world, questions: [first.question] }
        tally.smallest = (await shrink(lane, { ...batch, worlds: [alone] })).batch
      }
      await clearBatches(lane.client)
      told(tally)
    }
  }
  await Promise.all(lanes.map(drive))
  return tally
}

/** So many random worlds from an index on, in batches that differ in what is global. */
export const randomBatches = function* (seed: number, worlds: number, builtins: Builtins, from = 0): Generator<WorldBatch> {
  const perBatch = 1000
  const end = from + worlds
  for (let first = from; first < end; first += perBatch) yield batchOf(seed, first, Math.min(perBatch, end - first), builtins)
}

const outputs = ['engine', 'reference', 'decision', 'reason_code', 'applied_scope', 'policy_source', 'break_glass_id']

/** What a report needs: both answers, and the world as JSON. */
export const described = ({ mismatches, smallest }: Tally): string =>
  [`${mismatches.length} differ, the first:`, JSON.stringify(mismatches[0], outputs), JSON.stringify(smallest)].join('\n')
