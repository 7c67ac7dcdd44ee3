import pg from 'pg'
import { afterAll, expect, inject, test } from 'vitest'
import { actions } from '../../server/src/rails/authz/actions.ts'
import { databaseFixture } from '../postgres.ts'
import { allKeys } from './keys.ts'
import { sentencesBySource } from './platform-role-sentences.ts'
import { builtinRoles, noRows, type PlatformRoleSource, prepareQuestions, type Rows, referenceVerdicts, writeBatch } from './rows.ts'
import { draftOf } from './sentence-draft.ts'
import { type Sentence, sentences } from './sentences.ts'
import type { Builtins } from './worlds.ts'

let client: pg.Client
let builtins: Builtins
databaseFixture(async ({ appUrl }) => {
  const url = Object.assign(new URL(inject('postgres').superuserUrl), { pathname: new URL(appUrl).pathname })
  client = new pg.Client({ connectionString: url.href })
  await client.connect()
  await prepareQuestions(client)
  builtins = await builtinRoles(client)
})
afterAll(() => client.end())

test('DE-08 the reference is asked about every action of the registry', () => {
  expect(allKeys.toSorted()).toEqual(Object.keys(actions).toSorted())
})
let laid = 0
/** The answer of the reference to each sentence, in the form of the sentences. */
const answers = async (told: Sentence[], platform_role_source: PlatformRoleSource): Promise<string[]> => {
  const drafts = told.map(([, , change]) => {
    laid += 1
    const draft = draftOf(laid, builtins)
    change(draft)
    return draft
  })
  const rows = noRows()
  for (const draft of drafts) for (const name of Object.keys(rows) as (keyof Rows)[]) rows[name].push(...(draft.rows[name] as never[]))
  await writeBatch(client, { rows, platform_role_source, disabled_builtins: [], forced_keys: [] })
  const verdicts = await referenceVerdicts(
    client,
    drafts.map(({ question }) => question),
  )
  return verdicts.map(({ decision, reason_code, applied_scope, policy_source, break_glass_id }, at) => {
    const answer = [reason_code ?? decision, applied_scope, policy_source, ...(break_glass_id ? ['elevated'] : [])].join(' ')
    return `${told[at]![0]}: ${answer}`
  })
}
const expected = (told: Sentence[]) => told.map(([title, answer]) => `${title}: ${answer}`)

test('RP-14 DE-04 DE-21 DE-22 DE-23 the reference itself answers as the specification says', async () => {
  expect(await answers(sentences, 'bindings')).toEqual(expected(sentences))
})

test.each(Object.entries(sentencesBySource))('RP-25 the reference hears of platform roles what %s say', async (source, told) => {
  expect(await answers(told, source as PlatformRoleSource)).toEqual(expected(told))
})
