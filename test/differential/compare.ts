import type pg from 'pg'
import type { Database } from '../../server/src/db/database.ts'
import { judge } from './engine.ts'
import type { Question, Verdict } from './question.ts'
import { type Rows, referenceVerdicts, writeBatch } from './rows.ts'
import { rowsOf, type World, type WorldBatch } from './worlds.ts'

export interface Sides {
  /** A superuser's connection: writes the worlds and asks the reference. */
  client: pg.Client
  /** The application's own. */
  database: Database
}

export interface Mismatch {
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

/** Both answers to every question, about the worlds that are in the database now. */
const askBoth = async ({ client, database }: Sides, questions: readonly Question[], rows: Rows) => {
  const orgOf = new Map(rows.projects.map(({ id, org_id }) => [id, org_id]))
  const [reference, engine] = await Promise.all([
    referenceVerdicts(client, questions),
    judge(
      database,
      questions.map((question) => placed(question, orgOf)),
    ),
  ])
  if (engine.length !== questions.length) throw new Error(`${questions.length} questions, ${engine.length} answers`)
  const mismatches = questions.flatMap((question, at): Mismatch[] =>
    agree(engine[at]!, reference[at]!) ? [] : [{ question, engine: engine[at]!, reference: reference[at]! }],
  )
  return { reference, mismatches }
}

export const askBatch = async (sides: Sides, batch: WorldBatch) => {
  const rows = rowsOf(batch)
  await writeBatch(sides.client, { ...batch, rows })
  const questions = batch.worlds.flatMap((world) => world.questions)
  const { reference, mismatches } = await askBoth(sides, questions, rows)
  const worldOf = new Map<Question, World>(batch.worlds.flatMap((world) => world.questions.map((question) => [question, world])))
  return { reference, mismatches: mismatches.map((mismatch) => ({ ...mismatch, world: worldOf.get(mismatch.question)! })) }
}
