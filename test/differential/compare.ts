import type pg from 'pg'
import type { Database } from '../../server/src/ground/db/database.ts'
import { judge } from './engine.ts'
import type { Question, Verdict } from './question.ts'
import { referenceVerdicts, writeBatch } from './rows.ts'
import { rowsOf, type World, type WorldBatch } from './worlds.ts'

export interface Sides {
  /** A superuser's connection: writes the worlds and asks the reference. */
  client: pg.Client
  /** The application's own. */
  database: Database
}

export interface Mismatch {
  world: World
  question: Question
  engine: Verdict
  reference: Verdict
}

const outputs = ['decision', 'reason_code', 'applied_scope', 'policy_source', 'break_glass_id'] as const

export const agree = (one: Verdict, other: Verdict): boolean => outputs.every((name) => one[name] === other[name])

/**
 * Where the question lies, from the rows. The engine is asked about places; making a place of what a caller says is the business of
 * the endpoints, while the reference does both.
 */
const placed = (question: Question, orgOf: ReadonlyMap<string, string>): Question => {
  const { resource_type, resource_id } = question
  const tenant_id = question.tenant_id ?? (resource_type === 'organization' ? resource_id : null)
  const project_id = question.project_id ?? (resource_type === 'project' ? resource_id : null)
  if (project_id === null) return { ...question, tenant_id, project_id }
  const org = orgOf.get(project_id)
  if (org === undefined || (tenant_id !== null && tenant_id !== org)) return { ...question, tenant_id: null, project_id: null }
  return { ...question, tenant_id: org, project_id }
}

/** Writes a batch and asks the reference: the questions as the engine is to be asked, and what is expected of it. */
export const expectBatch = async (client: pg.Client, batch: WorldBatch): Promise<{ questions: Question[]; expected: Verdict[] }> => {
  const rows = rowsOf(batch)
  await writeBatch(client, { ...batch, rows })
  const questions = batch.worlds.flatMap((world) => world.questions)
  const orgOf = new Map(rows.projects.map(({ id, org_id }) => [id, org_id]))
  return { questions: questions.map((question) => placed(question, orgOf)), expected: await referenceVerdicts(client, questions) }
}

/** Both answers to every question of a batch. */
export const askBatch = async ({ client, database }: Sides, batch: WorldBatch) => {
  const { questions, expected } = await expectBatch(client, batch)
  const answers = await judge(database, questions)
  if (answers.length !== questions.length) throw new Error(`${questions.length} questions, ${answers.length} answers`)
  const asked = batch.worlds.flatMap((world) => world.questions.map((question) => ({ world, question })))
  const mismatches = asked.flatMap(({ world, question }, at): Mismatch[] =>
    agree(answers[at]!, expected[at]!) ? [] : [{ world, question, engine: answers[at]!, reference: expected[at]! }],
  )
  return { reference: expected, mismatches }
}
