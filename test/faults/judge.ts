import { isDeepStrictEqual } from 'node:util'
import type { Attempt, Wanted } from './journal.ts'
import { actionsOf, isKeyed, operationOf, recipes } from './recipes.ts'
import type { Sql } from './replay/room.ts'
import { readRecord, readState, replayFaults, type State, steps } from './replay.ts'
import { steadily } from './steadily.ts'

const isGood = (status: number) => status >= 200 && status < 300
/** OAuth has no name for it, but the status is the same. */
const isToldBefore = (operation: string, status: number, body: unknown): boolean =>
  operationOf(operation).speaks === 'oauth' ? status === 409 : (body as { code?: string } | null)?.code === 'credential_already_issued'

/** A secret is shown once: who asks again is told that it was made, and which one it is. */
const isSettled = (operation: string, { status, body }: NonNullable<Attempt['answer']>): boolean =>
  isGood(status) || (operationOf(operation).is_secret_reply && isToldBefore(operation, status, body))

export interface Verdict {
  /** Whether it happened; null where that cannot be said, which is itself a fault. */
  readonly happened: boolean | null
  readonly faults: readonly string[]
}

const countEffect = async (sql: Sql, { intent }: Wanted) => {
  const counted = []
  for (const { what, text, values } of recipes[intent.operation]!.effect(intent))
    counted.push({ what, n: (await sql<{ n: number }>(text, [...values]))[0]!.n })
  return counted
}

const countRows = async (sql: Sql, { intent, attempts }: Wanted) => {
  const rows = await sql<{ action: string; correlation_id: string }>(
    `select action, correlation_id from audit_logs
      where result = 'success' and (correlation_id = any($1) or metadata ->> 'reason' = $2)`,
    [attempts.map(({ correlation_id }) => correlation_id), intent.body.reason ?? null],
  )
  return actionsOf(intent.operation).map((action) => ({
    what: `row ${action}`,
    n: rows.filter((row) => row.action === action).length,
  }))
}

const countKept = async (sql: Sql, { intent }: Wanted) =>
  isKeyed(intent.operation)
    ? sql<{ what: string; n: number }>(
        `select 'kept answer' as what, count(*)::int as n from idempotency_keys where key = $1 and status is not null`,
        [intent.key],
      )
    : []

const differing = ({ attempts }: Wanted): boolean => {
  const good = attempts.flatMap(({ answer }) => (answer && isGood(answer.status) ? [answer] : []))
  return good.some((answer) => !isDeepStrictEqual(answer, good[0]))
}

/** One intent against the tables: its effect, its rows and its kept answer are there together, once, or not at all. */
export const judgeIntent = async (sql: Sql, wanted: Wanted): Promise<Verdict> => {
  const { intent, attempts } = wanted
  const counted = [...(await countEffect(sql, wanted)), ...(await countRows(sql, wanted)), ...(await countKept(sql, wanted))]
  const isThere = counted.every(({ n }) => n === 1)
  const isAbsent = counted.every(({ n }) => n === 0)
  const isPromised = attempts.some(({ answer }) => answer && isGood(answer.status))
  const what = `${intent.operation} ${intent.key}`
  const faults: string[] = []
  if (!isThere && !isAbsent)
    faults.push(`in part or more than once: ${what}: ${counted.map(({ what: each, n }) => `${each} ${n}`).join(', ')}`)
  if (isPromised && isAbsent) faults.push(`answered well, and gone: ${what}`)
  if (differing(wanted)) faults.push(`answered in two ways: ${what}`)
  return { happened: isThere ? true : isAbsent ? false : null, faults }
}

/** One that was asked for again until it was answered: it happened, and the last answer says so. */
export const judgeSettled = async (sql: Sql, wanted: Wanted): Promise<readonly string[]> => {
  const { happened, faults } = await judgeIntent(sql, wanted)
  const last = wanted.attempts.at(-1)?.answer
  const what = `${wanted.intent.operation} ${wanted.intent.key}`
  return [
    ...faults,
    ...(happened === false ? [`asked for until answered, and not there: ${what}`] : []),
    ...(last && isSettled(wanted.intent.operation, last)
      ? []
      : [`asked again with the same key, and answered ${last?.status ?? 'not at all'}: ${what}`]),
  ]
}

const gapsIn = (sql: Sql) =>
  sql<{ chain_id: string }>(
    `select h.chain_id from audit_heads h left join audit_logs a using (chain_id)
      group by h.chain_id, h.seq having count(a.seq) <> h.seq or min(a.seq) <> 1 or max(a.seq) <> h.seq`,
  )

/** The whole world: every chain, and everything the record tells against everything there is. */
export const judgeWorld = async (
  world: { sql: Sql; chainFaults: () => Promise<string[]>; before: State; since: ReadonlyMap<string, number> },
  journal: ReadonlyMap<string, Wanted>,
): Promise<string[]> => {
  const { sql, before, since } = world
  const [told, state] = await steadily(
    () => sql('select chain_id, seq from audit_heads order by chain_id'),
    async () => [await readRecord(sql), await readState(sql)],
  )
  const record = told.filter(({ chain_id, seq }) => seq > (since.get(chain_id) ?? 0))
  const asked = new Set([...journal.values()].flatMap(({ attempts }) => attempts.map(({ correlation_id }) => correlation_id)))
  return [
    ...(await world.chainFaults()),
    ...(await gapsIn(sql)).map(({ chain_id }) => `the chain ${chain_id} has a gap`),
    ...record
      // Next keys, and what vouches for nodes, are made without being asked for.
      .filter(({ actor_id }) => actor_id !== 'key_tending' && actor_id !== 'node_tending')
      .filter(({ action, correlation_id }) => Object.hasOwn(steps, action) && !asked.has(correlation_id))
      .map(({ action, correlation_id }) => `recorded, but nobody asked: ${action} ${correlation_id}`),
    ...replayFaults(before, record, state),
  ]
}
