import { operations } from '../../contract/src/operations.ts'
import { judgeIntent, judgeWorld } from './judge.ts'
import { exempt, recipes } from './recipes.ts'
import type { Sql } from './replay/room.ts'
import { steps } from './replay.ts'
import { hashOf, tablesIn } from './state-hash.ts'
import type { FaultWorld } from './world.ts'

/** An operation that changes something and whose record nobody can do again: its effect would be compared with nothing. */
export const withoutStep = (): string[] => {
  const changes = operations.filter(({ id, effect }) => effect === 'change' && !Object.hasOwn(exempt, id)).map(({ id }) => id)
  return [...new Set([...changes, ...Object.keys(recipes)])].flatMap((id) =>
    (recipes[id]?.actions ?? [id]).filter((action) => !Object.hasOwn(steps, action)).map((action) => `${id} records ${action}`),
  )
}

/** Tables whose rows no judge compares, each because no operation writes it. `apartHash` holds that against the campaign. */
const apart: Readonly<Record<string, string>> = {
  installation: 'written when it is set up, and by checkpoints and restores, which these servers do not make',
  installation_secrets: 'each is made once, when a server first needs it',
  node_authorities: 'made once, when a server first starts',
  policy_definitions: 'written by migrations',
  schema_migrations: 'written by migrations',
  ssh_sessions: 'written with what nodes tell of sessions, and on these nobody has one',
  used_proofs: 'written with what clients sign, and no recipe signs anything; one statement each, tried where it is',
}

/** Tables that follow from others by triggers, and are proved where those are (`server/src/ground/epochs`). */
const following: ReadonlySet<string> = new Set(['epochs'])

/** The same before and after, or a reason above no longer holds and the table wants a judge. */
export const apartHash = (sql: Sql): Promise<string> => hashOf(sql, Object.keys(apart))

/** Lets the judges judge what was asked for so far, and says which tables they did not look at. */
export const tablesNotJudged = async (world: FaultWorld): Promise<string[]> => {
  const asked: string[] = []
  const sql: Sql = (text, values) => {
    asked.push(text)
    return world.sql(text, values)
  }
  const journal = world.journal.read()
  await judgeWorld({ ...world, sql }, journal)
  for (const [operation, wanted] of new Map([...journal.values()].map((each) => [each.intent.operation, each])))
    if (Object.hasOwn(recipes, operation)) await judgeIntent(sql, wanted)
  const isRead = (table: string) => asked.some((text) => new RegExp(`\\b(from|join)\\s+${table}\\b`).test(text))
  const tables = await tablesIn(world.sql)
  return [
    ...tables
      .filter((table) => !isRead(table) && !Object.hasOwn(apart, table) && !following.has(table))
      .map((table) => `nobody judges ${table}`),
    ...Object.keys(apart)
      .filter((table) => !tables.includes(table))
      .map((table) => `there is no ${table}`),
  ]
}
