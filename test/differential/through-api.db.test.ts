import { decide, decideBatch } from '@gatehouse/contract/decisions'
import { reasonCodes } from '@gatehouse/contract/reason-codes'
import pg from 'pg'
import { afterAll, expect, inject, test } from 'vitest'
import { serverFixture } from '../live-server.ts'
import { agree } from './compare.ts'
import type { Question, Verdict } from './question.ts'
import { builtinRoles, prepareQuestions, referenceVerdicts, writeBatch } from './rows.ts'
import { type Builtins, batchOf, rowsOf, type WorldBatch } from './worlds.ts'

const seed = Number(process.env.WORLDS_SEED ?? 20_260_102)
const worlds = 2_200
const perBatch = 550
const asker = 'ada'
/** The middle of the year in which all worlds lie. */
const midsummer = '2026-07-02T12:00:00.000Z'

let client: pg.Client
let builtins: Builtins
const live = serverFixture({ policies: { 'rate_limit.decision_requests_per_minute': 10_000_000 } }, async (live) => {
  const url = Object.assign(new URL(inject('postgres').superuserUrl), { pathname: new URL(live.clone.appUrl).pathname })
  client = new pg.Client({ connectionString: url.href, application_name: 'gatehouse-test' })
  await client.connect()
  await prepareQuestions(client)
  builtins = await builtinRoles(client)
})
afterAll(() => client.end())

/** What the API can be asked: actors without tokens, elevations and relations, at this moment, by somebody who may ask about everybody. */
const askable = (batch: WorldBatch): WorldBatch => {
  const now = Date.now()
  // What ends within seconds would end between the two answers.
  const moved = (instant: string | null, then: string) => {
    if (instant === null) return null
    const distance = Date.parse(instant) - Date.parse(then)
    return new Date(now + (Math.abs(distance) < 60_000 ? (distance > 0 ? 60_000 : -60_000) : distance)).toISOString()
  }
  return {
    ...batch,
    disabled_builtins: batch.disabled_builtins
      .filter(({ name }) => name !== 'platform_superadmin')
      .map(({ name, grace_until }) => ({ name, grace_until: moved(grace_until, midsummer) })),
    worlds: batch.worlds.map((world) => {
      const then = world.questions[0]!.now
      const ending = <R extends { expires_at: string | null }>(rows: R[]) =>
        rows.map((row) => ({ ...row, expires_at: moved(row.expires_at, then) }))
      return {
        ...world,
        rows: {
          ...world.rows,
          tenant_role_bindings: ending(world.rows.tenant_role_bindings),
          project_role_bindings: ending(world.rows.project_role_bindings),
          role_definitions: world.rows.role_definitions.map(({ grace_until, ...role }) =>
            grace_until === undefined ? role : { ...role, grace_until: moved(grace_until, then)! },
          ),
        },
        questions: world.questions.map((question) => ({
          ...question,
          token: null,
          relations: [],
          elevations: [],
          now: new Date(now).toISOString(),
          // The clock goes on between the two answers; the time that rules look at must not.
          attributes: Object.hasOwn(question.attributes, 'time') ? question.attributes : { ...question.attributes, time: question.now },
        })),
      }
    }),
  }
}

const asBody = ({ actor_type = 'user', actor_id, action, resource_type, resource_id, tenant_id, project_id, attributes }: Question) => ({
  actor: { type: actor_type, id: actor_id },
  action,
  resource: {
    type: resource_type,
    ...(resource_id === null ? {} : { id: resource_id }),
    ...(tenant_id === null ? {} : { tenant_id }),
    ...(project_id === null ? {} : { project_id }),
  },
  attributes,
})

const answered = async (questions: readonly Question[]): Promise<Verdict[]> => {
  const { status, body } = await live.ask(asker, decideBatch, { body: { questions: questions.map(asBody) } })
  if (status !== 200) throw new Error(`the batch was refused: ${JSON.stringify(body)}`)
  expect(body.revision).toMatch(/^\d+(?:\.\d+)*$/)
  return body.decisions
}

test('DE-02 DE-04 D1 two thousand worlds as rows, asked through the API, are decided as the reference says', {
  timeout: 300_000,
}, async () => {
  const told: Record<string, number> = {}
  let asked = 0
  for (let first = 0; first < worlds; first += perBatch) {
    const batch = askable(batchOf(seed, first, perBatch, builtins))
    await client.query(`set session_replication_role = replica; delete from policy_constraints; set session_replication_role = origin`)
    await writeBatch(client, { ...batch, rows: rowsOf(batch) })
    const questions = batch.worlds.flatMap((world) => world.questions)
    const expected = await referenceVerdicts(client, questions)
    for (let from = 0; from < questions.length; from += 100) {
      const some = questions.slice(from, from + 100)
      const said = await answered(some)
      for (const [index, verdict] of said.entries()) {
        const wanted = expected[from + index]!
        if (!agree(verdict, wanted)) expect({ question: some[index], verdict }).toEqual({ question: some[index], verdict: wanted })
        told[verdict.reason_code ?? 'allow'] = (told[verdict.reason_code ?? 'allow'] ?? 0) + 1
      }
      // A batch equals asking singly.
      const { body } = await live.ask(asker, decide, { body: asBody(some[0]!) })
      expect(agree(body, said[0]!)).toBe(true)
      asked += some.length
    }
  }
  expect(asked).toBeGreaterThanOrEqual(2_000)
  console.log(`seed ${seed}: ${worlds} worlds, ${asked} questions through the API`, told)
  for (const reason of [...reasonCodes, 'allow']) expect(told[reason] ?? 0, reason).toBeGreaterThanOrEqual(50)
})
