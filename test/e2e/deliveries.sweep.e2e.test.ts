import { afterAll, beforeAll, expect, test } from 'vitest'
import { judgeIntent } from '../faults/judge.ts'
import { bearing } from '../faults/recipes/recipe.ts'
import type { KillPoint, ServerProcess } from '../faults/server-process.ts'
import { nameOf } from '../faults/statement-faults.ts'
import { type FaultWorld, faultWorld } from '../faults/world.ts'
import { type ClonedDatabase, cloneDatabase } from '../postgres.ts'
import { sweep } from '../sweep.ts'

let clone: ClonedDatabase
let world: FaultWorld
let calm: ServerProcess
beforeAll(async () => {
  clone = await cloneDatabase()
  world = await faultWorld(clone)
  calm = await world.start()
})
afterAll(async () => {
  await world.stop()
  await clone.drop()
})

/** As somebody who does not know that it is a repeat: without the key by which it would be known. */
const openAgain = async (person: string, body: object, at = calm) => {
  const response = await fetch(`${at.url}/api/v1/deliveries/unwrap`, {
    method: 'POST',
    headers: { authorization: `Bearer ${person.slice(bearing.length)}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as { code?: string; secret?: string } }
}

test('MI-11 of fifty who open it at once on three servers, each a process of its own, one has it', async () => {
  const { person, body } = await world.prepare('delivery.unwrap', world.stageOn(calm.url))
  const servers = [calm, await world.start(), await world.start()]
  const answers = await Promise.all(Array.from({ length: 50 }, (_, at) => openAgain(person, body, servers[at % 3])))
  const opened = answers.filter(({ status }) => status === 200)
  expect(opened.map((answer) => typeof answer.body.secret)).toEqual(['string'])
  const lost = answers.filter((answer) => !opened.includes(answer))
  expect(new Set(lost.map((answer) => `${answer.status} ${answer.body.code}`))).toEqual(new Set(['404 delivery_not_found']))
  const recorded = await world.sql<{ result: string; count: number }>(
    `select a.result, count(*)::int as count from audit_logs a join wrapped_deliveries d on d.id::text = a.resource_id
      where d.token_hash = sha256(convert_to($1, 'UTF8')) group by 1 order by 1`,
    [body.wrapping_token],
  )
  expect(recorded).toEqual([
    { result: 'denied', count: 49 },
    { result: 'success', count: 1 },
  ])
})

const kills: readonly (readonly [KillPoint, 'spent' | 'waits'])[] = [
  [{ at: 'before_commit' }, 'waits'],
  [{ at: 'after_commit' }, 'spent'],
  [{ at: 'mid_answer' }, 'spent'],
]

test.for(sweep('killed deliveries', kills, 1))(
  'MI-11 killed at $at, a delivery that was opened is spent and recorded, and one that was not waits',
  async ([point, outcome]) => {
    const asking = await world.prepare('delivery.unwrap', world.stageOn(calm.url))
    const intent = world.intend('delivery.unwrap', asking)
    const [victim, id] = [await world.start(), world.newCorrelation()]
    await victim.arm({ [id]: point })
    const answer = await world.ask(victim.url, intent, id)
    await victim.gone
    await world.forgotten(victim)
    expect(answer, nameOf(point)).toBeNull()
    const { happened, faults } = await judgeIntent(world.sql, world.journal.of(intent))
    expect([happened, faults]).toEqual([outcome === 'spent', []])
    const again = await openAgain(asking.person, asking.body)
    expect([again.status, again.body.code]).toEqual(outcome === 'spent' ? [404, 'delivery_not_found'] : [200, undefined])
    const [delivery] = await world.sql<{ id: string; state: string }>(
      `select id, state from wrapped_deliveries where token_hash = sha256(convert_to($1, 'UTF8'))`,
      [asking.body.wrapping_token],
    )
    expect(delivery!.state).toBe('opened')
    const recorded = await world.sql<{ action: string; result: string; severity: string }>(
      'select action, result, severity from audit_logs where resource_id = $1 order by seq',
      [delivery!.id],
    )
    expect(recorded).toEqual([
      { action: 'delivery.unwrap', result: 'success', severity: 'info' },
      ...(outcome === 'spent' ? [{ action: 'delivery.unwrap', result: 'denied', severity: 'high' }] : []),
    ])
  },
)
