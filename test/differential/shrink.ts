import { askBatch, type Sides } from './compare.ts'
import type { Question } from './question.ts'
import { clearBatches, type Rows, tableNames } from './rows.ts'
import type { WorldBatch } from './worlds.ts'

/** Everything that could be left out of a batch with one question, one thing at a time. */
const smaller = function* (batch: WorldBatch): Generator<WorldBatch> {
  const [world] = batch.worlds
  const { rows, questions } = world!
  const question = questions[0]!
  const asking = (changed: Partial<Question>): WorldBatch => ({
    ...batch,
    worlds: [{ ...world!, questions: [{ ...question, ...changed }] }],
  })
  const holding = (changed: Partial<Rows>): WorldBatch => ({ ...batch, worlds: [{ ...world!, rows: { ...rows, ...changed } }] })
  const without = <T>(list: readonly T[], at: number): T[] => list.filter((_, index) => index !== at)
  for (let at = 0; at < batch.globals.length; at += 1) yield { ...batch, globals: without(batch.globals, at) }
  for (let at = 0; at < batch.disabled_builtins.length; at += 1) yield { ...batch, disabled_builtins: without(batch.disabled_builtins, at) }
  if (batch.platform_role_source !== 'bindings') yield { ...batch, platform_role_source: 'bindings' }
  if (batch.forced_keys.length > 0) yield { ...batch, forced_keys: [] }
  for (const name of tableNames)
    for (let at = 0; at < rows[name].length; at += 1) yield holding({ [name]: without<object>(rows[name], at) })
  for (let at = 0; at < rows.policy_constraints.length; at += 1) {
    const one = rows.policy_constraints[at]!
    for (const name of Object.keys(one.condition)) {
      const condition = Object.fromEntries(Object.entries(one.condition).filter(([other]) => other !== name))
      yield holding({ policy_constraints: rows.policy_constraints.map((rule, index) => (index === at ? { ...rule, condition } : rule)) })
    }
  }
  for (let at = 0; at < question.elevations.length; at += 1) yield asking({ elevations: without(question.elevations, at) })
  if (question.relations?.length) yield asking({ relations: [] })
  if (question.token) yield asking({ token: null })
  for (const name of Object.keys(question.attributes))
    yield asking({ attributes: Object.fromEntries(Object.entries(question.attributes).filter(([other]) => other !== name)) })
}

/** Leaves out what does not matter, as long as the two sides still differ about the world's question. */
export const shrink = async (sides: Sides, found: WorldBatch): Promise<{ batch: WorldBatch; attempts: number }> => {
  let batch = found
  let attempts = 0
  const differs = async (candidate: WorldBatch): Promise<boolean> => {
    attempts += 1
    await clearBatches(sides.client)
    return (await askBatch(sides, candidate)).mismatches.length > 0
  }
  for (let isSmaller = true; isSmaller && attempts < 400; ) {
    isSmaller = false
    for (const candidate of smaller(batch)) {
      if (!(await differs(candidate))) continue
      batch = candidate
      isSmaller = true
      break
    }
  }
  return { batch, attempts }
}
