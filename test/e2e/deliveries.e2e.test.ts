import { afterAll, beforeAll, expect, test } from 'vitest'
import { judgeIntent } from '../faults/judge.ts'
import { bearing } from '../faults/recipes.ts'
import type { KillPoint, ServerProcess } from '../faults/server-process.ts'
import { nameOf } from '../faults/statement-faults.ts'
import { type FaultWorld, faultWorld } from '../faults/world.ts'
import { type ClonedDatabase, cloneDatabase } from '../postgres.ts'

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
const openAgain = async (person: string, body: object) => {
  const response = await fetch(`${calm.url}/api/v1/deliveries/unwrap`, {
    method: 'POST',
    headers: { authorization: `Bearer ${person.slice(bearing.length)}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  return { status: response.status, body: (await response.json()) as { code?: string; secret?: string } }
}

const kills: readonly (readonly [KillPoint, 'spent' | 'waits'])[] = [
  [{ at: 'before_commit' }, 'waits'],
  [{ at: 'after_commit' }, 'spent'],
  [{ at: 'mid_answer' }, 'spent'],
]

test.for(kills)(
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
